//! The benchmarks that `bench all` runs, and their sizes.

/// A benchmark with its sizes.
#[derive(Debug)]
pub struct Job {
    /// Its name in the results, and for `--only`.
    pub name: &'static str,
    /// The subcommand of `daybook bench`.
    pub command: &'static str,
    /// The sizes of a full run.
    pub full: &'static str,
    /// The sizes of `--quick`.
    pub quick: &'static str,
    /// Whether it uses a database, and so runs once for each.
    pub has_database: bool,
}

impl Job {
    /// The arguments after `daybook bench`.
    pub fn args(&self, is_quick: bool) -> Vec<&'static str> {
        let sizes = if is_quick { self.quick } else { self.full };
        std::iter::once(self.command).chain(sizes.split_whitespace()).collect()
    }
}

const fn job(name: &'static str, command: &'static str, full: &'static str, quick: &'static str) -> Job {
    Job { name, command, full, quick, has_database: true }
}

/// All benchmarks, in the order in which they run.
pub const JOBS: [Job; 20] = [
    Job { has_database: false, ..job("engine", "engine", "--batches 60 --batch-ms 8", "--batches 3 --batch-ms 1") },
    Job { has_database: false, ..job("cases", "cases", "--files 1000", "--files 3") },
    job("release-small", "release", "--accounts 1000 --events 10", "--accounts 10 --events 4"),
    job("release-middle", "release", "--accounts 10000 --events 10", "--accounts 20 --events 4"),
    job("release-large", "release", "--accounts 100000 --events 10", "--accounts 40 --events 4"),
    job("payments", "payments", "--accounts 10000 --callers 64 --seconds 10", "--accounts 20 --callers 4 --seconds 1"),
    job(
        "payments-0-months",
        "payments",
        "--accounts 2000 --months 0 --seconds 5",
        "--accounts 4 --callers 2 --seconds 1",
    ),
    job(
        "payments-12-months",
        "payments",
        "--accounts 2000 --months 12 --seconds 5",
        "--accounts 4 --callers 2 --seconds 1 --months 12",
    ),
    job(
        "payments-24-months",
        "payments",
        "--accounts 2000 --months 24 --seconds 5",
        "--accounts 4 --callers 2 --seconds 1 --months 24",
    ),
    job(
        "payments-35-months",
        "payments",
        "--accounts 2000 --months 35 --seconds 5",
        "--accounts 4 --callers 2 --seconds 1 --months 35",
    ),
    job("webhooks", "webhooks", "--messages 500000 --seconds 20", "--messages 100 --seconds 2"),
    job("read", "read", "--calls 5000", "--calls 20"),
    job("due", "due", "--idle 1000000 --few 1000 --due 2000 --months 3", "--idle 50 --few 5 --due 5 --months 1"),
    job("import", "import", "--loans 50000 --payments 24", "--loans 20 --payments 3"),
    job(
        "import-webhooks",
        "import",
        "--loans 50000 --payments 24 --send-historical-webhooks",
        "--loans 20 --payments 3 --send-historical-webhooks",
    ),
    job("neighbor", "neighbor", "--loans 1000 --payments 500", "--loans 2 --payments 5"),
    job("account", "account", "--payments 50000 --calls 200", "--payments 40 --calls 3"),
    job(
        "start",
        "start",
        "--accounts 100000 --idle-seconds 3 --load-seconds 2",
        "--accounts 20 --idle-seconds 0 --load-seconds 1",
    ),
    job("what-if", "what-if", "--accounts 250000", "--accounts 200"),
    job("console", "console", "--accounts 100000 --payments 6 --times 20", "--accounts 100 --payments 2 --times 1"),
];

#[cfg(test)]
mod tests {
    use super::JOBS;
    use crate::cli::Cli;
    use clap::{CommandFactory, Parser};

    #[test]
    fn every_benchmark_is_run_and_has_valid_sizes() {
        for job in &JOBS {
            for is_quick in [false, true] {
                let args = ["daybook", "bench"].into_iter().chain(job.args(is_quick)).chain(["--json"]);
                assert!(Cli::try_parse_from(args).is_ok(), "{job:?}");
            }
        }
        let command = Cli::command();
        let bench = command.find_subcommand("bench").expect("there are benchmarks");
        // A benchmark of an import shows the sizes of its database.
        let run = |name: &str| ["all", "storage"].contains(&name) || JOBS.iter().any(|job| job.command == name);
        for sub in bench.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            assert!(run(sub.get_name()), "{} is not run", sub.get_name());
        }
    }
}
