//! The sections of the console, one file or folder each.

pub mod account;
pub mod accounts;
pub mod ask;
pub mod audit;
pub mod cases;
pub mod customers;
pub mod find;
pub mod home;
pub mod keys;
pub mod people;
pub mod products;
pub mod sign_in;
pub mod webhooks;
