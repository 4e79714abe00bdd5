//! Tests of the engine through its public API.
#![cfg(test)]

mod boarding;
mod calculators;
mod cents;
mod changes;
mod closed;
mod contract;
mod delinquent;
mod example;
mod foundations;
mod interest;
mod late;
mod late_tiers;
mod month;
mod notice_properties;
mod notices;
mod payments;
mod placement;
mod plan;
mod properties;
mod python;
mod reference;
mod refunds;
mod reversals;
mod rounding;
mod shortfall;
mod sparing;
mod status_properties;
mod statuses;
mod support;
mod surplus;
mod watched;
mod waterfall;
mod zones_with_past;
