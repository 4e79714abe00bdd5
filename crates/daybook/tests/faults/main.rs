//! What must hold when things go wrong: processes killed, the database gone, a stop in the middle of the work.
//!
//! | module | fault |
//! |---|---|
//! | [`clocks`] | clocks that differ, or are set while servers run, by libfaketime |
//! | [`crowds`] | slow and idle connections by the thousand |
//! | [`door`] | slow heads, bodies and readers, one at a time |
//! | [`hung`] | PostgreSQL hangs, and goes on |
//! | [`kills`] | `kill -9` under load, and in the middle of a release |
//! | [`large_organization`] | an organization with very much to work through, while another one pays |
//! | [`lost_files`] | the database's file moved, removed, replaced, cut short, on a full disk |
//! | [`nodes`] | four nodes on one PostgreSQL race for due work while they are killed in turn |
//! | [`outages`] | PostgreSQL stops and starts under load |
//! | [`silent_names`] | many subscriptions at once of names whose name servers never answer |
//! | [`soak`] | mixed load for long: memory stays bounded |
//! | [`stop`] | SIGTERM under load |
//! | [`webhooks_killed`] | `kill -9` while webhooks are sent |
//! | [`webhooks_leases`] | leases renewed while what was sent is recorded |
//! | [`webhooks_limits`] | receivers of webhooks that limit what they take |
//! | [`webhooks_restored`] | the database lost and restored from a copy with webhooks unsent |
//! | [`webhooks_stopped`] | SIGTERM while webhooks are sent |
//! | [`webhooks_zoo`] | receivers of webhooks that hang, beside healthy ones |
//!
//! Each test prints its figures and its seed; `DAYBOOK_SEED` gives another one. Counts are small enough for every run;
//! the top of each module says how to run a long campaign.
#![cfg(test)]

#[path = "../common/mod.rs"]
mod common;

mod clocks;
mod crowds;
mod door;
mod hung;
mod kills;
mod large_organization;
mod load;
mod lost_files;
mod nodes;
mod outages;
mod silent_names;
mod soak;
mod stop;
mod webhooks_killed;
mod webhooks_leases;
mod webhooks_limits;
mod webhooks_office;
mod webhooks_restored;
mod webhooks_stopped;
mod webhooks_zoo;
