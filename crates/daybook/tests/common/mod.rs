//! Shared parts of the tests that run the built command.
//!
//! ```text
//! an installation: a folder, the command in it, a database ── serve ─► servers ◄── a client ◄── callers
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`installation`] | where servers run: a folder and a SQLite file or a PostgreSQL database |
//! | [`api_client`] | a client for a server that may restart at another address |
//! | [`dates`] | times relative to now, in the format of the API |
//! | [`loans`] | a product, its schedule calculated independently of the engine, and the calls that load it |
//! | [`chance`] | pseudo-random numbers |
//! | [`npm`] | packages from npm |

#![allow(dead_code, reason = "each test target uses a part")]

pub mod api_client;
pub mod chance;
pub mod dates;
pub mod installation;
pub mod loans;
pub mod npm;
