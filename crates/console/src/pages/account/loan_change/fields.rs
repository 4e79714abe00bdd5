//! The form fields of each change of a loan.

use crate::form::{Field, FieldKind};

const WHEN: Field = Field::new(
    "effective_at",
    "Effective at",
    FieldKind::Moment,
    "When the change takes effect, in the product's time zone. Leave empty to use the current time. A later time \
     schedules the change.",
);
const ID: Field = Field::new(
    "change_id",
    "Id of the change",
    FieldKind::Text,
    "Your own id, unique within the account. Leave empty to generate one.",
);
const FROM: Field = Field::new(
    "from_due_date",
    "From the instalment due on",
    FieldKind::Date,
    "The due date of an instalment, as the schedule shows it. Leave empty for the next instalment.",
);
const KEEP_OR: Field = Field::new(
    "level_payment",
    "Amounts of the instalments",
    FieldKind::Choice(&[
        ("", "They stay; the last instalment takes the difference (KEEP)"),
        ("RECALCULATE", "They are recalculated, so that all are about equal again"),
    ]),
    "",
);
const RECALCULATE_OR: Field = Field::new(
    "level_payment",
    "Amounts of the instalments",
    FieldKind::Choice(&[
        ("", "They are recalculated, so that all are about equal again (RECALCULATE)"),
        ("KEEP", "They stay; the last instalment takes the difference"),
    ]),
    "",
);
const RETROACTIVE: Field = Field::new(
    "retroactive",
    "Give back interest for the time that has passed",
    FieldKind::Flag,
    "Only for a start in the past, of a product that does not recalculate the past: the interest that the borrower would \
     have saved since the start is taken off.",
);
const ARREARS: &[(&str, &str)] = &[
    ("", "The first new instalments ask for it (FIRST)"),
    ("SPREAD", "All new instalments ask for it, in equal parts"),
    ("WAIVE", "It is waived: the borrower no longer owes it"),
    ("CAPITALIZE", "It becomes principal, and earns interest from then on"),
];
const ARREARS_OF_FEES: &[(&str, &str)] = &[
    ("", "They belong to the first new instalment (FIRST)"),
    ("SPREAD", "All new instalments ask for them, in equal parts"),
    ("WAIVE", "They are waived: the borrower no longer owes them"),
    ("CAPITALIZE", "They become principal, and earn interest from then on"),
];
const INTEREST_OWED: Field =
    Field::new("interest", "Interest that is owed", FieldKind::Choice(ARREARS), "What happens to it.");
const FEES_OWED: Field = Field::new("fees", "Unpaid fees", FieldKind::Choice(ARREARS_OF_FEES), "What happens to them.");
const FREQUENCY: Field = Field::new(
    "frequency",
    "Interval between the instalments",
    FieldKind::Text,
    "In months or days: 1 month, 14 days. Leave empty to keep the present interval.",
)
.hint("1 month");
const PAYMENT_AMOUNT: Field = Field::new(
    "payment_amount_cents",
    "Amount of each instalment",
    FieldKind::Dollars,
    "Leave empty to have it computed. If the amount is too small, the last instalment is larger; if it is too large, the \
     last instalments are 0.00.",
)
.hint("computed");

