//! Tests of the service through its public interface, on both databases and with a manual clock.
//!
//! Every test is a function that takes a database, and `support::on_both` makes two tests of it. Expected amounts are
//! computed by hand from `docs/concepts`, never taken from the code.
#![cfg(test)]

mod audit;
mod carried;
mod clock_guard;
mod clocks;
mod columns;
mod customers;
mod damage;
mod earlier_schemas;
mod histories;
mod journal_damage;
mod large_pages;
mod lent_keys;
mod loan_changes;
mod long_accounts;
mod looked;
mod messages;
mod migration;
mod migration_failures;
mod monitoring;
mod nodes;
mod notices;
mod organizations;
mod payments;
mod portfolio_totals;
mod previewing;
mod products;
mod readiness;
mod reading;
mod references;
mod refolding;
mod rehearsing;
mod repeats;
mod replays;
mod rolling;
mod sharing;
mod slices;
mod spellings;
mod statuses;
mod support;
mod tampering;
mod webhooks;
