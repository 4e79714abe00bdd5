//! Test cases as files: what happened to one loan, and what must come of it.
//!
//! ```text
//! file ──► scenario ──► run ──► Outcome: passed, or what differs and the timeline that led there
//!   ▲                    │
//!   │                    └─► world: service, store, dispatcher and receiver, all in memory, by a clock set by hand
//! record ◄── the history of a real account
//! ```
//!
//! | module | what it does |
//! |---|---|
//! | [`scenario`] | reads files, strictly and with positions |
//! | [`builtin`](mod@builtin) | the cases that the program has in it |
//! | [`mod@submit`] | asks a service for what an event says |
//! | [`mod@run`] | runs cases, one or many at once |
//! | [`outcome`] | what came of a case, for people |
//! | [`record`] | writes a case from the history of a real account |

pub mod builtin;
pub mod outcome;
pub mod record;
pub mod run;
pub mod scenario;
pub mod submit;

pub use builtin::builtin;
pub use outcome::{Difference, Outcome, Step};
pub use record::from_account;
pub use run::{run, run_all, run_all_telling};
pub use scenario::{Scenario, ScenarioError, parse, read_file, read_folder};
