//! Test cases as files: what happened to one loan, and the expected results.
//!
//! ```text
//! file ──► scenario ──► run ───► Findings ──► judge ──► CaseOutcome: passed, or the differences and the timeline
//!   ▲            └────► remote ──┘   │
//!   │                                ▼
//! record ◄── the history of a real account, or the results of the case
//! ```
//!
//! | module | what it does |
//! |---|---|
//! | [`scenario`] | reads files strictly, with positions |
//! | [`builtin`](mod@builtin) | the built-in cases |
//! | [`mod@submit`] | sends an event's request to a service |
//! | [`mod@run`] | runs cases in memory: service, store, dispatcher and receiver, with a manual clock |
//! | [`remote`] | runs cases against a running server, through its API |
//! | [`findings`] | the results of a case, as JSON |
//! | `judge` | compares findings with the case's expectations |
//! | `describe` | values and the timeline, in words |
//! | `suggest` | suggestions for misspelt words |
//! | [`outcome`] | the outcome of a case, for people |
//! | [`mod@record`] | writes a case from the history of a real account, and expectations from findings |

pub mod builtin;
mod describe;
pub mod findings;
mod judge;
pub mod outcome;
pub mod record;
pub mod remote;
pub mod run;
pub mod scenario;
pub mod submit;
mod suggest;

pub use builtin::builtin;
pub use describe::with_dollars;
pub use findings::Findings;
pub use outcome::{CaseDifference, CaseOutcome, TimelineStep};
pub use record::{Recording, from_account, record};
pub use run::{run, run_all, run_all_telling, run_finding};
pub use scenario::{Scenario, ScenarioError, parse, read_file, read_folder};
