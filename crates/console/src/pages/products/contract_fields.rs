//! The fields of a product for business days, differences of a few cents, several late fees, re-ages and rounding.

use super::lists::{HOLIDAYS, SEMI_MONTHLY_DAYS, TIERS, WEEKEND};
use crate::form::{Field, FieldKind};

macro_rules! life {
    ($rest:literal) => {
        concat!("product_lifecycle_policies.", $rest)
    };
}

/// Business days, and two instalments a month.
pub const BUSINESS_DAYS: &[Field] = &[
    Field::new(
        life!("billing_cycle_policies.business_days.adjust"),
        "A due date that is not a business day",
        FieldKind::Choice(&[
            ("", "Does not move (NONE)"),
            ("FOLLOWING", "Moves to the next business day"),
            ("MODIFIED_FOLLOWING", "Moves to the next business day, but to the one before if the month would change"),
            ("PRECEDING", "Moves to the business day before"),
        ]),
        "The following due dates still count from the original day.",
    ),
    Field::new(WEEKEND, "Weekend", FieldKind::Text, "The days of the week that are not business days.")
        .hint("SATURDAY, SUNDAY"),
    Field::new(HOLIDAYS, "Holidays", FieldKind::LongText, "Dates that are not business days, such as 2025-12-25."),
    Field::new(
        SEMI_MONTHLY_DAYS,
        "Days of two instalments a month",
        FieldKind::Text,
        "Only if the length of a cycle is semi-month. In a shorter month, the last day takes the place of the days that \
         it lacks.",
    )
    .hint("1, 15"),
];

/// Differences of a few cents.
pub const DIFFERENCES: &[Field] = &[
    Field::new(
        life!("payment_due_policies.shortfall_tolerance_cents"),
        "Shortfall that is accepted",
        FieldKind::Dollars,
        "An instalment counts as paid if no more than this amount is missing.",
    )
    .hint("0.00"),
    Field::new(
        life!("payment_due_policies.shortfall_tolerance_percent"),
        "Shortfall that is accepted, percent",
        FieldKind::Decimal,
        "The same, as a percentage of the instalment.",
    ),
    Field::new(
        life!("payment_due_policies.shortfall_tolerance_rule"),
        "If both are given",
        FieldKind::Choice(&[("", "The higher amount applies (HIGHER)"), ("LOWER", "The lower amount applies")]),
        "",
    ),
    Field::new(
        life!("payment_due_policies.shortfall_goes_to"),
        "What is missing is asked by",
        FieldKind::Choice(&[
            ("", "The next instalment (NEXT_INSTALLMENT)"),
            ("LAST_INSTALLMENT", "The last instalment; interest by the next one"),
        ]),
        "",
    ),
    Field::new(
        life!("payment_due_policies.write_off_balance_cents"),
        "Rest that is written off",
        FieldKind::Dollars,
        "After a payment, and when the last instalment falls due: a payoff up to this amount is written off, and the \
         account closes. At most 100.00.",
    )
    .hint("0.00"),
];

/// Limits on late fees, and several late fees for an instalment.
pub const MORE_LATE_FEES: &[Field] = &[
    Field::new(
        TIERS,
        "Several late fees",
        FieldKind::LongText,
        "In place of the grace period and the single fee. A line for each fee: the number of days after the due date, the \
         kind of fee, and the amount or percentage; for percentages, the least and the most can follow.",
    )
    .hint("5 FLAT 15.00"),
    Field::new(
        life!("fee_policies.late_fee_loan_cap_cents"),
        "Most for all late fees of a loan",
        FieldKind::Dollars,
        "Fees that were waived do not count. The fee that would exceed this amount is lowered.",
    )
    .hint("no limit"),
];

/// Limits on re-ages.
pub const RE_AGES: &[Field] = &[
    Field::new(
        life!("payment_due_policies.re_age_limits.per_12_months"),
        "Within 12 months",
        FieldKind::Whole,
        "How often an account may be re-aged or restructured within 12 months.",
    )
    .hint("no limit"),
    Field::new(
        life!("payment_due_policies.re_age_limits.per_60_months"),
        "Within 60 months",
        FieldKind::Whole,
        "How often an account may be re-aged or restructured within 60 months.",
    )
    .hint("no limit"),
    Field::new(
        life!("payment_due_policies.re_age_limits.min_age_months"),
        "Age of the account, months",
        FieldKind::Whole,
        "A younger account may not be re-aged or restructured.",
    )
    .hint("no limit"),
];

/// Interest that is fixed when an account is opened.
pub const PRECOMPUTED: &[Field] = &[
    Field::new(
        life!("amortization_policies.precomputed_split"),
        "Interest of each instalment",
        FieldKind::Choice(&[
            ("", "As in the schedule of equal instalments (ACTUARIAL)"),
            ("SUM_OF_DIGITS", "By the sum of digits: the rule of 78"),
            ("EQUAL", "The same in each instalment"),
        ]),
        "Only for the method PRECOMPUTED.",
    ),
    Field::new(
        life!("amortization_policies.precomputed_refund"),
        "If the loan is paid off early",
        FieldKind::Choice(&[
            ("", "Interest of periods that have not begun is not owed (NOT_BEGUN)"),
            ("NONE", "All interest is owed"),
        ]),
        "Only for the method PRECOMPUTED.",
    ),
];

/// Rounding of interest.
pub const INTEREST_ROUNDING: &[Field] = &[
    Field::new(
        life!("interest_policies.interest_rounding"),
        "Rounding of interest",
        FieldKind::Choice(&[
            ("", "As other amounts"),
            ("HALF_EVEN", "Half a cent to the even cent (HALF_EVEN)"),
            ("HALF_UP", "Half a cent away from zero (HALF_UP)"),
            ("DOWN", "Always down (DOWN)"),
        ]),
        "",
    ),
    Field::new(
        life!("interest_policies.interest_rounding_at"),
        "Interest is rounded",
        FieldKind::Choice(&[
            ("", "At the end of each period (PERIOD_END)"),
            ("CARRY", "At the end of each period; the fraction of a cent is carried on"),
            ("PAYMENT", "At the end of each period; the fraction is carried on, and dropped at payments"),
            ("DAILY", "Each day"),
        ]),
        "Only for interest that is calculated each day.",
    ),
];
