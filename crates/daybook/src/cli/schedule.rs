//! `daybook schedule`: terms on the command line.

use clap::{Args, ValueEnum};

/// `daybook schedule`
#[derive(Args, Debug)]
pub struct ScheduleArgs {
    /// The principal, such as 10000 or 12,500.50
    #[arg(long, value_name = "AMOUNT")]
    pub principal: String,
    /// The annual rate in percent, such as 12 or 6.25
    #[arg(long, value_name = "PERCENT")]
    pub rate: String,
    /// The number of instalments
    #[arg(long, value_name = "NUMBER", alias = "instalments")]
    pub installments: u32,
    /// When the loan begins [default: today, in UTC]
    #[arg(long, value_name = "DATE")]
    pub start: Option<String>,
    /// The interval between instalments: weekly, biweekly, monthly, quarterly, yearly, or units such as "2 months"
    #[arg(long, value_name = "INTERVAL", default_value = "monthly")]
    pub frequency: String,
    /// The length of the first cycle, such as "45 days" [default: the same as the others]
    #[arg(long, value_name = "INTERVAL")]
    pub first_cycle: Option<String>,
    /// The time from the end of a cycle to the due date, such as "21 days" [default: due at the end of the cycle]
    #[arg(long, value_name = "INTERVAL", allow_hyphen_values = true)]
    pub due_after: Option<String>,
    /// How the principal is spread over the instalments
    #[arg(long, value_enum, ignore_case = true, default_value = "LEVEL")]
    pub method: MethodArg,
    /// The number of interest-only instalments at the beginning
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub interest_only: u32,
    /// The day count: how a period is converted to a fraction of a year
    #[arg(long, value_enum, ignore_case = true, default_value = "THIRTY_360")]
    pub day_count: DayCountArg,
    /// Calculate interest each day on the principal unpaid that day, not once a period
    #[arg(long)]
    pub daily: bool,
    /// When an instalment is due if the month does not have the due day
    #[arg(long, value_enum, ignore_case = true, default_value = "CLAMP")]
    pub month_end: MonthEndArg,
    /// How half a cent is rounded
    #[arg(long, value_enum, ignore_case = true, default_value = "HALF_EVEN")]
    pub rounding: RoundingArg,
    /// Round instalments to multiples of this many cents
    #[arg(long, value_name = "CENTS", default_value_t = 1)]
    pub round_to_cents: u32,
    /// Adjust all instalments once, so that the last one is closer to the others
    #[arg(long)]
    pub smooth_last: bool,
    /// Also print the payoff on this date, if everything due before it is paid on time
    #[arg(long, value_name = "DATE")]
    pub payoff_at: Option<String>,
    /// Print CSV with amounts in cents; the last rows are the total and the payoff
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Print JSON with amounts in cents
    #[arg(long)]
    pub json: bool,
}

/// How the principal is spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum MethodArg {
    /// Equal instalments
    Level,
    /// Equal parts of principal
    EqualPrincipal,
    /// Interest on the original principal in each instalment
    Flat,
}

/// Which share of a year a day is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DayCountArg {
    /// Months of 30 days, years of 360 days
    #[value(name = "THIRTY_360")]
    Thirty360,
    /// Actual days, years of 365 days
    #[value(name = "ACTUAL_365")]
    Actual365,
    /// Actual days, years of 360 days
    #[value(name = "ACTUAL_360")]
    Actual360,
    /// Actual days, each in a year of its actual length
    #[value(name = "ACTUAL_ACTUAL")]
    ActualActual,
}

/// Where dates fall that a month does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum MonthEndArg {
    /// On the month's last day
    Clamp,
    /// On the first of the next month
    Roll,
}

/// What to do with half a cent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RoundingArg {
    /// To the even cent
    HalfEven,
    /// Away from zero
    HalfUp,
}
