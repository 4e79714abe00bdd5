//! Every field of a product, with its help text.
//!
//! The name of a field is its path in the call. An empty field has the default stated in its placeholder.

use crate::form::{Field, Kind};

/// A group of fields.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// The heading.
    pub name: &'static str,
    /// A short description.
    pub about: &'static str,
    /// Its fields.
    pub fields: &'static [Field],
    /// Whether most products need it.
    pub is_basic: bool,
}

macro_rules! life {
    ($rest:literal) => {
        concat!("product_lifecycle_policies.", $rest)
    };
}

/// The time zone, in which times are typed.
pub const ZONE: &str = life!("billing_cycle_policies.product_time_zone");
/// The payment order, which is a list.
pub const ORDER: &str = life!("payment_pouring_policies.order");

const TYPES: &[(&str, &str)] = &[("INSTALLMENT", "Instalment loan")];
const LATE_FEES: &[(&str, &str)] = &[
    ("", "A fixed amount (FLAT)"),
    ("PERCENT_OF_UNPAID", "A part of what is unpaid of the instalment"),
    ("PERCENT_OF_UNPAID_PRINCIPAL", "A part of what is unpaid of its principal"),
    ("PERCENT_OF_PAYMENT", "A part of all that the instalment asked"),
];
const PYRAMIDING: &[(&str, &str)] = &[
    ("", "What fees and late instalments took counts: one missed payment, one fee (RECEIPTS)"),
    ("FEES_ONLY", "Only what fees took counts"),
];
const METHODS: &[(&str, &str)] = &[
    ("", "Equal instalments (LEVEL)"),
    ("EQUAL_PRINCIPAL", "Equal principal, interest on top"),
    ("FLAT", "Equal principal, equal interest on the original principal"),
];
const MONTH_ENDS: &[(&str, &str)] =
    &[("", "On the month's last day (CLAMP)"), ("ROLL", "On the 1st of the next month (ROLL)")];
const CALCULATIONS: &[(&str, &str)] = &[
    ("", "Once a period, on the principal at its start (PERIODIC)"),
    ("DAILY", "Each day, on what is unpaid that day"),
];
const DAY_COUNTS: &[(&str, &str)] = &[
    ("", "A month is a twelfth of a year (THIRTY_360)"),
    ("ACTUAL_365", "A day is 1/365 (ACTUAL_365)"),
    ("ACTUAL_360", "A day is 1/360 (ACTUAL_360)"),
    ("ACTUAL_ACTUAL", "A day is 1/365, in a leap year 1/366"),
];
const ROUNDINGS: &[(&str, &str)] = &[("", "To the even cent (HALF_EVEN)"), ("HALF_UP", "Away from zero (HALF_UP)")];
const AFTER_MATURITY: &[(&str, &str)] = &[("", "Interest goes on (ACCRUE)"), ("NONE", "Interest stops")];
const SPANS: &[(&str, &str)] = &[
    ("", "Interest and principal of the oldest instalment, then the next; fees last (INSTALLMENTS_FIRST)"),
    ("BUCKET_FIRST", "One kind of debt of all instalments, then the next kind"),
    ("OLDEST_INSTALLMENT_FIRST", "All debts of the oldest instalment, then the next instalment"),
];
const SURPLUS: &[(&str, &str)] = &[
    ("", "Into principal, from the last instalment backwards (LAST_INSTALLMENT)"),
    ("NEXT_INSTALLMENT", "Into the next instalments, in advance"),
    ("REDUCE_PRINCIPAL", "Into principal; later instalments become smaller"),
];
const BACKDATING: &[(&str, &str)] =
    &[("", "From when they arrive (AS_POSTED)"), ("REPLAY", "From their own date (REPLAY)")];

