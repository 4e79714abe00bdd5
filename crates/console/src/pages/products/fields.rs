//! Every field of a product, with its help text.
//!
//! The name of a field is its path in the call. An empty field has the default stated in its placeholder.

use super::lists::ORDER;
use crate::form::{Field, FieldKind};

macro_rules! life {
    ($rest:literal) => {
        concat!("product_lifecycle_policies.", $rest)
    };
}

/// The time zone, in which times are typed.
pub const ZONE: &str = life!("billing_cycle_policies.product_time_zone");

const TYPES: &[(&str, &str)] = &[("INSTALLMENT", "Instalment loan")];
const LATE_FEES: &[(&str, &str)] = &[
    ("", "A fixed amount (FLAT)"),
    ("PERCENT_OF_UNPAID", "A percentage of the unpaid instalment"),
    ("PERCENT_OF_UNPAID_PRINCIPAL", "A percentage of the instalment's unpaid principal"),
    ("PERCENT_OF_PAYMENT", "A percentage of the whole instalment"),
];
const PYRAMIDING: &[(&str, &str)] = &[
    ("", "They count as well: one missed payment leads to one late fee (RECEIPTS)"),
    ("FEES_ONLY", "They do not count: one missed payment can lead to a late fee for each later instalment (FEES_ONLY)"),
];
const METHODS: &[(&str, &str)] = &[
    ("", "Equal instalments (LEVEL)"),
    ("EQUAL_PRINCIPAL", "The same principal in each instalment, and the interest in addition"),
    ("FLAT", "The same principal in each instalment, and the same interest, on the original principal"),
    ("PRECOMPUTED", "Equal instalments; the interest is fixed when the account is opened"),
];
const MONTH_ENDS: &[(&str, &str)] =
    &[("", "On the month's last day (CLAMP)"), ("ROLL", "On the 1st of the next month (ROLL)")];
const CALCULATIONS: &[(&str, &str)] = &[
    ("", "Once a period, on the principal at the start of the period (PERIODIC)"),
    ("DAILY", "Each day, on the principal unpaid that day"),
];
const DAY_COUNTS: &[(&str, &str)] = &[
    ("", "A month is a twelfth of a year (THIRTY_360)"),
    ("ACTUAL_365", "A day is 1/365 of a year (ACTUAL_365)"),
    ("ACTUAL_360", "A day is 1/360 of a year (ACTUAL_360)"),
    ("ACTUAL_ACTUAL", "A day is 1/365 of a year, in a leap year 1/366"),
];
const ROUNDINGS: &[(&str, &str)] =
    &[("", "To the even cent (HALF_EVEN)"), ("HALF_UP", "Away from zero (HALF_UP)"), ("DOWN", "Always down (DOWN)")];
const AFTER_MATURITY: &[(&str, &str)] = &[("", "Interest continues (ACCRUE)"), ("NONE", "Interest stops")];
const SPANS: &[(&str, &str)] = &[
    ("", "Automatic: INSTALLMENTS_FIRST, or BUCKET_FIRST if you enter an order of debts"),
    (
        "INSTALLMENTS_FIRST",
        "Interest and principal of the oldest instalment, then of the next; fees last (INSTALLMENTS_FIRST)",
    ),
    ("BUCKET_FIRST", "The first kind of debt of all instalments, then the next kind (BUCKET_FIRST)"),
    ("OLDEST_INSTALLMENT_FIRST", "All debts of the oldest instalment, then those of the next"),
];
const SURPLUS: &[(&str, &str)] = &[
    ("", "Into principal, from the last instalment backwards (LAST_INSTALLMENT)"),
    ("NEXT_INSTALLMENT", "Into the next instalments, in advance"),
    ("REDUCE_PRINCIPAL", "Into principal; later instalments become smaller"),
];
const BACKDATING: &[(&str, &str)] =
    &[("", "When they are recorded (AS_POSTED)"), ("REPLAY", "On their own date (REPLAY)")];

/// The name, the length and the rate.
pub const BASICS: &[Field] = &[
    Field::new(
        "product_overview.product_name",
        "Name",
        FieldKind::Text,
        "The name of the product in lists and on its accounts.",
    )
    .required()
    .hint("Auto 36"),
    Field::new(
        "post_promotional_policies.post_promo_len",
        "Number of instalments",
        FieldKind::Whole,
        "The number of payments that repay the loan.",
    )
    .required()
    .hint("36"),
    Field::new(
        "post_promotional_policies.post_promo_default_interest_rate_percent",
        "Interest rate, percent a year",
        FieldKind::Decimal,
        "An account can have its own rate.",
    )
    .hint("0"),
    Field::new(
        "product_id",
        "Product id",
        FieldKind::Text,
        "Your own id: letters, digits and . _ : ~ -. It cannot be changed later.",
    )
    .hint("generated"),
    Field::new(
        "product_overview.product_type",
        "Type",
        FieldKind::Choice(TYPES),
        "A loan that is paid out once and repaid in instalments. Credit lines (revolving products) are not supported.",
    ),
    Field::new("product_overview.product_short_description", "Short description", FieldKind::Text, ""),
    Field::new("product_overview.product_long_description", "Long description", FieldKind::LongText, ""),
    Field::new("product_overview.product_color", "Colour", FieldKind::Text, "For display in your own systems.")
        .hint("#1f5f5b"),
    Field::new(
        "effective_at",
        "Effective from",
        FieldKind::Moment,
        "When the product becomes effective, in its time zone. Leave empty to use the current time.",
    ),
];

