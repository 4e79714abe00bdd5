//! Integration tests of the console: requests as a browser sends them, and the resulting pages.
//!
//! Each test has its own setup: a database in memory, a clock set by the test, and a signed-in user.
#![cfg(test)]

mod account;
mod audit;
mod call_slots;
mod cases;
mod doors;
mod finding;
mod home;
mod keys;
mod lists;
mod muted;
mod people;
mod products;
mod setup;
mod webhooks;
