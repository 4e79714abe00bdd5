//! The command line: every command, its arguments, and examples.
//!
//! A command prints its result on stdout and its messages on stderr. Commands whose result is data have `--json`. Flags
//! that are settings are read as text, together with the other sources of settings; see [`config`](crate::config).

mod audit;
mod bench;
mod care;
mod cases;
mod flags;
mod help;
mod import;
mod keys;
mod listen;
mod people;
mod remote;
mod rules;
mod schedule;
mod webhooks;
mod what_if;

pub use audit::AuditArgs;
pub use bench::{
    BenchAccountArgs, BenchAction, BenchAllArgs, BenchCasesArgs, BenchCommand, BenchConsoleArgs, BenchDatabases,
    BenchDueArgs, BenchEngineArgs, BenchImportArgs, BenchNeighborArgs, BenchPaymentsArgs, BenchReadArgs,
    BenchReleaseArgs, BenchStartArgs, BenchStorageArgs, BenchTarget, BenchWebhookClientArgs, BenchWebhooksArgs,
    BenchWhatIfArgs,
};
pub use care::{BackupArgs, DoctorArgs, MuteArgs, UnmuteArgs};
pub use cases::{CaseAction, CaseCommand, CaseFromAccountArgs, TestArgs};
pub use flags::{CommonFlags, FlagValues, ServeFlags};
pub use help::{CompletionsArgs, ExplainArgs, ManArgs};
pub use import::{DemoDataArgs, ImportArgs};
pub use keys::{KeysAction, KeysCommand, KeysCreateArgs, KeysListArgs, KeysRevokeArgs, RoleArg};
pub use listen::{ListenArgs, TriggerArgs};
pub use people::{PeopleAction, PeopleCommand, PeopleLinkArgs, PeopleListArgs, PeopleResetArgs};
pub use remote::RemoteArgs;
pub use rules::{MigrateArgs, ReportFormat, RulesReportArgs, VerifyArgs};
pub use schedule::{DayCountArg, MethodArg, MonthEndArg, RoundingArg, ScheduleArgs};
pub use webhooks::{
    MessageStateArg, WebhooksAction, WebhooksCommand, WebhooksGetArgs, WebhooksListArgs, WebhooksReplayArgs,
    WebhooksResendArgs, WebhooksSearchArgs,
};
pub use what_if::WhatIfArgs;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// A loan-servicing platform in one binary.
#[derive(Debug, Parser)]
#[command(
    name = "daybook",
    version,
    max_term_width = 100,
    after_help = "\
Examples:
  daybook serve --dev                     start a server, to try things out
  daybook config show                     every setting, and where it was set
  daybook keys create --role READ_ONLY    a key for a report

Results go to stdout, messages to stderr. A setting can be a flag (--webhook-timeout), an environment variable
(DAYBOOK_WEBHOOK_TIMEOUT) or a line in a TOML file (--config)."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start the server
    #[command(after_help = "\
Examples:
  daybook serve
  daybook serve --dev --demo --listen 127.0.0.1:0
  daybook serve --database postgres://daybook@db/daybook --config /etc/daybook.toml

Prints `daybook ready on http://ADDRESS` on stdout when it is ready. On SIGTERM, it finishes the requests in
flight and stops.")]
    Serve(Box<ServeFlags>),
    /// Show the settings
    Config(ConfigCommand),
    /// Create and list organizations
    Org(OrgCommand),
    /// Create, list and revoke API keys
    Keys(KeysCommand),
    /// Show who did what: the audit trail
    #[command(after_help = "\
Examples:
  daybook audit --subject loan-1
  daybook audit --action sign_in_failed --since 2025-03-01T00:00:00Z
  daybook audit --ends                    the last record of each organization, to keep elsewhere
  daybook audit --holds 1204:5be8…        whether record 1204 still has that hash

`daybook verify` checks that no record was changed, removed, inserted or moved.")]
    Audit(AuditArgs),
    /// Invite console users, list them, and reset their passwords
    People(PeopleCommand),
    /// Move the clock of an account forward, and process everything until then (TEST organizations only)
    #[command(after_help = "\
