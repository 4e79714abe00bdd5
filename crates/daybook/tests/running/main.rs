//! The built command as a server, and the commands beside it.
#![cfg(test)]

mod administration;
mod care;
mod fronts;
mod life;
mod monitoring;
mod muting;
mod people;
mod postgres;
mod rolling_upgrade;
mod secrecy;
mod support;
mod time_zones;
mod tls;
mod upgrading;