/// When instalments fall due.
pub const BILLING: &[Field] = &[
    Field::new(
        life!("billing_cycle_policies.cycle_interval"),
        "Length of a cycle",
        FieldKind::Text,
        "The time from one instalment to the next, in months or days: 1 month, 14 days. For two a month: semi-month.",
    )
    .hint("1 month"),
    Field::new(
        life!("billing_cycle_policies.cycle_due_interval"),
        "Due date, from the end of a cycle",
        FieldKind::Text,
        "0 days: due at the end of the cycle. 5 days: due 5 days later. -5 days: due 5 days earlier.",
    )
    .hint("0 days"),
    Field::new(
        life!("billing_cycle_policies.first_cycle_interval"),
        "Length of the first cycle",
        FieldKind::Text,
        "Only if it differs from the other cycles. Example: 1 month - 10 days, which is a month less 10 days.",
    )
    .hint("same as the others"),
    Field::new(
        life!("billing_cycle_policies.close_of_business_time"),
        "Close of business",
        FieldKind::Text,
        "A payment on the due date is on time up to this time of day, in the product's time zone.",
    )
    .hint("23:59:59"),
    Field::new(
        ZONE,
        "Time zone",
        FieldKind::Text,
        "An IANA name. It determines when a day ends, and so when an instalment falls due.",
    )
    .hint("America/New_York"),
];

/// What an unpaid instalment costs.
pub const FEES: &[Field] = &[
    Field::new(
        life!("fee_policies.late_fee_type"),
        "Kind of late fee",
        FieldKind::Choice(LATE_FEES),
        "How the fee for a late instalment is calculated.",
    ),
    Field::new(
        life!("default_attributes.default_late_fee_cents"),
        "Fixed late fee",
        FieldKind::Dollars,
        "For a fixed fee. An account can have its own. With 0.00, no fee is charged, but an unpaid instalment still counts as late.",
    )
    .hint("0.00"),
    Field::new(
        life!("fee_policies.late_fee_percent"),
        "Late fee, percent",
        FieldKind::Decimal,
        "Only for a late fee that is a percentage.",
    ),
    Field::new(
        life!("fee_policies.late_fee_grace"),
        "Grace period",
        FieldKind::Text,
        "Time from the due date until an unpaid instalment is late and a late fee is charged.",
    )
    .hint("0 days"),
    Field::new(
        life!("fee_policies.late_fee_grace_counts_due_date"),
        "The due date is the first day of the grace period",
        FieldKind::Flag,
        "If not ticked, the grace period starts on the day after the due date.",
    ),
    Field::new(
        life!("fee_policies.late_fee_min_cents"),
        "Minimum late fee",
        FieldKind::Dollars,
        "A lower late fee is raised to this amount. The cap below can then lower it again.",
    ),
    Field::new(
        life!("fee_policies.late_fee_max_cents"),
        "Maximum late fee",
        FieldKind::Dollars,
        "A higher late fee is lowered to this amount.",
    ),
    Field::new(
        life!("fee_policies.late_fee_cap_percent"),
        "Late fee cap, percent",
        FieldKind::Decimal,
        "A late fee is at most this percentage of the instalment's unpaid amount.",
    ),
    Field::new(
        life!("fee_policies.late_fee_pyramiding"),
        "Payments for older, late instalments",
        FieldKind::Choice(PYRAMIDING),
        "No late fee is charged if the payments made for an instalment's period reach its amount. Money that went to \
         fees counts. This setting decides whether money that went to older, late instalments counts as well. Example: an instalment of $400 is due and $400 is paid, but $100 of it pays an older, late instalment. \
         If the $100 counts, there is no second late fee.",
    ),
];

/// What late instalments in a row lead to.
pub const DELINQUENCY: &[Field] = &[
    Field::new(
        life!("payment_due_policies.delinquent_on_n_consecutive_late_fees"),
        "Delinquent after",
        FieldKind::Whole,
        "The number of late instalments in a row that makes an account delinquent.",
    )
    .hint("1"),
    Field::new(
        life!("payment_due_policies.charge_off_on_n_consecutive_late_fees"),
        "Charged off after",
        FieldKind::Whole,
        "The number of late instalments in a row that charges an account off. 99999: never.",
    )
    .hint("99999"),
];

