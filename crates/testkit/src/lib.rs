//! Test tools. No part of this crate ships.
//!
//! | module | contents |
//! |---|---|
//! | [`authority`] | a certificate authority, and the certificates it signs |
//! | [`agreement`] | contracts and boarded balances from the API's JSON |
//! | [`product`] | products and accounts from the API's JSON |
//! | [`book`] | one account kept the way the service keeps it: placed, folded, rolled, held, released |
//! | [`history`] | random products and histories, with shrinking |
//! | [`campaign`] | runs a property on many random histories, and prints the seed |
//! | [`exchange`] | runs a case from JSON to JSON, to compare with other calculators |
//! | [`exchange_changes`] | changes of a loan from the JSON of a case |
//! | `migrated_template` | the tables that the migrations make, to copy for each PostgreSQL test |
//! | [`names`] | a name server on loopback with configured answers, or none |
//! | [`old_database`] | databases that earlier builds made |
//! | [`postgres`] | a PostgreSQL server for tests, with a fresh database for each |
//! | [`receiver`] | webhook receivers, good and bad, that record their requests |
//! | [`server`] | the built command, running: started, called, stopped, killed |

#![allow(missing_docs, reason = "names of test data explain themselves")]
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops loudly")]

pub mod agreement;
pub mod authority;
pub mod book;
pub mod campaign;
pub mod exchange;
pub mod exchange_changes;
pub mod history;
mod migrated_template;
pub mod names;
pub mod old_database;
pub mod postgres;
pub mod product;
pub mod random_changes;
pub mod receiver;
pub mod server;
