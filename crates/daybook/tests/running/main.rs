//! The built command as a server, and the commands that work with it.
#![cfg(test)]

mod administration;
mod behind_nginx;
mod budgets;
mod caller;
mod care;
mod doctor;
mod fronts;
mod life;
mod managed_postgres;
mod monitoring;
mod muting;
mod nginx;
mod packaging;
mod people;
mod postgres;
mod rolling_upgrade;
mod secrecy;
mod support;
mod terminal;
mod time_zones;
mod tls;
mod unread;
mod upgrading;
