//! One message over real connections: to good receivers, to bad ones, and to addresses that are not allowed.
#![cfg(test)]

mod faults;
mod guarding;
mod keeping;
mod lookup_limits;
mod replies;
mod resolving;
mod spellings;
mod support;
mod tls;
