//! Webhooks from the receivers' view: the built command sends over HTTP to real receivers.
//!
//! | module | test |
//! |---|---|
//! | [`receivers`] | the receivers of the guide, in four languages, accept sent messages and refuse changed ones |
//! | [`signatures`] | thousands of messages with unusual texts are verified in four languages and with three libraries
//! |
//! | [`verifiers`] | the verifiers: Rust, Python, Node |
//! | [`webhook_server`] | a server that sends at once |
//! | [`oddities`] | texts that are hard to encode in JSON, and events that contain them |
#![cfg(test)]

#[path = "../common/mod.rs"]
mod common;

mod oddities;
mod receivers;
mod signatures;
mod verifiers;
mod webhook_server;
