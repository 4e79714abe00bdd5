//! Portfolios imported from files by the built command, on each database.
//!
//! | module | what is tried |
//! |---|---|
//! | [`whole`] | everything agrees, what is wrong is found, a second run only compares, a dry run touches nothing |
//! | [`again`] | the import is killed here and there, and run again |
//! | [`others`] | others turn migration mode off, or hold something of the same product; it is told to stop |
//! | [`borrowers`] | borrowers who come many at once |
//! | [`refused`] | broken rows and ids that are taken: told by row and column, and nothing is loaded |
//!
//! The portfolios are those of `daybook demo-data`, whose balances are calculated apart from what services loans.
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

mod again;
mod borrowers;
mod gate;
mod others;
mod refused;
mod support;
mod whole;
