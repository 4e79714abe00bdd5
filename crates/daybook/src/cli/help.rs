//! Commands about the program itself: explained errors, completions, manual pages.

use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;

/// `daybook explain`
#[derive(Args, Debug)]
pub struct ExplainArgs {
    /// The error code, such as id_taken [default: list all codes]
    #[arg(value_name = "CODE")]
    pub code: Option<String>,
}

/// `daybook completions`
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// `daybook man`
#[derive(Args, Debug)]
pub struct ManArgs {
    /// Write a page for every command into this folder [default: print the main page]
    #[arg(long, value_name = "FOLDER")]
    pub to: Option<PathBuf>,
}
