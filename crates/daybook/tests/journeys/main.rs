//! What users do with the service, done to the built command over HTTP, on each database.
//!
//! | module | journey |
//! |---|---|
//! | [`procedure`] | a loan's history is loaded in migration mode, and the same without it |
//! | [`holding`] | what can be seen and done while a product holds its events |
//! | [`history`] | bounced payments, waivers, statuses of last year; late fees put right |
//! | [`repeats`] | the same payment sent many times at once |
//! | [`portfolio`] | many accounts loaded in one call |
//!
//! Dates are counted from today, and none depends on which day that is.
#![cfg(test)]

#[path = "../common/mod.rs"]
mod common;

/// Runs each test on each database.
macro_rules! on_both {
    ($($name:ident),* $(,)?) => {
        mod on_sqlite {
            $(#[test] fn $name() { super::$name(&crate::common::place::Place::sqlite()) })*
        }
        mod on_postgres {
            $(#[test] fn $name() { super::$name(&crate::common::place::Place::postgres()) })*
        }
    };
}

mod history;
mod holding;
mod portfolio;
mod procedure;
mod repeats;
