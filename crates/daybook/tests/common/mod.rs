//! What the tests that drive the built command share.
//!
//! ```text
//! a place: a folder, the command in it, a database ── serve ─► servers ◄── a door ◄── callers
//! ```
//!
//! | module | what it is |
//! |---|---|
//! | [`place`] | where servers run: a folder and an SQLite file or a PostgreSQL database |
//! | [`door`] | how a caller reaches a server that may go away and come back elsewhere |
//! | [`dates`] | moments counted from now, in words of the interface |
//! | [`loans`] | a product, its plan calculated apart from the engine, and the calls that load it |
//! | [`chance`] | numbers that only look random |
//! | [`npm`] | packages that only JavaScript has |

#![allow(dead_code, reason = "each test target uses a part")]

pub mod chance;
pub mod dates;
pub mod door;
pub mod loans;
pub mod npm;
pub mod place;
