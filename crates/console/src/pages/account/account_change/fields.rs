//! The form fields of each change to an account.

use crate::form::{Field, FieldKind};

const WHEN: Field = Field::new(
    "effective_at",
    "Effective at",
    FieldKind::Moment,
    "When it takes effect, in the product's time zone. Leave empty to use the current time of the account's clock. An \
     earlier time backdates the entry; a later time schedules it.",
);
const AMOUNT: Field = Field::new("original_amount_cents", "Amount", FieldKind::Dollars, "In dollars and cents.")
    .required()
    .hint("106.62");
const ID: Field = Field::new(
    "line_item_id",
    "Line item id",
    FieldKind::Text,
    "Your own id, unique within the account. Leave empty to generate one.",
);
const PART: Field = Field::new(
    "allocation",
    "Part of the balance",
    FieldKind::Choice(&[
        ("", "Principal (default)"),
        ("PRINCIPAL", "Principal"),
        ("INTEREST", "Interest"),
        ("FEE", "Fees"),
    ]),
    "The part of the balance that changes first.",
);

/// A received payment.
pub const PAYMENT: &[Field] = &[
    AMOUNT,
    Field::new("line_item_id", "Line item id", FieldKind::Text, "Your own id, unique within the account.").required(),
    Field::new(
        "line_item_status",
        "Status",
        FieldKind::Choice(&[
            ("", "Valid: counts now"),
            ("PENDING", "Pending: counts now, may still be declined"),
            ("AUTHORIZED", "Authorized: does not count yet"),
        ]),
        "Pending and authorized payments are confirmed or declined later.",
    ),
    WHEN,
    Field::new(
        "allocation",
        "Pay first",
        FieldKind::Choice(&[
            ("", "In the product's order"),
            ("PRINCIPAL", "Principal"),
            ("INTEREST", "Interest"),
            ("FEE", "Fees"),
        ]),
        "The debt that the payment pays before all others.",
    ),
];
/// The reversal of a payment.
pub const REVERSE: &[Field] = &[WHEN, ID];
/// The settlement of a pending payment.
pub const SETTLE: &[Field] = &[
    Field::new(
        "line_item_status",
        "New status",
        FieldKind::Choice(&[
            ("VALID", "Valid: received"),
            ("INVALID", "Invalid: declined, and any debts that it paid are owed again"),
        ]),
        "This is final.",
    )
    .required(),
    WHEN,
];
/// A manual fee.
pub const FEE: &[Field] = &[
    AMOUNT,
    Field::new(
        "fee_class",
        "Class",
        FieldKind::Choice(&[
            ("", "Fee: a charge for a service"),
            ("PENALTY", "Penalty: a charge for a breach of the terms"),
        ]),
        "Payments pay fees and penalties in the product's order.",
    ),
    WHEN,
    ID,
];
/// A waiver of a fee.
pub const WAIVE: &[Field] = &[WHEN, ID];
/// A change of the balance.
pub const OFFSET: &[Field] = &[AMOUNT, PART, WHEN, ID];
/// Every valid pair of a status and its reason, as `STATUS:REASON`.
pub const PAIRS: &[(&str, &str)] = &[
    ("ACTIVE:", "Active: in normal service"),
    ("ACTIVE:HARDSHIP", "Active, hardship"),
    ("ACTIVE:EXEMPTIONS", "Active, exemptions"),
    ("ACTIVE:HARDSHIP/EXEMPTIONS", "Active, hardship or exemptions"),
    ("ACTIVE:SCRA", "Active, SCRA (armed forces)"),
    ("SUSPENDED:DELINQUENT", "Suspended, delinquent"),
    ("SUSPENDED:BANKRUPTCY", "Suspended, bankruptcy"),
    ("SUSPENDED:FRAUD", "Suspended, fraud"),
    ("SUSPENDED:INACTIVITY", "Suspended, inactivity"),
    ("SUSPENDED:RISK_REVIEW", "Suspended, risk review"),
    ("SUSPENDED:DECEASED", "Suspended, deceased"),
    ("SUSPENDED:HARDSHIP", "Suspended, hardship"),
    ("CLOSED:CHARGE_OFF", "Closed, charged off"),
    ("CLOSED:PAID_OFF", "Closed, paid off"),
    ("CLOSED:SURPLUS_BALANCE", "Closed, surplus balance"),
    ("CLOSED:BANKRUPTCY", "Closed, bankruptcy"),
    ("CLOSED:FRAUD", "Closed, fraud"),
    ("CLOSED:INACTIVITY", "Closed, inactivity"),
    ("CLOSED:RISK", "Closed, risk"),
    ("CLOSED:CUSTOMER_REQUEST", "Closed, customer's request"),
    ("CLOSED:GRANTOR_REQUEST", "Closed, lender's request"),
    ("CLOSED:CUSTOMER_REQUEST_PENDING_PAYOFF", "Closed, customer's request, payoff pending"),
    ("CLOSED:GRANTOR_REQUEST_PENDING_PAYOFF", "Closed, lender's request, payoff pending"),
    ("CLOSED:DECEASED", "Closed, deceased"),
    ("CLOSED:SETTLEMENT", "Closed, settlement"),
    ("CLOSED:ADMINISTRATIVE", "Closed, administrative"),
];
/// The status and its reason.
pub const STATUS: &[Field] = &[
    Field::new(
        "pair",
        "Status",
        FieldKind::Choice(PAIRS),
        "The product defines what a status stops: late fees, interest, the count of late instalments, notices. On a \
         closed account, nothing happens automatically and no interest accrues; debts stay owed.",
    )
    .required(),
    WHEN,
];
/// A notification.
pub const NOTICE: &[Field] = &[
    Field::new(
        "notification_type",
        "Notice",
        FieldKind::Choice(&[
            ("payment_due_date", "Payment due date"),
            ("late_fee_date", "Late fee date"),
            ("loan_end_date", "Loan end date"),
            ("account_summary", "Account summary"),
        ]),
        "The event that the webhook announces.",
    )
    .required(),
    Field::new(
        "time_offset",
        "Days from the date",
        FieldKind::Text,
        "Not for the summary. A negative number means before the date. Each number of days is a separate notice.",
    )
    .hint("-3 days"),
    Field::new("interval", "How often", FieldKind::Text, "Only for the summary.").hint("1 month"),
    Field::new(
        "time",
        "Time of day",
        FieldKind::Text,
        "In the product's time zone. Leave empty for close of business; for a summary, for the time at which it is \
         set.",
    )
    .hint("09:00:00"),
    Field::new("enabled", "Status", FieldKind::Choice(&[("", "On"), ("false", "Off")]), ""),
    WHEN,
];
/// A roll.
pub const ROLL: &[Field] = &[
    Field::new(
        "effective_at",
        "Roll to",
        FieldKind::Moment,
        "In the product's time zone. All events up to and including this time are processed.",
    )
    .required(),
    Field::new(
        "roll_webhooks",
        "Send every webhook up to that time now",
        FieldKind::Flag,
        "If not ticked, future webhooks are sent when they are due.",
    ),
];