/// Instalments that are deferred. The instalments themselves are checkboxes, which the page makes from the schedule.
pub const DEFER: &[Field] = &[
    Field::new(
        "deferred_to",
        "To the instalment due on",
        FieldKind::Date,
        "The due date of a later instalment, which then asks for the deferred amounts as well. Leave empty for the last \
         instalment.",
    ),
    Field::new(
        "balance",
        "What is deferred",
        FieldKind::Choice(&[
            ("", "Interest, principal and fees of the instalment (ALL)"),
            ("PRINCIPAL", "Only its principal"),
            ("INTEREST", "Only its interest"),
            ("FEE", "Only its fees"),
        ]),
        "If only a part is deferred, the rest must still be paid on the due date.",
    ),
    Field::new(
        "interest_on_deferred",
        "Interest on the deferred principal",
        FieldKind::Choice(&[("", "It earns interest (ACCRUE)"), ("NONE", "It earns none until it is due again")]),
        "",
    ),
    WHEN,
    ID,
];
/// Other due dates.
pub const DUE_DATE: &[Field] = &[
    FROM,
    Field::new(
        "next_due_date",
        "New due date",
        FieldKind::Date,
        "The following instalments count from this date, by the product's cycle.",
    )
    .required(),
    KEEP_OR,
    Field::new("fee_cents", "Fee for the change", FieldKind::Dollars, "In dollars and cents. Leave empty for none.")
        .hint("0.00"),
    Field::new(
        "semi_monthly_days",
        "Days of the month",
        FieldKind::Text,
        "Only for products with two instalments a month: the two days on which instalments are due from then on, with a \
         comma between them. Leave empty to keep them.",
    )
    .hint("1, 15"),
    WHEN,
    ID,
];
/// Skipped instalments.
pub const SKIP: &[Field] = &[
    FROM,
    Field::new("count", "Number of instalments", FieldKind::Whole, "How many are skipped, from 1 to 60.").hint("1"),
    Field::new(
        "extend_term",
        "End of the loan",
        FieldKind::Choice(&[
            ("", "It moves: the loan ends later, and the amounts stay"),
            ("false", "It stays: the remaining instalments are recalculated, and are larger"),
        ]),
        "",
    ),
    WHEN,
    ID,
];
/// More instalments.
pub const EXTEND: &[Field] = &[
    Field::new("count", "Number of instalments", FieldKind::Whole, "How many are added at the end, from 1 to 600.")
        .required(),
    Field::new(
        "from_due_date",
        "Recalculated from the instalment due on",
        FieldKind::Date,
        "Leave empty to recalculate all instalments ahead.",
    ),
    WHEN,
    ID,
];
/// A rate.
pub const RATE: &[Field] = &[
    Field::new("interest_rate", "Interest rate, percent a year", FieldKind::Decimal, "Such as 9.5.").required(),
    Field::new(
        "effective_at_inclusive_start",
        "First date of the rate",
        FieldKind::Date,
        "Leave empty for today. A later date schedules the rate.",
    ),
    Field::new(
        "effective_at_exclusive_end",
        "First date after the rate",
        FieldKind::Date,
        "On this date, the rate before applies again. Leave empty if the rate has no end.",
    ),
    RECALCULATE_OR,
    RETROACTIVE,
    ID,
];
/// A limit on the rate.
pub const CAP: &[Field] = &[
    Field::new(
        "law",
        "Law",
        FieldKind::Choice(&[
            ("scra", "SCRA: Servicemembers Civil Relief Act, 6 % unless you enter another rate"),
            ("mla", "MLA: Military Lending Act, 36 % unless you enter another rate"),
        ]),
        "While the limit applies, the rate is the limit or the agreed rate, whichever is lower.",
    )
    .required(),
    Field::new("interest_rate", "Highest rate, percent a year", FieldKind::Decimal, "Leave empty for the law's rate."),
    Field::new(
        "effective_at_inclusive_start",
        "First date of the limit",
        FieldKind::Date,
        "For SCRA: the first day of military service. It can be in the past: the interest above the limit since then is \
         taken off. Leave empty for today.",
    ),
    Field::new(
        "effective_at_exclusive_end",
        "First date after the limit",
        FieldKind::Date,
        "Leave empty if the end is not known. You can cancel the limit later.",
    ),
    Field::new(
        "level_payment",
        "Amounts of the instalments",
        FieldKind::Choice(&[
            ("", "As the law asks: SCRA lowers each by the interest forgiven, MLA recalculates them"),
            ("REDUCE", "Each is lowered by the interest that the limit forgives (REDUCE)"),
            ("RECALCULATE", "They are recalculated, so that all are about equal again"),
            ("KEEP", "They stay; the last instalment takes the difference"),
        ]),
        "",
    ),
    ID,
];
/// A pause of interest.
pub const PAUSE: &[Field] = &[
    Field::new("start", "First date without interest", FieldKind::Date, "").required(),
    Field::new("end", "First date after the pause", FieldKind::Date, "Interest accrues again from this date.")
        .required(),
    KEEP_OR,
    RETROACTIVE,
    ID,
];
/// A promotion.
pub const PROMO: &[Field] = &[
    Field::new("temp_promo_inclusive_start", "First date of the promotion", FieldKind::Date, "").required(),
    Field::new("temp_promo_exclusive_end", "First date after the promotion", FieldKind::Date, "").required(),
    Field::new(
        "interest_rate_percent",
        "Interest rate, percent a year",
        FieldKind::Decimal,
        "Leave empty to keep the rate. Give a rate, a late fee, or both.",
    ),
    Field::new(
        "late_fee_cents",
        "Late fee",
        FieldKind::Dollars,
        "For instalments whose grace period ends during the promotion. Leave empty to keep the late fee.",
    ),
    KEEP_OR,
    ID,
];
/// Past-due instalments spread over those ahead.
pub const RE_AMORTIZE: &[Field] = &[
    Field::new(
        "interest",
        "Interest of the past-due instalments",
        FieldKind::Choice(&[
            ("", "The next instalments ask for it first (FIRST)"),
            ("SPREAD", "All instalments ahead ask for it, in equal parts"),
        ]),
        "Unpaid fees stay as they are.",
    ),
    WHEN,
    ID,
];
/// New instalments.
pub const RE_AGE: &[Field] = &[
    Field::new("first_due_date", "First new due date", FieldKind::Date, "").required(),
    Field::new("installments", "Number of new instalments", FieldKind::Whole, "From 1 to 1,200.").required(),
    FREQUENCY,
    PAYMENT_AMOUNT,
    INTEREST_OWED,
    FEES_OWED,
    WHEN,
    ID,
];
/// New instalments under other terms.
pub const RESTRUCTURE: &[Field] = &[
    Field::new("am_len", "Number of new instalments", FieldKind::Whole, "From 1 to 1,200.").required(),
    Field::new(
        "first_due_date",
        "First new due date",
        FieldKind::Date,
        "Leave empty for the due date of the next instalment.",
    ),
    FREQUENCY,
    Field::new(
        "interest_rate_percent",
        "Interest rate, percent a year",
        FieldKind::Decimal,
        "Leave empty to keep the rate.",
    ),
    PAYMENT_AMOUNT,
    Field::new(
        "interest_only_cycles",
        "Interest-only instalments",
        FieldKind::Whole,
        "The number of new instalments at the beginning that pay no principal.",
    )
    .hint("0"),
    Field::new(
        "principal_forgiven_cents",
        "Principal that is forgiven",
        FieldKind::Dollars,
        "The borrower no longer owes it. It is taken off before anything else.",
    )
    .hint("0.00"),
    INTEREST_OWED,
    FEES_OWED,
    WHEN,
    ID,
];
/// Interest or fees that become principal.
pub const CAPITALIZE: &[Field] = &[
    Field::new(
        "interest",
        "Interest",
        FieldKind::Choice(&[
            ("", "All interest that is owed, with that of the open period (ALL)"),
            ("POSTED", "Interest that was charged, without that of the open period"),
            ("NONE", "None"),
        ]),
        "Which interest becomes principal.",
    ),
    Field::new(
        "fees",
        "Fees",
        FieldKind::Choice(&[("", "None (NONE)"), ("ALL", "All unpaid fees")]),
        "Which fees become principal.",
    ),
    RECALCULATE_OR,
    WHEN,
    ID,
];
/// Surplus that is paid out.
pub const REFUND: &[Field] = &[
    Field::new("original_amount_cents", "Amount", FieldKind::Dollars, "At most the surplus.").required(),
    Field::new("line_item_id", "Id of the refund", FieldKind::Text, "Your own id, unique within the account.")
        .required(),
    WHEN,
];
/// A refund that came back.
pub const REFUND_REVERSAL: &[Field] = &[
    WHEN,
    Field::new(
        "line_item_id",
        "Id of the reversal",
        FieldKind::Text,
        "Your own id, unique within the account. Leave empty to generate one.",
    ),
];
