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

pub use audit::AuditArgs;
pub use bench::{
    BenchAction, BenchCasesArgs, BenchCommand, BenchConsoleArgs, BenchPaymentsArgs, BenchReleaseArgs, BenchTarget,
    BenchWebhookClientArgs, BenchWebhooksArgs,
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

use clap::{Args, Parser, Subcommand, ValueEnum};

/// A loan-servicing platform in one binary.
#[derive(Debug, Parser)]
#[command(
    name = "daybook",
    version,
    max_term_width = 100,
    after_help = "\
Examples:
  daybook serve --dev                     start, for trying things out
  daybook config show                     every setting, and where it was set
  daybook keys create --role READ_ONLY    a key for a report

Data goes to stdout, talk to stderr. Settings are flags, environment variables (DAYBOOK_ and the flag in
capitals, such as DAYBOOK_WEBHOOK_TIMEOUT) or a TOML file (--config)."
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

Prints `daybook ready on http://ADDRESS` on stdout when it is ready. SIGTERM finishes what is in flight.")]
    Serve(Box<ServeFlags>),
    /// Look at the settings
    Config(ConfigCommand),
    /// Make and list organizations
    Org(OrgCommand),
    /// Make, list and revoke API keys
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
    /// Let people into the console, and list them
    People(PeopleCommand),
    /// Roll an account through time (TEST organizations)
    #[command(after_help = "\
Examples:
  daybook roll loan-1 --to 2025-03-01T00:00:00-05:00
  daybook roll loan-1 --to 2025-03-01T00:00:00-05:00 --webhooks --json")]
    Roll(RollArgs),
    /// Fold every account again and compare with what is stored
    #[command(after_help = "\
Examples:
  daybook verify
  daybook verify --json
  daybook verify --fix

Exits with 1 if an account differs. A server may be running meanwhile, but not with --fix on SQLite.")]
    Verify(VerifyArgs),
    /// Bring a database of an earlier build up to date, without serving it
    #[command(after_help = "Examples:\n  daybook migrate\n  daybook migrate --json")]
    Migrate(MigrateArgs),
    /// List the accounts that newer rules moved, with what they owed before and after
    #[command(after_help = "Examples:\n  daybook rules-report\n  daybook rules-report --format csv > moved.csv")]
    RulesReport(RulesReportArgs),
    /// Copy a SQLite database while it is in use
    #[command(after_help = "\
Examples:
  daybook backup --to /backups/daybook-monday.db
  daybook backup --database sqlite:/var/lib/daybook/daybook.db --to /backups/today.db

A server on the copy starts muted: see `daybook unmute`. Keep a copy of the secrets key file too, in another place:
without it the copy's secrets cannot be read.")]
    Backup(BackupArgs),
    /// Have servers send nothing and run no timers, as on a copy of a database
    #[command(after_help = "\
Examples:
  daybook mute
  daybook mute --database postgres://daybook@db/rehearsal

A database that was restored from `daybook backup` or from a dump of PostgreSQL is muted by itself. One that was copied
in another way, such as by a snapshot of its disk, is not: mute it before a server starts on it.")]
    Mute(MuteArgs),
    /// Have servers send and work through what waits in a muted database
    #[command(after_help = "\
Examples:
  daybook unmute --dry-run                say what waits
  daybook unmute

Stop the server of the original first: both would send the same messages.")]
    Unmute(UnmuteArgs),
    /// Look for what would keep the server from working well
    #[command(after_help = "\
Examples:
  daybook doctor
  daybook doctor --json

Exits with 1 if something is wrong.")]
    Doctor(Box<DoctorArgs>),
    /// Measure this machine
    Bench(BenchCommand),
    /// Receive webhooks on this machine, and print a line for each
    #[command(after_help = "\
Examples:
  daybook listen
  daybook listen --events payment_missed,account_closed --json
  daybook listen --answer 500,200              the first attempt fails: see the retry
  daybook listen --forward-to http://localhost:3000/webhooks

Subscribes itself to the server, and removes its subscription when it ends. The server must run on this machine and may
send to it: `daybook serve --dev`. Such a server sends once a minute, unless --webhook-batch-interval says otherwise.
A line has the time that the message says, event, account, whether the signatures are right, which attempt it is, and
what was answered.")]
    Listen(Box<ListenArgs>),
    /// Look at webhook URLs and messages, and send messages again
    Webhooks(WebhooksCommand),
    /// Make an event really happen, and see its webhook
    #[command(after_help = "\
Examples:
  daybook trigger payment_missed
  daybook trigger --list
  daybook trigger migration_released --url http://127.0.0.1:8080 --key CLIENT_ID:CLIENT_SECRET

Makes a product, a customer and an account of its own in a TEST organization, does with them what leads to the event, and
rolls the account where time has to pass. Prints each call as a curl line, and what it answered.")]
    Trigger(Box<TriggerArgs>),
    /// Print the amortization table of a loan, from its terms
    #[command(after_help = "\
Examples:
  daybook schedule --principal 10000 --rate 12 --installments 36
  daybook schedule --principal 1200 --rate 12 --installments 12 --start 2025-01-15 --payoff-at 2025-03-01
  daybook schedule --principal 250000 --rate 6.25 --installments 360 --daily --day-count ACTUAL_365 --csv

Needs no server. The numbers are those that an account with these terms shows.")]
    Schedule(Box<ScheduleArgs>),
    /// Explain the code of an error
    #[command(after_help = "\
Examples:
  daybook explain id_taken
  daybook explain                         every code, in a sentence")]
    Explain(ExplainArgs),
    /// Print what completes the command in a shell
    #[command(after_help = "\
Examples:
  daybook completions bash > /etc/bash_completion.d/daybook
  daybook completions zsh > ~/.zfunc/_daybook
  daybook completions fish > ~/.config/fish/completions/daybook.fish")]
    Completions(CompletionsArgs),
    /// Print the manual
    #[command(after_help = "\
Examples:
  daybook man | man -l -
  daybook man --to /usr/local/share/man/man1      a page for every command")]
    Man(ManArgs),
    /// Load a portfolio from files, and compare the outcome with what they expect
    #[command(after_help = "\
Examples:
  daybook import --columns
  daybook import --product auto-36 loans.csv payments.csv --dry-run
  daybook import --product auto-36 loans.csv payments.csv
  daybook import --product auto-36 loans.csv payments.csv --url https://loans.example.com --key ID:SECRET --json

Both files are checked first: if a row is broken, all that are broken are told and nothing is loaded. It is safe to run
again after a crash: it goes on where it stopped. Exits with 1 if something differs from what the files expect.")]
    Import(Box<ImportArgs>),
    /// Write a portfolio to try `daybook import` with
    #[command(after_help = "\
Examples:
  daybook demo-data --loans 1000 --to portfolio
  daybook demo-data --loans 50000 --payments 24 --wrong 25 --to portfolio
  daybook import --product-file portfolio/product.json portfolio/loans.csv portfolio/payments.csv

What the loans expect is calculated apart from what services them, so that an import has something to compare with.")]
    DemoData(DemoDataArgs),
    /// Run test cases: files that say what happens to a loan, and what must come of it
    #[command(after_help = "\
Examples:
  daybook test
  daybook test scenarios/ extra/late-fees.toml --filter fee
  daybook test scenarios/ --junit report.xml
  daybook test --record scenarios/new.toml
  daybook test --watch scenarios/
  daybook test scenarios/ --url https://loans.example.com --key CLIENT_ID:CLIENT_SECRET

Without --url or --server cases run inside the command, in memory. Exits with 1 if a case fails or a file is broken.")]
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
    /// Make an organization and its first ADMIN key
    #[command(after_help = "\
Examples:
  daybook org create \"Prairie Lending\"
  daybook org create \"Prairie Lending\" --environment LIVE --json

The key's secret is shown once.")]
    Create(OrgCreateArgs),
    /// List organizations
    #[command(after_help = "Examples:\n  daybook org list\n  daybook org list --json")]
    List(ListArgs),
}

/// `daybook org create`
#[derive(Args, Debug)]
pub struct OrgCreateArgs {
    /// Its name
    pub name: String,
    /// Whether accounts may be rolled through time (TEST) or not (LIVE)
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
    /// Accounts may be rolled through time
    Test,
    /// Accounts live in real time
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
    /// The moment to roll to, as 2025-03-01T00:00:00-05:00
    #[arg(long, value_name = "TIME")]
    pub to: String,
    /// Send every webhook up to that moment now
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
