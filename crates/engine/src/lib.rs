//! Daybook's engine: a loan account as a pure fold over its timeline.
//!
//! An account's life is a *timeline*: inputs that somebody asked for (a payment, a reversal, a status), each at its
//! place, and moments that come by themselves (a due date passes, a grace period ends). Folded in order onto the
//! account's *terms*, they give its *state*, its *line items*, what is to be *announced*, and the next moment.
//!
//! ```text
//! terms + entries ──► fold ──► state, items, events, steps
//!                      ▲ │
//!             moments ─┘ └─► computed from terms and state
//! ```
//!
//! | start reading at | for |
//! |---|---|
//! | [`terms::Terms::new`] | agreeing a product's policy for one account |
//! | [`timeline::place`] | where an input belongs, backdated ones too |
//! | [`fold::fold`] | going on from a state |
//! | [`replay::replay`], [`replay::recalculate`] | folding from the beginning, and what a changed past changes |
//! | [`installment`] | the rules of instalment loans |
//! | [`effects`] | what a status stops |
//! | [`installment::reading::read`], [`installment::schedule::schedule`] | payoff, days past due, the schedule |
//! | [`snapshot`] | states as bytes |
//!
//! The engine reads no clock, draws no random numbers, does no input or output and uses no floating point; it knows
//! nothing of databases or requests, and the fold nothing of migration mode: it sees an ordered timeline either way. `no_std` keeps most of that out of reach.

#![no_std]
#![deny(clippy::float_arithmetic, clippy::lossy_float_literal, clippy::float_cmp)]

extern crate alloc;

pub mod calendar;
pub mod effects;
pub mod fold;
pub mod installment;
pub mod item;
pub mod money;
pub mod notify;
pub mod outcome;
pub mod replay;
pub mod snapshot;
pub mod state;
pub mod status;
pub mod terms;
pub mod time;
pub mod timeline;
pub mod zone;
