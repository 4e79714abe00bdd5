//! The operators' manual (`docs/operating`) is correct: every setting is on its page, and every command of every page
//! is run.
#![cfg(test)]

mod commands;
mod page;
mod servers;
mod settings;
mod terminal;
