//! Webhooks as their receivers see them: the built command sends, over HTTP, to real receivers.
//!
//! | module | what it shows |
//! |---|---|
//! | [`receivers`] | the receivers of the guide, in four languages, take what is sent and refuse what was changed |
//! | [`signatures`] | thousands of messages with odd texts are verified by four languages and three libraries |
//! | [`verifiers`] | those who verify: Rust, Python, Node |
//! | [`office`] | a server that sends at once, and what tests ask of it |
//! | [`oddities`] | texts that are hard on JSON, and what makes events with them |
#![cfg(test)]

#[path = "../common/mod.rs"]
mod common;

mod oddities;
mod office;
mod receivers;
mod signatures;
mod verifiers;
