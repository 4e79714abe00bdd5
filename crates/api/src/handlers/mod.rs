//! Handlers: one file for each resource, one function for each operation.

pub mod accounts;
pub mod audit;
pub mod auth;
pub mod bulk;
pub mod customers;
pub mod docs;
pub mod health;
pub mod keys;
pub mod line_items;
pub mod loan_changes;
pub mod messages;
pub mod notifications;
pub mod products;
pub mod rolling;
pub mod webhooks;
