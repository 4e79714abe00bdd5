//! The tools of the command line, as whoever writes against the API uses them.
//!
//! | module | what it shows |
//! |---|---|
//! | [`listening`] | `listen` sees messages, retries and their signatures, passes them on, and leaves nothing behind |
//! | [`support`] | a server that sends at once, and a command that goes on |
#![cfg(test)]

#[path = "../common/mod.rs"]
mod common;

mod listening;
mod support;
