//! The daybook command: a loan-servicing platform in one binary.
//!
//! The command line says what to do, `daybook::commands` does it. Data goes to stdout, talk to stderr. Exit codes: 0
//! done, 1 tried and failed, 2 asked for something that makes no sense.

use clap::Parser;
use daybook::cli::Cli;
use std::process::ExitCode;

// Folding a portfolio is many small allocations on many threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let code = match daybook::commands::run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            daybook::logging::tell_failure(&failure);
            ExitCode::from(failure.exit_code())
        }
    };
    daybook::logging::finish();
    code
}
