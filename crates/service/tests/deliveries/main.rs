//! Webhooks from the event to the receiver: real messages over real connections, on both databases, with a manual
//! clock. The expected results are the tables in the interface's documentation.
#![cfg(test)]

#[path = "../service/support.rs"]
#[allow(dead_code, reason = "shared with the other tests of the service, each of which uses a part of it")]
mod support;

mod batches;
mod campaign;
mod damaged;
mod dead_letters;
mod due_retries;
mod holding;
mod log_lines;
mod messages;
mod muting;
mod narrowing;
mod nodes;
mod notices;
mod outcomes;
mod overdue;
mod pausing;
mod probing;
mod searching;
mod setup;
mod stopping;
mod subscribing;
mod unsubscribing;
