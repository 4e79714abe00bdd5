//! Tests under faults: killed processes, a missing database, a stop during work.
//!
//! | module | fault |
//! |---|---|
//! | [`clocks`] | clocks that differ, or are changed while servers run, by libfaketime |
//! | [`crowds`] | thousands of slow and idle connections |
//! | [`listener`] | slow heads, bodies and readers, one at a time |
//! | [`hung`] | PostgreSQL hangs and resumes |
//! | [`kills`] | `kill -9` under load, and during a release |
//! | [`large_organization`] | an organization with a lot of work, while another one makes payments |
//! | [`lost_files`] | the database file moved, removed, replaced, truncated, damaged, on a full disk |
//! | [`nodes`] | four nodes on one PostgreSQL database compete for due work while they are killed in turn |
//! | [`outages`] | PostgreSQL stops and starts under load |
//! | [`silent_names`] | many concurrent subscriptions of names whose name servers never respond |
//! | [`soak`] | mixed load for a long time: memory stays bounded |
//! | [`stop`] | SIGTERM under load |
//! | [`webhooks_killed`] | `kill -9` while webhooks are sent |
//! | [`webhooks_leases`] | leases renewed while deliveries are recorded |
//! | [`webhooks_limits`] | receivers of webhooks with rate limits |
//! | [`webhooks_restored`] | the database lost, and restored from a copy with unsent webhooks |
//! | [`webhooks_stopped`] | SIGTERM while webhooks are sent |
//! | [`webhooks_zoo`] | receivers of webhooks that hang, next to healthy ones |
//!
//! Each test prints its results and its seed; `DAYBOOK_SEED` sets another one. The default sizes are small; each
//! module's documentation states how to run a long campaign.
#![cfg(test)]

#[path = "../common/mod.rs"]
mod common;

mod clocks;
mod crowds;
mod hung;
mod kills;
mod large_organization;
mod listener;
mod load;
mod lost_files;
mod nodes;
mod outages;
mod silent_names;
mod soak;
mod stop;
mod webhooks_installation;
mod webhooks_killed;
mod webhooks_leases;
mod webhooks_limits;
mod webhooks_restored;
mod webhooks_stopped;
mod webhooks_zoo;