const BASICS: &[Field] = &[
    Field::new("product_overview.product_name", "Name", Kind::Text, "What people call it.").required().hint("Auto 36"),
    Field::new(
        "post_promotional_policies.post_promo_len",
        "Number of instalments",
        Kind::Whole,
        "How many payments pay the loan back.",
    )
    .required()
    .hint("36"),
    Field::new(
        "post_promotional_policies.post_promo_default_interest_rate_percent",
        "Interest rate, percent a year",
        Kind::Decimal,
        "The yearly rate. An account may have its own.",
    )
    .hint("0"),
    Field::new(
        "product_id",
        "Product id",
        Kind::Text,
        "Your own id: letters, digits and . _ : ~ -. It cannot be changed later.",
    )
    .hint("made for you"),
    Field::new(
        "product_overview.product_type",
        "Type",
        Kind::Choice(TYPES),
        "A sum lent once and paid back in parts. Revolving products (credit lines) are not there yet.",
    ),
    Field::new("product_overview.product_short_description", "In a few words", Kind::Text, ""),
    Field::new("product_overview.product_long_description", "In more words", Kind::LongText, ""),
    Field::new("product_overview.product_color", "Colour", Kind::Text, "For your own systems to show it in.")
        .hint("#1f5f5b"),
    Field::new(
        "effective_at",
        "Effective from",
        Kind::Moment,
        "When the product begins to count, on the clocks of its zone. Empty: now.",
    ),
];

const BILLING: &[Field] = &[
    Field::new(
        life!("billing_cycle_policies.cycle_interval"),
        "Length of a cycle",
        Kind::Text,
        "From one instalment to the next: months or days.",
    )
    .hint("1 month"),
    Field::new(
        life!("billing_cycle_policies.cycle_due_interval"),
        "From a cycle's end to the due date",
        Kind::Text,
        "0 days: due at the end of the cycle. Positive: so long after it. Negative, as in -5 days: so long before it.",
    )
    .hint("0 days"),
    Field::new(
        life!("billing_cycle_policies.first_cycle_interval"),
        "Length of the first cycle",
        Kind::Text,
        "Where it differs from the others, as in 1 month - 10 days.",
    )
    .hint("as the others"),
    Field::new(
        life!("billing_cycle_policies.close_of_business_time"),
        "A day ends at",
        Kind::Text,
        "Payments up to this time, on the clocks of the zone, count for the day.",
    )
    .hint("23:59:59"),
    Field::new(ZONE, "Time zone", Kind::Text, "Whose calendar and clocks count: a name of the IANA database.")
        .hint("America/New_York"),
];

const FEES: &[Field] = &[
    Field::new(
        life!("fee_policies.late_fee_type"),
        "What the fee is",
        Kind::Choice(LATE_FEES),
        "How the fee for a late instalment is computed.",
    ),
    Field::new(
        life!("default_attributes.default_late_fee_cents"),
        "Fixed late fee",
        Kind::Dollars,
        "For the fixed kind. An account may have its own. 0: none is charged, and the instalment still counts as late.",
    )
    .hint("0.00"),
    Field::new(
        life!("fee_policies.late_fee_percent"),
        "Late fee, percent",
        Kind::Decimal,
        "For the kinds that are a part of something: which part.",
    ),
    Field::new(
        life!("fee_policies.late_fee_grace"),
        "Grace",
        Kind::Text,
        "How long after the due date an unpaid instalment becomes late.",
    )
    .hint("0 days"),
    Field::new(
        life!("fee_policies.late_fee_grace_counts_due_date"),
        "The due date is the first day of grace",
        Kind::Flag,
        "Otherwise grace is counted from the day after it.",
    ),
    Field::new(life!("fee_policies.late_fee_min_cents"), "At least", Kind::Dollars, "No late fee is smaller."),
    Field::new(life!("fee_policies.late_fee_max_cents"), "At most", Kind::Dollars, "No late fee is larger."),
    Field::new(
        life!("fee_policies.late_fee_cap_percent"),
        "At most, percent of what is unpaid",
        Kind::Decimal,
        "A late fee is never more than this part of what is unpaid of its instalment.",
    ),
    Field::new(
        life!("fee_policies.late_fee_pyramiding"),
        "Money that spares an instalment the fee",
        Kind::Choice(PYRAMIDING),
        "An instalment is spared when as much as it asks was paid for it, although older debts took the money.",
    ),
];

const DELINQUENCY: &[Field] = &[
    Field::new(
        life!("payment_due_policies.delinquent_on_n_consecutive_late_fees"),
        "Delinquent after",
        Kind::Whole,
        "So many late instalments in a row make an account delinquent.",
    )
    .hint("1"),
    Field::new(
        life!("payment_due_policies.charge_off_on_n_consecutive_late_fees"),
        "Charged off after",
        Kind::Whole,
        "So many late instalments in a row charge it off. 99999: never.",
    )
    .hint("99999"),
];

