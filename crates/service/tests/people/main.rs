//! The users of the console, on both databases and with a manual clock: how they join, how long sessions last, who may
//! manage them, and how failed sign-ins are throttled.
#![cfg(test)]

#[path = "../service/support.rs"]
#[allow(dead_code, reason = "shared with the other tests of the service, each of which uses a part of it")]
mod support;

mod coming;
mod guessing;
mod managing;
mod sessions;
mod setup;
