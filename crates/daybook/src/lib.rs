//! What the `daybook` command is made of.
//!
//! `main` parses the command line ([`cli`]) and hands it to [`commands`]. A command loads its settings ([`config`]),
//! starts [`logging`], finds the secrets key ([`secrets_file`]), and, where it writes to a SQLite database, takes the
//! database's lock or finds the server that holds it ([`instance`]). What is made up for trying things out comes from a
//! seed ([`chance`]).

pub mod chance;
pub mod cli;
pub mod commands;
pub mod config;
pub mod door;
pub mod durations;
pub mod instance;
pub mod logging;
pub mod secrets_file;
pub mod time_zones;
