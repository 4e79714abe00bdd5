//! The tools of the command line, as whoever writes against the API uses them.
//!
//! | module | what it shows |
//! |---|---|
//! | [`listening`] | `listen` sees messages, retries and their signatures, passes them on, and leaves nothing behind |
//! | [`triggering`] | `trigger` makes every event of the catalogue happen |
//! | [`scheduling`] | `schedule` has the numbers that are worked by hand |
//! | [`helping`] | `explain`, `completions` and `man` know everything there is |
//! | [`webhooks`] | `webhooks` finds messages, shows them, and sends them again |
//! | [`support`] | a server that sends at once, and a command that goes on |
#![cfg(test)]

#[path = "../common/mod.rs"]
mod common;

mod helping;
mod listening;
mod scheduling;
mod support;
mod triggering;
mod webhooks;
