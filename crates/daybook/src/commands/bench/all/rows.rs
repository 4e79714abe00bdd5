//! The rows of the page, one for each figure.

use super::targets::{Aim, Comparison, Place, Row};

const fn row(target: &'static str, what: &'static str, unit: &'static str, figure: Place) -> Row {
    let (aims, postgres_aims) = (&[], &[]);
    let comparison = Comparison::None;
    Row { target, what, unit, figure, limit: None, limit_is: "", comparison, aims, postgres_aims, has_database: true }
}

const fn at(job: &'static str, pointer: &'static str) -> Place {
    Place { job, pointer }
}

impl Row {
    const fn limit(self, limit_is: &'static str, limit: Place, comparison: Comparison) -> Row {
        Row { limit: Some(limit), limit_is, comparison, ..self }
    }

    const fn aim(self, aims: &'static [Aim]) -> Row {
        Row { aims, postgres_aims: aims, ..self }
    }

    const fn postgres_aim(self, postgres_aims: &'static [Aim]) -> Row {
        Row { postgres_aims, ..self }
    }

    const fn without_database(self) -> Row {
        Row { has_database: false, ..self }
    }
}

const BARE_LOOP: &str = "a bare loop that reads the same inputs and writes the same rows";
const BARE_HTTP: &str = "an HTTP server that answers the same calls and does nothing";
const BARE_CLIENT: &str = "a bare client that sends the same bytes to the same receiver";

