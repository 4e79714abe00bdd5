//! The console in a real browser: the procedure of a migration by hand only, and every page looked at.
//!
//! Needs Chromium and ChromeDriver, which `./check tests` installs. Pictures of what was seen are left in
//! `target/pictures`.
#![cfg(test)]

#[path = "../common/mod.rs"]
mod common;

mod accessibility;
mod browser;
mod forms;
mod pages;
mod site;
mod walk;
