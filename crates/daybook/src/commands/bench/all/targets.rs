//! The aims: what is to be measured, and the parts of the page.

/// Something that is measured, with one or more rows on the page.
#[derive(Debug)]
pub struct Target {
    /// Its name in the code, and in the headings of the notes.
    pub id: &'static str,
    /// What is measured.
    pub title: &'static str,
}

/// All targets, in the order of the page.
pub const TARGETS: [Target; 17] = [
    Target { id: "release", title: "Release of held history" },
    Target { id: "growth", title: "Cost of a payment as a release grows" },
    Target { id: "payments", title: "Payments over HTTP" },
    Target { id: "webhooks", title: "Webhook deliveries" },
    Target { id: "hanging-url", title: "One URL that never responds among ten" },
    Target { id: "read", title: "Reading one account" },
    Target { id: "engine", title: "The engine alone" },
    Target { id: "due", title: "Due work among idle accounts" },
    Target { id: "bytes", title: "Bytes of database for each payment" },
    Target { id: "import", title: "Import of a portfolio" },
    Target { id: "neighbor", title: "Payments next to another organization's large call" },
    Target { id: "long-account", title: "An account with 50,000 payments" },
    Target { id: "memory", title: "Memory" },
    Target { id: "start", title: "Start" },
    Target { id: "what-if", title: "What-if" },
    Target { id: "console", title: "The console" },
    Target { id: "cases", title: "Test cases" },
];

/// A condition on the median of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Aim {
    /// The figure is below this.
    Below(f64),
    /// The figure is at most this.
    AtMost(f64),
    /// The figure is at least this.
    AtLeast(f64),
    /// The ratio is below this.
    RatioBelow(f64),
    /// The ratio is at most this.
    RatioAtMost(f64),
    /// The ratio is at least this.
    RatioAtLeast(f64),
}

impl Aim {
    /// Whether it is met; `None` if what it is about was not measured.
    pub fn is_met(self, figure: Option<f64>, ratio: Option<f64>) -> Option<bool> {
        match self {
            Aim::Below(limit) => figure.map(|figure| figure < limit),
            Aim::AtMost(limit) => figure.map(|figure| figure <= limit),
            Aim::AtLeast(limit) => figure.map(|figure| figure >= limit),
            Aim::RatioBelow(limit) => ratio.map(|ratio| ratio < limit),
            Aim::RatioAtMost(limit) => ratio.map(|ratio| ratio <= limit),
            Aim::RatioAtLeast(limit) => ratio.map(|ratio| ratio >= limit),
        }
    }
}

/// How a figure and its limit are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The figure is a rate: the ratio is Daybook's rate divided by the limit's.
    Rate,
    /// The figure is a duration, and the ratio is the limit's duration divided by Daybook's, so that it compares speeds.
    Speed,
    /// The ratio is how many times the limit the figure is.
    Times,
    /// There is no limit.
    None,
}

/// A figure in the output of a benchmark.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The benchmark.
    pub job: &'static str,
    /// The JSON pointer in its output.
    pub pointer: &'static str,
}

/// A row of the page.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The id of its target.
    pub target: &'static str,
    /// What is measured.
    pub what: &'static str,
    /// The unit of the figure and of the limit.
    pub unit: &'static str,
    /// The figure.
    pub figure: Place,
    /// The limit.
    pub limit: Option<Place>,
    /// What the limit is.
    pub limit_is: &'static str,
    /// How the two are compared.
    pub comparison: Comparison,
    /// The aims on SQLite, and without a database.
    pub aims: &'static [Aim],
    /// The aims on PostgreSQL.
    pub postgres_aims: &'static [Aim],
    /// Whether it is measured on databases, or without one.
    pub has_database: bool,
}
