//! User journeys with the built command over HTTP, on each database.
//!
//! | module | journey |
//! |---|---|
//! | [`procedure`] | a loan's history is loaded in migration mode, and the same without it |
//! | [`holding`] | what can be seen and done while a product holds its events |
//! | [`history`] | reversals, waivers, earlier statuses; corrected late fees |
//! | [`repeats`] | the same payment sent many times concurrently |
//! | [`portfolio`] | many accounts loaded in one call |
//!
//! Dates are relative to today, and the tests pass on every day of the year.
#![cfg(test)]

#[path = "../common/mod.rs"]
mod common;

/// Runs each test on each database.
macro_rules! on_both {
    ($($name:ident),* $(,)?) => {
        mod on_sqlite {
            $(#[test] fn $name() { super::$name(&crate::common::installation::Installation::sqlite()) })*
        }
        mod on_postgres {
            $(#[test] fn $name() { super::$name(&crate::common::installation::Installation::postgres()) })*
        }
    };
}

mod history;
mod holding;
mod portfolio;
mod procedure;
mod repeats;
