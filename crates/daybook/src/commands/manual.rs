//! `daybook completions` and `daybook man`, generated from the command line's definition.

use super::{Failure, print, say};
use crate::cli::{Cli, CompletionsArgs, ManArgs};
use clap::CommandFactory;
use std::fs;

/// Prints a completion script for a shell.
pub fn completions(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "daybook", &mut script);
    print(&String::from_utf8_lossy(&script))
}

/// Prints the main manual page, or writes all pages.
pub fn man(args: &ManArgs) -> Result<(), Failure> {
    let Some(folder) = &args.to else {
        let mut page = Vec::new();
        clap_mangen::Man::new(Cli::command()).render(&mut page).map_err(Failure::Output)?;
        return print(&String::from_utf8_lossy(&page));
    };
    let failed = |error| Failure::Failed(format!("--to: {} cannot be written: {error}", folder.display()));
    fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(Cli::command(), folder).map_err(failed)?;
    say(&format!("The pages are in {}: `man -l {}`.\n", folder.display(), folder.join("daybook.1").display()));
    Ok(())
}
