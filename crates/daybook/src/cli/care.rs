//! `daybook backup`, `daybook doctor`, `daybook mute`, `daybook unmute`

use super::{CommonFlags, ServeFlags};
use clap::Args;
use std::path::PathBuf;

/// `daybook backup`
#[derive(Args, Debug)]
pub struct BackupArgs {
    /// The file to write; it must not exist yet
    #[arg(long, value_name = "FILE")]
    pub to: PathBuf,
    /// The settings.
    #[command(flatten)]
    pub flags: CommonFlags,
}

/// `daybook doctor`
#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// The settings.
    #[command(flatten)]
    pub flags: ServeFlags,
}

/// `daybook mute`
#[derive(Args, Debug)]
pub struct MuteArgs {
    /// The settings.
    #[command(flatten)]
    pub flags: CommonFlags,
}

/// `daybook unmute`
#[derive(Args, Debug)]
pub struct UnmuteArgs {
    /// Only show what is pending, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// The settings.
    #[command(flatten)]
    pub flags: CommonFlags,
}
