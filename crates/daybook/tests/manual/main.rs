//! The operators' manual (`docs/operating`) says what is so: every setting is on its page, and every command on every page
//! is run.
#![cfg(test)]

mod commands;
mod page;
mod servers;
mod settings;
mod terminal;
