//! What must hold when things go wrong: processes killed, the database gone, a stop in the middle of the work.
//!
//! | module | fault |
//! |---|---|
//! | [`clocks`] | clocks that differ, or are set while servers run, by libfaketime |
//! | [`crowds`] | slow and idle connections by the thousand |
//! | [`door`] | slow heads, bodies and readers, one at a time |
//! | [`crowding`] | an organization with very much to work through, beside one that pays |
//! | [`hung`] | PostgreSQL hangs, and goes on |
//! | [`kills`] | `kill -9` under load, and in the middle of a release |
//! | [`lost_files`] | the database's file moved, removed, replaced, cut short, on a full disk |
//! | [`nodes`] | four nodes on one PostgreSQL race for due work while they are killed in turn |
//! | [`outages`] | PostgreSQL stops and starts under load |
//! | [`silent_names`] | many subscriptions at once of names whose name servers never answer |
//! | [`stop`] | SIGTERM under load |
//! | [`webhooks_killed`] | `kill -9` while webhooks are sent |
//! | [`webhooks_stopped`] | SIGTERM while webhooks are sent |
//! | [`webhooks_limits`] | receivers of webhooks that limit what they take |
//! | [`webhooks_leases`] | leases renewed while what was sent is recorded |
//! | [`webhooks_zoo`] | receivers of webhooks that hang, beside healthy ones |
//! | [`webhooks_restored`] | the database lost and restored from a copy with webhooks unsent |
//!
//! Each test prints its figures and its seed; `DAYBOOK_SEED` gives another one. Counts are small enough for every run;
//! the top of each module says how to run a long campaign.
#![cfg(test)]

#[path = "../common/mod.rs"]
mod common;

mod clocks;
mod crowds;
mod door;
mod crowding;
mod hung;
mod kills;
mod load;
mod lost_files;
mod nodes;
mod outages;
mod silent_names;
mod stop;
mod webhooks_killed;
mod webhooks_leases;
mod webhooks_limits;
mod webhooks_office;
mod webhooks_restored;
mod webhooks_stopped;
mod webhooks_zoo;
