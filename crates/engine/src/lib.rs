//! Daybook's engine: a loan account as a pure fold over its timeline.
//!
//! An account's life is a *timeline*. It has inputs from callers (a payment, a reversal, a status), each at its place,
//! and moments that the engine computes (a due date passes, a grace period ends). Folding the timeline in order onto
//! the account's *terms* produces its *state*, its *line items*, the *events* to announce and the next moment.
//!
//! ```text
//! terms + entries ──► fold ──► state, items, events, steps
//!                      ▲ │
//!             moments ─┘ └─► computed from terms and state
//! ```
//!
//! | start reading at | for |
//! |---|---|
//! | [`terms::Terms::new`] | fixing a product's policy for one account |
//! | [`timeline::place`] | the place of an input in the timeline, backdated inputs included |
//! | [`arrival::refusal`] | checks of an input when it arrives |
//! | [`fold::fold`] | continuing from a state |
//! | [`replay::replay`], [`replay::recalculate`] | folding from the beginning, and the effect of a changed past |
//! | [`installment`] | the rules of instalment loans |
//! | [`effects`] | what a status stops |
//! | [`installment::reading::read`], [`installment::schedule::schedule`] | payoff, days past due, the schedule |
//! | [`snapshot`] | states as bytes |
//!
//! The engine reads no clock, draws no random numbers, does no input or output and uses no floating point. It does not
//! know about databases or requests. The fold does not know about migration mode: it gets an ordered timeline either
//! way. `no_std` enforces most of this.

#![no_std]
#![deny(clippy::float_arithmetic, clippy::lossy_float_literal, clippy::float_cmp)]

extern crate alloc;

pub(crate) mod agreement_check;
pub mod arrival;
pub mod calendar;
pub mod change;
pub(crate) mod change_item;
pub mod contract;
pub mod effects;
pub mod fold;
pub mod installment;
pub mod item;
pub mod money;
pub mod notify;
pub mod outcome;
pub mod pending_notice;
pub mod replay;
pub mod snapshot;
pub mod state;
pub mod status;
pub(crate) mod step;
pub mod terms;
pub mod time;
pub mod timeline;
pub(crate) mod validation;
pub mod zone;
