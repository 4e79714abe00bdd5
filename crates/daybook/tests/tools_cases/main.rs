//! `daybook test` and `daybook case`: the built command, on folders of cases and against servers.
#![cfg(test)]

mod folder;
mod from_account;
mod page;
mod recording;
mod reports;
mod servers;
mod watching;