Examples:
  daybook roll loan-1 --to 2025-03-01T00:00:00-05:00
  daybook roll loan-1 --to 2025-03-01T00:00:00-05:00 --webhooks --json")]
    Roll(RollArgs),
    /// Recalculate every account and compare the results with the database
    #[command(after_help = "\
Examples:
  daybook verify
  daybook verify --json
  daybook verify --fix

Exits with 1 if anything differs. A server may run at the same time, except with --fix on SQLite.")]
    Verify(VerifyArgs),
    /// Upgrade the database of an earlier version without starting the server
    #[command(after_help = "Examples:\n  daybook migrate\n  daybook migrate --json")]
    Migrate(MigrateArgs),
    /// List the accounts whose balances or status changed when a newer version of Daybook recalculated them
    #[command(after_help = "Examples:\n  daybook rules-report\n  daybook rules-report --format csv > moved.csv")]
    RulesReport(RulesReportArgs),
    /// Show what another policy, or a change, would do to the accounts of a product
    #[command(after_help = "\
Examples:
  daybook what-if --product auto-36 --policy late-fee.toml
  daybook what-if --product auto-36 --policy late-fee.toml --as-of 2026-06-30 --csv accounts.csv
  daybook what-if --product auto-36 --change skip.toml --where address_zip=70112,70113 --where 'days_past_due>=1'

late-fee.toml has the policy fields that differ, as for a new product:

  [product_lifecycle_policies.default_attributes]
  default_late_fee_cents = 2500

skip.toml has a change, with the fields of its call:

  kind = \"skip\"
  count = 2

Folds every account twice, as it is and as it would be, and prints the differences. Nothing in the database is changed.
A server may run at the same time.")]
    WhatIf(Box<WhatIfArgs>),
    /// Copy a SQLite database while it is in use
    #[command(after_help = "\
Examples:
  daybook backup --to /backups/daybook-monday.db
  daybook backup --database sqlite:/var/lib/daybook/daybook.db --to /backups/today.db

A server on the copy starts muted: see `daybook unmute`. Also keep a copy of the secrets key file, in another place:
without it, the secrets in the copy cannot be read.")]
    Backup(BackupArgs),
    /// Mute a database, such as a copy: its servers send no webhooks and process no due dates
    #[command(after_help = "\
Examples:
  daybook mute
  daybook mute --database postgres://daybook@db/rehearsal

A server on a muted database answers requests, but does nothing by itself: it sends no webhooks, processes no due dates,
charges no late fees and releases no held events. `daybook unmute` ends this.

A database that was restored from `daybook backup` or from a PostgreSQL dump is muted automatically. A database that was
copied in another way, such as by a disk snapshot, is not: mute it before you start a server on it.")]
    Mute(MuteArgs),
    /// Unmute a database: its servers send the pending webhooks and process the due dates that passed
    #[command(after_help = "\
Examples:
  daybook unmute --dry-run                show what is pending
  daybook unmute

Stop the server of the original database first; otherwise both servers send the same messages.")]
    Unmute(UnmuteArgs),
    /// Check the settings, the database and this machine for problems
    #[command(after_help = "\
Examples:
  daybook doctor
  daybook doctor --json

Exits with 1 if a check fails.")]
    Doctor(Box<DoctorArgs>),
    /// Run benchmarks on this machine
    Bench(BenchCommand),
    /// Receive webhooks on this machine, and print a line for each
    #[command(after_help = "\
Examples:
  daybook listen
  daybook listen --events payment_missed,account_closed --json
  daybook listen --answer 500,200              let the first attempt fail, to see the retry
  daybook listen --forward-to http://localhost:3000/webhooks

The command subscribes to the webhooks of a server, and unsubscribes when it ends. The server must run on this machine
and must allow webhooks to this machine, as `daybook serve --dev` does. By default, the server sends webhooks once a
minute; its setting --webhook-batch-interval changes that. Each line shows the time of the message, the event, the
account, whether the signatures are valid, the number of the attempt, and the status of the response.")]
    Listen(Box<ListenArgs>),
    /// Show webhook URLs and messages, and resend messages
    Webhooks(WebhooksCommand),
    /// Cause an event on a new test account, so that its webhook is sent
    #[command(after_help = "\
