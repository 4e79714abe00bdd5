//! Tests' own tools. Nothing here ships.
//!
//! | module | what it is |
//! |---|---|
//! | [`product`] | products and accounts from the JSON of the interface |
//! | [`book`] | one account kept the way the service keeps it: placed, folded, rolled, held, released |
//! | [`exchange`] | a case in, a result out, as JSON: for comparing with other calculators |

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops loudly")]

pub mod book;
pub mod exchange;
pub mod product;