const AMORTIZATION: &[Field] = &[
    Field::new(
        life!("amortization_policies.method"),
        "Method",
        Kind::Choice(METHODS),
        "How the principal is spread over the instalments.",
    ),
    Field::new(
        life!("amortization_policies.interest_only_cycles"),
        "Instalments of interest alone",
        Kind::Whole,
        "So many at the beginning pay no principal.",
    )
    .hint("0"),
    Field::new(
        life!("amortization_policies.month_end"),
        "A date that a month does not have",
        Kind::Choice(MONTH_ENDS),
        "Where an instalment of the 31st falls in a shorter month.",
    ),
    Field::new(
        life!("amortization_policies.installment_rounding_cents"),
        "Instalments are multiples of",
        Kind::Dollars,
        "Rounded to the nearest: 1.00 gives whole dollars.",
    )
    .hint("0.01"),
    Field::new(
        life!("amortization_policies.smooth_last_installment"),
        "Bring the last instalment closer to the others",
        Kind::Flag,
        "The level payment is moved once, so that rounding does not gather in the last one.",
    ),
];

const INTEREST: &[Field] = &[
    Field::new(
        life!("interest_policies.interest_calc_method"),
        "When it is counted",
        Kind::Choice(CALCULATIONS),
        "Counted each day, paying early saves interest and paying late costs it.",
    ),
    Field::new(
        life!("interest_policies.day_count"),
        "Days of a year",
        Kind::Choice(DAY_COUNTS),
        "Which share of a year a period is.",
    ),
    Field::new(life!("interest_policies.rounding"), "Half a cent", Kind::Choice(ROUNDINGS), "Which way it is rounded."),
    Field::new(
        life!("interest_policies.interest_after_maturity"),
        "After the last due date",
        Kind::Choice(AFTER_MATURITY),
        "What happens while something is still owed.",
    ),
];

const POURING: &[Field] = &[
    Field::new(
        ORDER,
        "Order of debts",
        Kind::LongText,
        "Which debts are paid first. Each is PAST_DUE, DUE or IN_ADVANCE, then FEE, PENALTY, INTEREST or PRINCIPAL, with \
         commas between. Empty: fees and penalties, then interest, then principal.",
    )
    .hint("PAST_DUE_FEE, PAST_DUE_PENALTY, DUE_FEE, DUE_PENALTY, PAST_DUE_INTEREST, DUE_INTEREST, PAST_DUE_PRINCIPAL, DUE_PRINCIPAL"),
    Field::new(
        life!("payment_pouring_policies.span"),
        "Which way through them",
        Kind::Choice(SPANS),
        "Where several instalments are unpaid.",
    ),
    Field::new(
        life!("payment_pouring_policies.surplus"),
        "What is left when nothing is due",
        Kind::Choice(SURPLUS),
        "Where the money goes.",
    ),
];

const BACKDATED: &[Field] = &[
    Field::new(
        life!("backdating_policy"),
        "Entries with an earlier date count",
        Kind::Choice(BACKDATING),
        "A payment that arrives on Friday for Monday: either what was charged since Monday stands, or the account is \
         computed again from Monday.",
    ),
    Field::new(
        life!("opening_policies.most_years_back"),
        "Years that an account may begin in the past",
        Kind::Whole,
        "Everything since is worked through when it is opened. In migration mode this is not asked.",
    )
    .hint("60"),
    Field::new(
        life!("opening_policies.most_due_dates_back"),
        "Due dates that may lie in the past",
        Kind::Whole,
        "The same, counted by due dates: for instalments that fall due each day.",
    )
    .hint("40000"),
];

const DEFAULTS: &[Field] = &[
    Field::new(
        life!("default_attributes.default_payment_reversal_fee_cents"),
        "Fee for a bounced payment",
        Kind::Dollars,
        "Charged when a payment is reversed.",
    )
    .hint("0.00"),
    Field::new(
        life!("default_attributes.default_credit_limit_cents"),
        "Credit limit",
        Kind::Dollars,
        "Kept with each account, and shown.",
    ),
    Field::new(
        "promotional_policies.promo_len",
        "Promotional cycles",
        Kind::Whole,
        "For revolving products, which are not supported yet: an instalment loan has none.",
    )
    .hint("0"),
];