Examples:
  daybook trigger payment_missed
  daybook trigger --list
  daybook trigger migration_released --url http://127.0.0.1:8080 --key CLIENT_ID:CLIENT_SECRET

Creates a product, a customer and an account in a TEST organization, makes the calls that lead to the event, and rolls
the account forward where time must pass. Prints each call as a curl line, with its response.")]
    Trigger(Box<TriggerArgs>),
    /// Print the amortization table of a loan, from its terms
    #[command(after_help = "\
Examples:
  daybook schedule --principal 10000 --rate 12 --installments 36
  daybook schedule --principal 1200 --rate 12 --installments 12 --start 2025-01-15 --payoff-at 2025-03-01
  daybook schedule --principal 250000 --rate 6.25 --installments 360 --daily --day-count ACTUAL_365 --csv

Needs no server. An account with these terms has the same numbers.")]
    Schedule(Box<ScheduleArgs>),
    /// Explain an error code
    #[command(after_help = "\
Examples:
  daybook explain id_taken
  daybook explain                         all codes, with one sentence each")]
    Explain(ExplainArgs),
    /// Print a completion script for a shell
    #[command(after_help = "\
Examples:
  daybook completions bash > /etc/bash_completion.d/daybook
  daybook completions zsh > ~/.zfunc/_daybook
  daybook completions fish > ~/.config/fish/completions/daybook.fish")]
    Completions(CompletionsArgs),
    /// Print the manual page
    #[command(after_help = "\
Examples:
  daybook man | man -l -
  daybook man --to /usr/local/share/man/man1      a page for every command")]
    Man(ManArgs),
    /// Load a portfolio from files, and compare the result with the expected values in them
    #[command(after_help = "\
Examples:
  daybook import --columns
  daybook import --product auto-36 loans.csv payments.csv --dry-run
  daybook import --product auto-36 loans.csv payments.csv
  daybook import --product auto-36 loans.csv payments.csv --url https://loans.example.com --key ID:SECRET --json

Both files are checked first. If a row is invalid, all invalid rows are listed and nothing is loaded. After a crash, run
the same command again: it continues where it stopped. Exits with 1 if a loan differs from its expected values.")]
    Import(Box<ImportArgs>),
    /// Write a sample portfolio for `daybook import`
    #[command(after_help = "\
Examples:
  daybook demo-data --loans 1000 --to portfolio
  daybook demo-data --loans 50000 --payments 24 --wrong 25 --to portfolio
  daybook import --product-file portfolio/product.json portfolio/loans.csv portfolio/payments.csv

The expected values of the loans are calculated by separate code, not by the server, so the import tests the server.")]
    DemoData(DemoDataArgs),
    /// Run test cases: files with the events of a loan and the expected results
    #[command(after_help = "\
Examples:
  daybook test
  daybook test scenarios/ extra/late-fees.toml --filter fee
  daybook test scenarios/ --junit report.xml
  daybook test --record scenarios/new.toml
  daybook test --watch scenarios/
  daybook test scenarios/ --url https://loans.example.com --key CLIENT_ID:CLIENT_SECRET

Without --url or --server, cases run in memory, inside the command. Exits with 1 if a case fails or a file is
invalid.")]
    Test(Box<TestArgs>),
    /// Write test cases
    Case(CaseCommand),
}

/// `daybook config …`
#[derive(Args, Debug)]
pub struct ConfigCommand {
    /// What to do with the settings.
    #[command(subcommand)]
    pub command: ConfigAction,
}

/// What to do with the settings.
#[derive(Debug, Subcommand)]
pub enum ConfigAction {
    /// Print every setting, its value and where it was set
    #[command(after_help = "\
Examples:
  daybook config show
  daybook config show --config /etc/daybook.toml --json
  DAYBOOK_RATE_LIMIT=50 daybook config show

Takes the flags of `serve`. Secrets are shown as (set).")]
    Show(Box<ConfigShowArgs>),
}

