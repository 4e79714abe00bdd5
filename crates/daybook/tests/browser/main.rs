//! The console in a real browser: a complete migration by hand, and a check of every page.
//!
//! Needs Chromium and ChromeDriver, which `./check tests` installs. Screenshots are in `target/pictures`.
#![cfg(test)]

#[path = "../common/mod.rs"]
mod common;

mod accessibility;
mod browser;
mod forms;
mod pages;
mod site;
mod walk;
