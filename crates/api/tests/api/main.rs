//! The API from outside, over a real service with a database in memory and a manual clock. The folders mirror the
//! paths.
#![cfg(test)]

mod access;
mod accounts;
mod admin;
mod audit;
mod auth;
mod bad_input;
mod bulk;
mod call_slots;
mod customers;
mod docs;
mod idempotency;
mod limits;
mod openapi;
mod operations;
mod organization;
mod paging;
mod products;
mod same_bytes;
mod shapes;
mod sharing;
mod support;
