//! Tests' own tools. Nothing here ships.
//!
//! | module | what it is |
//! |---|---|
//! | [`authority`] | a certificate authority, and what it signs |
//! | [`product`] | products and accounts from the JSON of the interface |
//! | [`book`] | one account kept the way the service keeps it: placed, folded, rolled, held, released |
//! | [`history`] | random products and histories, with shrinking |
//! | [`campaign`] | running a property on many random histories, with the seed printed |
//! | [`exchange`] | a case in, a result out, as JSON: for comparing with other calculators |
//! | [`names`] | a name server on loopback that answers what it is told, or nothing |
//! | [`old_database`] | a database that an earlier build made |
//! | [`postgres`] | a PostgreSQL server for tests, a fresh database for each |
//! | [`receiver`] | receivers of webhooks, good and bad, that remember what they got |
//! | [`server`] | the built command, running: started, called, stopped, killed |

#![allow(missing_docs, reason = "names of test data explain themselves")]
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops loudly")]

pub mod authority;
pub mod book;
pub mod campaign;
pub mod exchange;
pub mod history;
pub mod names;
pub mod old_database;
pub mod postgres;
pub mod product;
pub mod receiver;
pub mod server;
