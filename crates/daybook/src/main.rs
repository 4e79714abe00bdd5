//! The daybook command: a loan-servicing platform in one binary.
//!
//! `daybook::commands` runs the command. Data goes to stdout, messages to stderr. Exit codes: 0 for success, 1 for a
//! failure, 2 for invalid arguments or settings.

use clap::Parser;
use daybook::cli::Cli;
use std::process::ExitCode;

// Folding a portfolio makes many small allocations on many threads. This allocator keeps freed memory for some seconds
// and then returns it to the system, so a server does not grow with the largest request that each thread ever served.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => daybook::commands::refuse(&error),
    };
    let code = match daybook::commands::run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            daybook::logging::tell_failure(&failure);
            ExitCode::from(failure.exit_code())
        }
    };
    daybook::logging::finish();
    code
}
