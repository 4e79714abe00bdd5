//! The parts of the `daybook` command.
//!
//! `main` parses the command line ([`cli`]) and passes it to [`commands`]. A command loads its settings ([`config`]),
//! starts [`logging`], loads the secrets key ([`secrets_file`]), and, if it writes to a SQLite database, acquires the
//! database's lock or finds the server that holds it ([`instance`]). Generated data is derived from a seed
//! ([`chance`]). [`memory`] reads the allocator's counts.

pub mod chance;
pub mod cli;
pub mod commands;
pub mod config;
pub mod durations;
pub mod instance;
pub mod listener;
pub mod logging;
pub mod memory;
pub mod secrets_file;
pub mod time_zones;