/// All rows, by target.
pub const ROWS: [Row; 34] = [
    row("release", "release of 100,000 accounts with 10 payments each", "s", at("release-large", "/release_seconds"))
        .limit(BARE_LOOP, at("release-large", "/limit_seconds"), Comparison::Speed)
        .aim(&[Aim::Below(30.0), Aim::RatioAtLeast(0.6)])
        .postgres_aim(&[Aim::Below(60.0), Aim::RatioAtLeast(0.6)]),
    row("growth", "cost of a payment in a release of 1,000,000 payments", "µs", at("release-large", "/us_per_payment"))
        .limit("a release of 10,000 payments", at("release-small", "/us_per_payment"), Comparison::Times)
        .aim(&[Aim::RatioAtMost(1.3)]),
    row("payments", "payments, 64 callers, 10,000 accounts at random", "/s", at("payments", "/payments_per_second"))
        .limit(BARE_HTTP, at("payments", "/limit_per_second"), Comparison::Rate)
        .aim(&[Aim::AtLeast(15_000.0)])
        .postgres_aim(&[Aim::AtLeast(5_000.0)]),
    row("payments", "time of a payment, p99", "ms", at("payments", "/p99_ms")).aim(&[Aim::Below(20.0)]),
    row("webhooks", "deliveries to one URL", "/s", at("webhooks", "/deliveries/0/deliveries_per_second"))
        .limit(BARE_CLIENT, at("webhooks", "/deliveries/0/limit_per_second"), Comparison::Rate)
        .aim(&[Aim::RatioAtLeast(0.35)]),
    row("webhooks", "deliveries to ten URLs", "/s", at("webhooks", "/deliveries/1/deliveries_per_second")).limit(
        BARE_CLIENT,
        at("webhooks", "/deliveries/1/limit_per_second"),
        Comparison::Rate,
    ),
    row(
        "webhooks",
        "deliveries to ten URLs of which one never responds",
        "/s",
        at("webhooks", "/deliveries/2/deliveries_per_second"),
    )
    .limit(BARE_CLIENT, at("webhooks", "/deliveries/2/limit_per_second"), Comparison::Rate),
    row("hanging-url", "delay of a message to the nine other URLs, p99", "ms", at("webhooks", "/delays/with/p99_ms"))
        .limit("all ten URLs respond", at("webhooks", "/delays/without/p99_ms"), Comparison::Times)
        .aim(&[Aim::RatioBelow(2.0)]),
    row("read", "read a loan of 24 months on day 1, p50", "ms", at("read", "/day_1_p50_ms"))
        .limit(BARE_HTTP, at("read", "/limit_p50_ms"), Comparison::Times)
        .aim(&[Aim::Below(1.0)]),
    row("read", "read a loan of 24 months on day 700, p50", "ms", at("read", "/day_700_p50_ms"))
        .limit("the same on day 1", at("read", "/day_1_p50_ms"), Comparison::Times)
        .aim(&[Aim::Below(1.0), Aim::RatioAtMost(1.2)]),
    row("engine", "fold a loan of 24 months with 24 payments", "µs", at("engine", "/fold_24_us"))
        .aim(&[Aim::Below(20.0)])
        .without_database(),
    row("engine", "fold a loan of 360 months with 360 payments", "µs", at("engine", "/fold_360_us"))
        .aim(&[Aim::Below(300.0)])
        .without_database(),
    row("engine", "replay of one backdated payment, 24 months", "µs", at("engine", "/backdated_24_us"))
        .limit("a fold", at("engine", "/fold_24_us"), Comparison::Times)
        .aim(&[Aim::RatioAtMost(1.0)])
        .without_database(),
    row("engine", "replay of one backdated payment, 360 months", "µs", at("engine", "/backdated_360_us"))
        .limit("a fold", at("engine", "/fold_360_us"), Comparison::Times)
        .aim(&[Aim::RatioAtMost(1.0)])
        .without_database(),
    row("due", "process a due account among 1,000,000 idle ones", "µs", at("due", "/us_per_account"))
        .limit("among 1,000 idle ones", at("due", "/limit_us_per_account"), Comparison::Times)
        .aim(&[Aim::RatioAtMost(1.2)]),
    row(
        "bytes",
        "database for each payment of an import, messages and indexes included",
        "bytes",
        at("import-webhooks", "/bytes_per_payment"),
    )
    .limit("the same import without messages", at("import", "/bytes_per_payment"), Comparison::Times)
    .aim(&[Aim::AtMost(1_200.0)]),
    row("import", "50,000 loans with 1.2 million payments, from files to the report", "s", at("import", "/seconds"))
        .aim(&[Aim::Below(60.0)]),
    row("import", "memory of the server during this import", "MiB", at("import", "/server_peak_mib"))
        .aim(&[Aim::Below(300.0)]),
    row("import", "the same import with webhooks for past events", "s", at("import-webhooks", "/seconds"))
        .limit("the import without them", at("import", "/seconds"), Comparison::Times)
        .aim(&[Aim::Below(60.0)]),
    row("import", "memory of the server during that import", "MiB", at("import-webhooks", "/server_peak_mib"))
        .aim(&[Aim::Below(300.0)]),
    row("neighbor", "time of a payment while another organization opens 1,000 loans of 1996, p99", "ms", {
        at("neighbor", "/p99_ms")
    })
    .limit("before that call", at("neighbor", "/limit_p99_ms"), Comparison::Times)
    .aim(&[Aim::Below(250.0)]),
    row("neighbor", "memory of the server meanwhile", "MiB", at("neighbor", "/server_peak_mib"))
        .aim(&[Aim::Below(1_024.0)]),
    row("long-account", "first page of the events of 50,000 payments, p50", "ms", at("account", "/page_p50_ms"))
        .limit("of 100 payments", at("account", "/limit_page_p50_ms"), Comparison::Times)
        .aim(&[Aim::Below(50.0)]),
    row("long-account", "the same, p98", "ms", at("account", "/page_p98_ms"))
        .limit("of 100 payments", at("account", "/limit_page_p98_ms"), Comparison::Times)
        .aim(&[Aim::Below(50.0)]),
    row("long-account", "verify the account with 50,000 payments", "s", at("account", "/verify_seconds"))
        .limit("twice the time for 25,000 payments", at("account", "/verify_limit_seconds"), Comparison::Times)
        .aim(&[Aim::RatioAtMost(1.2)]),
    row("memory", "server, idle", "MiB", at("start", "/idle_mib")).aim(&[Aim::Below(40.0)]),
    row("memory", "process that loads and releases 1,000,000 payments", "MiB", at("release-large", "/peak_memory_mib"))
        .aim(&[Aim::Below(512.0)]),
    row("start", "start on an empty database", "ms", at("start", "/empty_ms"))
        .limit("`daybook --version`", at("start", "/limit_ms"), Comparison::Times)
        .aim(&[Aim::Below(300.0)]),
    row("start", "start after `kill -9` with 100,000 accounts", "ms", at("start", "/killed_ms"))
        .limit("on an empty database", at("start", "/empty_ms"), Comparison::Times)
        .aim(&[Aim::Below(2_000.0)]),
    row("what-if", "another policy for 250,000 accounts", "s", at("what-if", "/seconds"))
        .limit("the same rows, read and not folded", at("what-if", "/limit_seconds"), Comparison::Times)
        .aim(&[Aim::Below(30.0)]),
    row("console", "slowest page with 100,000 accounts, longest", "ms", at("console", "/slowest_ms"))
        .limit("the sign-in page, median", at("console", "/frame/p50_ms"), Comparison::Times)
        .aim(&[Aim::Below(100.0)]),
    row("cases", "test cases from files, in memory", "/s", at("cases", "/cases_per_second")).without_database(),
    row("release", "the same release, as a rate", "/s", at("release-large", "/payments_per_second")).limit(
        BARE_LOOP,
        at("release-large", "/limit_per_second"),
        Comparison::Rate,
    ),
    row("growth", "cost of a payment in a release of 100,000 payments", "µs", at("release-middle", "/us_per_payment"))
        .limit("a release of 10,000 payments", at("release-small", "/us_per_payment"), Comparison::Times),
];

