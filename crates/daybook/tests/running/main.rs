//! The built command as a server, and the commands beside it.
#![cfg(test)]

mod administration;
mod care;
mod life;
mod people;
mod postgres;
mod support;
mod upgrading;
