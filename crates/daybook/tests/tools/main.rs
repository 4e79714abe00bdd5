//! The command-line tools for developers who use the API.
//!
//! | module | test |
//! |---|---|
//! | [`listening`] | `listen` receives messages, retries and their signatures, forwards them, and leaves nothing behind
//! |
//! | [`triggering`] | `trigger` causes every event of the catalogue |
//! | [`scheduling`] | `schedule` prints the numbers calculated by hand |
//! | [`helping`] | `explain`, `completions` and `man` are complete |
//! | [`what_if`] | `what-if` prints the example of its guide, and stores nothing |
//! | [`webhooks`] | `webhooks` finds messages, shows them, and sends them again |
//! | [`support`] | a server that sends at once, and a command that keeps running |
#![cfg(test)]

#[path = "../common/mod.rs"]
mod common;

mod helping;
mod listening;
mod scheduling;
mod support;
mod triggering;
mod webhooks;
mod what_if;
