//! People who use the console, on both databases and a clock that is moved by hand: how they come in, how long they stay,
//! who may do what with them, and what becomes of guessing.
#![cfg(test)]

#[path = "../service/support.rs"]
#[allow(dead_code, reason = "shared with the other tests of the service, each of which uses a part of it")]
mod support;

mod coming;
mod guessing;
mod managing;
mod sessions;
mod world;
