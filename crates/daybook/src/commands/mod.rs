//! The commands, one file each, and their dispatch.
//!
//! ```text
//! serve ─────────────────────► opening ─► demo ─► HTTP (api, control)
//! org, keys, people, roll ───► control ─► the server that holds the database, or opening ─► service
//! mute, unmute ──────────────► the same
//! verify, backup, doctor ────► opening ─► service, store
//! migrate, rules-report ─────► opening ─► service
//! what-if ───────────────────► opening ─► service
//! import ────────────────────► the crate `import`, and remote ─► a server, over HTTP
//! test ──────────────────────► cases, in memory, or remote ─► a server
//! ```
//!
//! [`opening`] turns settings into a service. [`control`] lets a command use a running server. A command that fails
//! returns a [`Failure`]: one sentence on stderr and an exit code.

mod audit;
mod backup;
mod bench;
mod case;
mod config_show;
mod control;
mod demo;
mod demo_data;
mod doctor;
mod explain;
mod failure;
mod files;
mod first_start_secrets;
mod import;
mod interrupt;
mod keys;
mod listen;
mod listeners;
mod manual;
mod migrate;
mod muting;
mod opening;
mod org;
mod people;
mod progress;
mod remote;
mod roll;
mod rules_report;
mod schedule;
mod sending;
mod serve;
mod suggest;
mod table;
mod test;
mod trigger;
mod variables;
mod verify;
mod webhooks;
mod what_if;

pub use failure::Failure;

use crate::cli::{Cli, Command, CommonFlags, ConfigAction, FlagValues};
use crate::config::sources::Source;
use crate::config::{self, LoadedSettings, Problems, SettingSources, Settings};
use crate::logging::{self, Style};
use crate::time_zones;
use std::future::Future;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Runs the command of the command line.
pub fn run(cli: &Cli) -> Result<(), Failure> {
    match &cli.command {
        Command::Config(config) => match &config.command {
            ConfigAction::Show(args) => config_show::run(args),
        },
        Command::Serve(flags) => serve::run(flags),
        Command::Org(command) => org::run(command),
        Command::Keys(command) => keys::run(command),
        Command::Audit(args) => audit::run(args),
        Command::People(command) => people::run(command),
        Command::Roll(args) => roll::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Migrate(args) => migrate::run(args),
        Command::RulesReport(args) => rules_report::run(args),
        Command::WhatIf(args) => what_if::run(args),
        Command::Backup(args) => backup::run(args),
        Command::Mute(args) => muting::mute(args),
        Command::Unmute(args) => muting::unmute(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Bench(command) => bench::run(command),
        Command::Listen(args) => listen::run(args),
        Command::Trigger(args) => trigger::run(args),
        Command::Webhooks(command) => webhooks::run(command),
        Command::Schedule(args) => schedule::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Completions(args) => manual::completions(args),
        Command::Man(args) => manual::man(args),
        Command::Import(args) => import::run(args),
        Command::DemoData(args) => demo_data::run(args),
        Command::Test(args) => test::run(args),
        Command::Case(command) => case::run(command),
    }
}

/// Ends the program because of its command line: prints the help that was requested, or reports what is wrong, in the
/// format of the log.
pub fn refuse(error: &clap::Error) -> ! {
    let args: Vec<String> = std::env::args_os().map(|text| text.to_string_lossy().into_owned()).collect();
    let config = flag_in(&args, "--config").map(PathBuf::from);
    let flags = flag_in(&args, "--log-format").map(|text| ("log-format", vec![text])).into_iter().collect();
    let given = SettingSources { config: config.as_deref(), flags, variable: &variable };
    if !error.use_stderr() || !config::wants_json(&given) {
        error.exit();
    }
    logging::start_json();
    let sentence = error.to_string();
    logging::tell_failure(&sentence.strip_prefix("error: ").unwrap_or(&sentence).trim());
    std::process::exit(error.exit_code());
}

/// The value of a flag on a command line that could not be parsed.
fn flag_in(args: &[String], flag: &str) -> Option<String> {
    let with_equals = format!("{flag}=");
    let pairs = args.iter().zip(args.iter().skip(1)).filter(|(name, _)| *name == flag).map(|(_, value)| value.as_str());
    pairs.chain(args.iter().filter_map(|text| text.strip_prefix(&with_equals))).last().map(str::to_owned)
}

fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).map(|text| text.to_string_lossy().into_owned())
}

/// Loads the settings of a command from its flags, the environment and the file.
pub fn settings(config: Option<&Path>, flags: FlagValues) -> Result<LoadedSettings, Problems> {
    let given = SettingSources { config, flags, variable: &variable };
    let loaded = config::load(&given).and_then(|loaded| {
        if let Some(folder) = &loaded.settings.time_zones {
            time_zones::use_folder(folder).map_err(|problem| Problems(vec![problem]))?;
        }
        Ok(loaded)
    });
    if loaded.is_err() && config::wants_json(&given) {
        logging::start_json();
    }
    loaded
}

/// Loads the settings of a short command and starts its logging.
fn prepare(flags: &CommonFlags) -> Result<Settings, Failure> {
    let loaded = settings(flags.config.as_deref(), flags.given())?;
    quiet_logging(&loaded)?;
    variables::warn_of_unknown();
    Ok(loaded.settings)
}

/// Logs only warnings and errors, unless the level is set: the command has its own output.
fn quiet_logging(loaded: &LoadedSettings) -> Result<(), Failure> {
    let mut style = Style::of(&loaded.settings);
    if loaded.rows.iter().any(|row| row.setting == "log-level" && row.source == Source::Default) {
        style.level = format!("warn,{}=info", logging::TALK);
    }
    logging::start(&style).map_err(Failure::Failed)
}

/// Runs a future to completion.
fn wait_for<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(|error| Failure::Failed(format!("no threads could be started: {error}")))?.block_on(future)
}

/// Prints a result on stdout.
fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(Failure::Output)
}

/// Prints a message on stderr, in the format of the log.
fn say(text: &str) {
    logging::say(text);
}
