//! `daybook case from-account`: writes an account's history as a test case.
//!
//! The process that holds the database writes it: the running server, or this command.

use super::control::Order;
use super::{Failure, prepare, print, say};
use crate::cli::{CaseAction, CaseCommand, CaseFromAccountArgs};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};

/// Runs `daybook case …`.
pub fn run(command: &CaseCommand) -> Result<(), Failure> {
    match &command.command {
        CaseAction::FromAccount(args) => from_account(args),
    }
}

fn from_account(args: &CaseFromAccountArgs) -> Result<(), Failure> {
    let settings = prepare(&args.flags)?;
    let order = Order::WriteCase { organization: args.org.clone(), account_id: args.account_id.clone() };
    let written = order.get_done(&settings)?;
    let text = written["case"].as_str().unwrap_or_default();
    let Some(file) = &args.to else { return print(text) };
    let made = OpenOptions::new().write(true).create_new(true).open(file);
    let kept = made.and_then(|mut made| made.write_all(text.as_bytes()));
    kept.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            Failure::Failed(format!("{} already exists: remove it, or name another file", file.display()))
        }
        _ => Failure::Failed(format!("{} cannot be written: {error}", file.display())),
    })?;
    say(&format!("Wrote {}. Review it, then run `daybook test {}`.\n", file.display(), file.display()));
    Ok(())
}
