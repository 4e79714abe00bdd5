//! Test cases as files: what happened to one loan, and what must come of it.
//!
//! ```text
//! file ──► scenario ──► run ───► Findings ──► judge ──► Outcome: passed, or what differs and the timeline that led there
//!   ▲            └────► remote ──┘   │
//!   │                                ▼
//! record ◄── the history of a real account, or what came of the case
//! ```
//!
//! | module | what it does |
//! |---|---|
//! | [`scenario`] | reads files, strictly and with positions |
//! | [`builtin`](mod@builtin) | the cases that the program has in it |
//! | [`mod@submit`] | asks a service for what an event says |
//! | [`mod@run`] | runs cases in memory, one or many at once: service, store, dispatcher and receiver, by a clock set by hand |
//! | [`remote`] | runs cases against a running server, by its API |
//! | [`findings`] | what came of a case, as JSON, whoever fetched it |
//! | `judge` | compares findings with what the case expects |
//! | `telling` | values and the timeline, in words |
//! | `meant` | what a misspelt word was meant to be |
//! | [`outcome`] | what came of a case, for people |
//! | [`mod@record`] | writes a case from the history of a real account, and expectations from findings |

pub mod builtin;
pub mod findings;
mod judge;
mod meant;
pub mod outcome;
pub mod record;
pub mod remote;
pub mod run;
pub mod scenario;
pub mod submit;
mod telling;

pub use builtin::builtin;
pub use findings::Findings;
pub use outcome::{Difference, Outcome, Step};
pub use record::{Recording, from_account, record};
pub use run::{run, run_all, run_all_telling, run_finding};
pub use scenario::{Scenario, ScenarioError, parse, read_file, read_folder};
pub use telling::with_dollars;
