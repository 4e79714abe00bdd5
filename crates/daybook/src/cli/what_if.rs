//! `daybook what-if`

use super::CommonFlags;
use clap::Args;
use std::path::PathBuf;

/// `daybook what-if`
#[derive(Args, Debug)]
pub struct WhatIfArgs {
    /// The product whose accounts are compared
    #[arg(long, value_name = "PRODUCT_ID")]
    pub product: String,
    /// A TOML or JSON file with the policy fields of POST /products that differ
    #[arg(long, value_name = "FILE", required_unless_present = "change")]
    pub policy: Option<PathBuf>,
    /// A TOML or JSON file with a change to each account: its kind, such as skip, and the fields of its call
    #[arg(long, value_name = "FILE")]
    pub change: Option<PathBuf>,
    /// Compare only accounts that meet this condition; repeatable. Conditions: address_zip=10001,10002,
    /// account_status=SUSPENDED/DELINQUENT, days_past_due>=30, external_fields.KEY=VALUE
    #[arg(long = "where", value_name = "CONDITION")]
    pub conditions: Vec<String>,
    /// Compare at this time; a date means its close of business [default: each account's clock]
    #[arg(long, value_name = "TIME")]
    pub as_of: Option<String>,
    /// Write a row for each compared account to this file, amounts in cents
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// The number of accounts with the largest differences to print
    #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = clap::value_parser!(u16).range(0..=100))]
    pub largest: u16,
    /// The organization's name; not needed while there is only one
    #[arg(long, value_name = "NAME")]
    pub org: Option<String>,
    /// Print JSON, amounts in cents
    #[arg(long)]
    pub json: bool,
    /// The settings.
    #[command(flatten)]
    pub flags: CommonFlags,
}