const MIGRATION: &[Field] = &[Field::new(
    "admin.migration_mode",
    "Begin by holding events",
    Kind::Flag,
    "For loading the history of loans from another system: events are recorded, and processed in order when you release \
     them. It can be turned on and off later, too.",
)];

/// All groups, in the order of the form.
pub const GROUPS: &[Group] = &[
    Group { name: "Basics", about: "The first two are enough.", fields: BASICS, is_basic: true },
    Group { name: "Billing cycle", about: "When instalments fall due.", fields: BILLING, is_basic: false },
    Group { name: "Late fees", about: "What an unpaid instalment costs.", fields: FEES, is_basic: false },
    Group {
        name: "Delinquency",
        about: "What late instalments in a row lead to.",
        fields: DELINQUENCY,
        is_basic: false,
    },
    Group {
        name: "Statuses",
        about: "What a status stops while it lasts.",
        fields: super::effects::FIELDS,
        is_basic: false,
    },
    Group { name: "Amortization", about: "How big instalments are.", fields: AMORTIZATION, is_basic: false },
    Group { name: "Interest", about: "How it is counted.", fields: INTEREST, is_basic: false },
    Group { name: "Where payments go", about: "Which debts a payment pays first.", fields: POURING, is_basic: false },
    Group { name: "Backdating", about: "What an earlier date means.", fields: BACKDATED, is_basic: false },
    Group { name: "Defaults", about: "Amounts that an account may override.", fields: DEFAULTS, is_basic: false },
    Group { name: "Migration mode", about: "Loading history.", fields: MIGRATION, is_basic: false },
];

/// The sample loan of the schedule next to the form. These fields are not part of the product.
pub const PREVIEW: &[Field] = &[
    Field::new("preview_principal", "For a loan of", Kind::Dollars, "").hint("12,000.00"),
    Field::new("preview_start", "That begins on", Kind::Date, ""),
];

/// Every field of the form.
pub fn all() -> Vec<Field> {
    GROUPS.iter().flat_map(|group| group.fields).chain(PREVIEW).copied().collect()
}

/// Every field of a product.
pub fn of_product() -> Vec<Field> {
    GROUPS.iter().flat_map(|group| group.fields).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every field of the form exists in the service, and every policy of a complete product has a field.
    #[test]
    fn every_policy_of_the_service_can_be_typed_and_is_explained() {
        use daybook_service::form::{self, NewProduct};
        for field in of_product() {
            assert!(!field.label.is_empty(), "{}", field.name);
            let mut call = serde_json::json!({
                "product_overview": {"product_name": "A", "product_type": "INSTALLMENT"}
            });
            crate::form::put(&mut call, field.name, serde_json::Value::Null);
            // An unknown field is refused by its name; a known field is refused only for its value.
            if let Err(bad) = form::parse::<NewProduct>(call.to_string().as_bytes()) {
                let words = bad.to_string();
                assert!(!words.contains("unknown") && !words.contains("not a field"), "{}: {words}", field.name);
            }
        }
        let settled = serde_json::json!({
            "product_overview": {"product_name": "A", "product_type": "INSTALLMENT"},
            "post_promotional_policies": {"post_promo_len": 12},
        });
        let product: NewProduct = form::parse(settled.to_string().as_bytes()).expect("a product");
        let policy = daybook_service::policy::product_policy(&product, None).expect("a policy");
        let (life, post) = daybook_service::policy::describe(&policy, None);
        let described = serde_json::json!({"product_lifecycle_policies": life, "post_promotional_policies": post});
        let mut known = Vec::new();
        leaves("", &described, &mut known);
        assert!(known.len() > 20, "{known:?}");
        for path in known {
            assert!(of_product().iter().any(|field| field.name == path), "{path} cannot be typed");
        }
    }

    fn leaves(path: &str, value: &serde_json::Value, into: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(fields) => {
                for (name, value) in fields {
                    let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    leaves(&path, value, into);
                }
            }
            _ => into.push(path.to_owned()),
        }
    }
}
