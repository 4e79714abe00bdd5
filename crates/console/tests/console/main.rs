//! The console, from the outside of its crate: requests go in as a browser sends them, and pages come out.
//!
//! Each test has a world of its own: a database in memory, a clock that is moved by hand, and somebody who is signed in.
#![cfg(test)]

mod account;
mod audit;
mod cases;
mod doors;
mod finding;
mod home;
mod keys;
mod lists;
mod muted;
mod people;
mod products;
mod webhooks;
mod world;