/// The size of the instalments.
pub const AMORTIZATION: &[Field] = &[
    Field::new(
        life!("amortization_policies.method"),
        "Method",
        FieldKind::Choice(METHODS),
        "How the principal is spread over the instalments.",
    ),
    Field::new(
        life!("amortization_policies.interest_only_cycles"),
        "Interest-only instalments",
        FieldKind::Whole,
        "The number of instalments at the beginning that pay no principal.",
    )
    .hint("0"),
    Field::new(
        life!("amortization_policies.month_end"),
        "Due date in a shorter month",
        FieldKind::Choice(MONTH_ENDS),
        "When an instalment falls due if its month does not have the day, such as the 31st.",
    ),
    Field::new(
        life!("amortization_policies.installment_rounding_cents"),
        "Instalments are multiples of",
        FieldKind::Dollars,
        "Instalments are rounded to the nearest multiple of this amount. 1.00 gives whole dollars.",
    )
    .hint("0.01"),
    Field::new(
        life!("amortization_policies.smooth_last_installment"),
        "Bring the last instalment closer to the others",
        FieldKind::Flag,
        "All instalments are adjusted once, so that rounding differences do not add up in the last instalment.",
    ),
];

/// How interest is calculated.
pub const INTEREST: &[Field] = &[
    Field::new(
        life!("interest_policies.interest_calc_method"),
        "Calculation",
        FieldKind::Choice(CALCULATIONS),
        "With daily interest, a borrower who pays early pays less interest, and one who pays late pays more.",
    ),
    Field::new(
        life!("interest_policies.day_count"),
        "Day count",
        FieldKind::Choice(DAY_COUNTS),
        "How a period is converted to a fraction of a year.",
    ),
    Field::new(
        life!("interest_policies.rounding"),
        "Rounding of half a cent",
        FieldKind::Choice(ROUNDINGS),
        "To the even cent: 0.125 becomes 0.12, and 0.135 becomes 0.14. Away from zero: 0.125 becomes 0.13.",
    ),
    Field::new(
        life!("interest_policies.interest_after_maturity"),
        "After the last due date",
        FieldKind::Choice(AFTER_MATURITY),
        "Whether interest accrues on principal that is unpaid after the last due date.",
    ),
];

/// The debts that a payment pays first.
pub const POURING: &[Field] = &[
    Field::new(
        ORDER,
        "Order of debts",
        FieldKind::LongText,
        "The kinds of debt in the order in which payments pay them, separated by commas. Each name has two parts: \
         PAST_DUE, DUE or IN_ADVANCE, then FEE, PENALTY, INTEREST or PRINCIPAL. Leave empty to pay the interest and \
         principal of each instalment, the oldest first, and then fees and penalties.",
    )
    .hint("PAST_DUE_INTEREST, PAST_DUE_PRINCIPAL, DUE_INTEREST, DUE_PRINCIPAL, PAST_DUE_FEE, PAST_DUE_PENALTY, DUE_FEE, DUE_PENALTY"),
    Field::new(
        life!("payment_pouring_policies.span"),
        "Order of instalments",
        FieldKind::Choice(SPANS),
        "Which debts are paid first when several instalments are unpaid.",
    ),
    Field::new(
        life!("payment_pouring_policies.surplus"),
        "Overpayments",
        FieldKind::Choice(SURPLUS),
        "What the rest of a payment pays when no more is due.",
    ),
];

/// Entries and accounts with a date in the past.
pub const BACKDATED: &[Field] = &[
    Field::new(
        life!("backdating_policy"),
        "Backdated entries take effect",
        FieldKind::Choice(BACKDATING),
        "Example: a payment dated Monday is recorded on Friday. Either the interest and fees charged since Monday \
         stay, or the account is recalculated from Monday.",
    ),
    Field::new(
        life!("opening_policies.most_years_back"),
        "Opening date: most years in the past",
        FieldKind::Whole,
        "How many years in the past an account may begin. The limit does not apply in migration mode.",
    )
    .hint("60"),
    Field::new(
        life!("opening_policies.most_due_dates_back"),
        "Opening date: most due dates in the past",
        FieldKind::Whole,
        "How many due dates may lie between the beginning of an account and today. The limit does not apply in migration mode.",
    )
    .hint("40000"),
];

/// Amounts that an account can override.
pub const DEFAULTS: &[Field] = &[
    Field::new(
        life!("default_attributes.default_payment_reversal_fee_cents"),
        "Fee for a bounced payment",
        FieldKind::Dollars,
        "Charged when a payment is reversed.",
    )
    .hint("0.00"),
    Field::new(
        life!("default_attributes.default_credit_limit_cents"),
        "Credit limit",
        FieldKind::Dollars,
        "Stored with each account. Daybook does not enforce it.",
    ),
    Field::new(
        "promotional_policies.promo_len",
        "Promotional cycles",
        FieldKind::Whole,
        "For revolving products, which are not supported yet. An instalment loan has none.",
    )
    .hint("0"),
];

/// Loading the history of loans.
pub const MIGRATION: &[Field] = &[Field::new(
    "admin.migration_mode",
    "Start in migration mode",
    FieldKind::Flag,
    "To load the history of loans from another system: events are held, and when you release them, Daybook processes \
     them in the order of their dates. You can also turn migration mode on or off later.",
)];