#[cfg(test)]
mod tests {
    use super::ROWS;
    use crate::commands::bench::all::jobs::JOBS;
    use crate::commands::bench::all::targets::TARGETS;

    /// The rows of the table of aims in the design, by their beginning, and the target that stands for each.
    const DESIGN: [(&str, &str); 14] = [
        ("release of held history", "release"),
        ("cost per event as the release grows from 10,000 to 1,000,000 events", "growth"),
        ("payments over HTTP in normal mode", "payments"),
        ("webhook deliveries to one fast URL", "webhooks"),
        ("one URL that hangs among ten", "hanging-url"),
        ("read one account, 24-month loan, at day 1 and day 700", "read"),
        ("engine alone", "engine"),
        ("due work with 1,000,000 idle accounts against 1,000", "due"),
        ("bytes of database for each payment of an import", "bytes"),
        ("import of 50,000 loans with 1.2 million payments", "import"),
        ("another tenant's payment while one call opens 1,000 loans", "neighbor"),
        ("an account with 50,000 payments", "long-account"),
        ("memory", "memory"),
        ("start", "start"),
    ];

    #[test]
    fn every_aim_of_the_design_has_a_row() {
        for (design, target) in DESIGN {
            let mut rows = ROWS.iter().filter(|row| row.target == target);
            assert!(rows.any(|row| !row.aims.is_empty() && !row.postgres_aims.is_empty()), "{design}");
        }
    }

    #[test]
    fn every_row_has_a_target_and_a_benchmark_with_the_same_databases() {
        for row in &ROWS {
            assert!(TARGETS.iter().any(|target| target.id == row.target), "{}", row.target);
            for place in std::iter::once(row.figure).chain(row.limit) {
                let job = JOBS.iter().find(|job| job.name == place.job);
                assert_eq!(job.map(|job| job.has_database), Some(row.has_database), "{place:?}");
            }
        }
        for target in &TARGETS {
            assert!(ROWS.iter().any(|row| row.target == target.id), "{} has no row", target.id);
        }
    }
}
