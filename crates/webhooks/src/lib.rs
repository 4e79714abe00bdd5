//! Webhook messages.
//!
//! A message's `data` is written once, when the event is recorded, and signed then. Every delivery sends the same bytes
//! and the same signature. Sending is to come.

pub mod signature;
