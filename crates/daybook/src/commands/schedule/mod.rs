//! `daybook schedule`: the amortization table for terms on the command line, and a payoff amount.
//!
//! ```text
//! flags ─► terms: a product and an account, as the API takes them ─► lending: the real service, in memory ─► showing
//! ```
//!
//! The command opens a real account in memory, so the numbers match an account with these terms to the cent.

pub mod amounts;
mod lending;
mod showing;
mod terms;

use super::{Failure, print};
use crate::cli::ScheduleArgs;

/// Prints the schedule.
pub fn run(args: &ScheduleArgs) -> Result<(), Failure> {
    let terms = terms::of(args)?;
    let plan = super::wait_for(lending::plan(&terms))?;
    let text = match (args.json, args.csv) {
        (true, _) => showing::json(&plan),
        (_, true) => showing::csv(&plan)?,
        _ => showing::table(&plan),
    };
    print(&text)
}