/// `daybook config show`
#[derive(Args, Debug)]
pub struct ConfigShowArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// The settings.
    #[command(flatten)]
    pub flags: ServeFlags,
}

/// `daybook org …`
#[derive(Args, Debug)]
pub struct OrgCommand {
    /// What to do with organizations.
    #[command(subcommand)]
    pub command: OrgAction,
}

/// What to do with organizations.
#[derive(Debug, Subcommand)]
pub enum OrgAction {
    /// Create an organization and its first ADMIN key
    #[command(after_help = "\
Examples:
  daybook org create \"Prairie Lending\"
  daybook org create \"Prairie Lending\" --environment LIVE --json

The key's secret is shown once.")]
    Create(OrgCreateArgs),
    /// List organizations
    #[command(after_help = "\
Examples:
  daybook org list
  daybook org list --json

Metrics, the log and `daybook verify` identify an organization by its number.")]
    List(ListArgs),
}

/// `daybook org create`
#[derive(Args, Debug)]
pub struct OrgCreateArgs {
    /// The organization's name
    pub name: String,
    /// Whether accounts can be rolled forward in time (TEST) or not (LIVE)
    #[arg(long, value_enum, default_value = "TEST")]
    pub environment: EnvironmentArg,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// The settings.
    #[command(flatten)]
    pub flags: CommonFlags,
}

/// `TEST` or `LIVE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum EnvironmentArg {
    /// Accounts can be rolled forward in time
    Test,
    /// Accounts follow real time only
    Live,
}

impl EnvironmentArg {
    /// The name in the interface.
    pub fn name(self) -> &'static str {
        match self {
            EnvironmentArg::Test => "TEST",
            EnvironmentArg::Live => "LIVE",
        }
    }
}

/// A listing.
#[derive(Args, Debug)]
pub struct ListArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// The settings.
    #[command(flatten)]
    pub flags: CommonFlags,
}

/// `daybook roll`
#[derive(Args, Debug)]
pub struct RollArgs {
    /// The account's id
    pub account_id: String,
    /// The time to roll to, such as 2025-03-01T00:00:00-05:00
    #[arg(long, value_name = "TIME")]
    pub to: String,
    /// Send all webhooks up to that time now [default: send each when real time reaches the time of its event]
    #[arg(long)]
    pub webhooks: bool,
    /// The organization's name; not needed while there is only one
    #[arg(long, value_name = "NAME")]
    pub org: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// The settings.
    #[command(flatten)]
    pub flags: CommonFlags,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::definitions::DEFINITIONS;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_setting_with_a_flag_has_one_that_is_handed_on() {
        for definition in DEFINITIONS {
            let text = if matches!(definition.name, "dev" | "demo") { "true" } else { "x" };
            let parsed = Cli::try_parse_from(["daybook", "serve", &format!("--{}={text}", definition.name)]);
            assert_eq!(parsed.is_ok(), definition.has_flag, "{}", definition.name);
            if let Ok(Cli { command: Command::Serve(flags) }) = parsed {
                assert_eq!(flags.given(), [(definition.name, vec![text.to_owned()])]);
            }
        }
    }

    #[test]
    fn switches_need_no_value() {
        let parsed = Cli::try_parse_from(["daybook", "serve", "--dev", "--demo=false"]).expect("a good command line");
        let Command::Serve(flags) = parsed.command else { panic!("serve is serve") };
        assert_eq!((flags.dev.as_deref(), flags.demo.as_deref()), (Some("true"), Some("false")));
    }

    #[test]
    fn every_command_shows_an_example() {
        fn check(command: &clap::Command) {
            // Hidden commands are started only by the program itself.
            let is_shown = |sub: &&clap::Command| sub.get_name() != "help" && !sub.is_hide_set();
            let leaves: Vec<_> = command.get_subcommands().filter(is_shown).collect();
            if leaves.is_empty() {
                let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
                assert!(help.contains("Examples:\n  "), "{}", command.get_name());
            }
            leaves.into_iter().for_each(check);
        }
        check(&Cli::command());
    }
}
