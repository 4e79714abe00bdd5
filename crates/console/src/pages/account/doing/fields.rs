//! The form fields of each change to an account.

use crate::form::{Field, Kind};

const WHEN: Field = Field::new(
    "effective_at",
    "Effective at",
    Kind::Moment,
    "When it happened, on the clocks of the product's zone. Empty: now, on the account's own clock. Earlier: it is \
     backdated. Later: it waits until then.",
);
const AMOUNT: Field =
    Field::new("original_amount_cents", "Amount", Kind::Dollars, "In dollars and cents.").required().hint("106.62");
const ID: Field = Field::new(
    "line_item_id",
    "Line item id",
    Kind::Text,
    "Your own id for it, unique within the account. Empty: one is made.",
);
const PART: Field = Field::new(
    "allocation",
    "Part of the balance",
    Kind::Choice(&[
        ("", "Principal, unless you choose"),
        ("PRINCIPAL", "Principal"),
        ("INTEREST", "Interest"),
        ("FEE", "Fees"),
    ]),
    "Which part of the balance is meant first.",
);

/// A received payment.
pub const PAYMENT: &[Field] = &[
    AMOUNT,
    Field::new("line_item_id", "Line item id", Kind::Text, "Your own id for it, unique within the account.").required(),
    Field::new(
        "line_item_status",
        "Status",
        Kind::Choice(&[
            ("", "Valid: it counts"),
            ("PENDING", "Pending: it counts, and may still be declined"),
            ("AUTHORIZED", "Authorized: it does not count yet"),
        ]),
        "Pending and authorized payments are decided about later.",
    ),
    WHEN,
    Field::new(
        "allocation",
        "Pay first",
        Kind::Choice(&[
            ("", "By the product's order"),
            ("PRINCIPAL", "Principal"),
            ("INTEREST", "Interest"),
            ("FEE", "Fees"),
        ]),
        "What it is to be used for before anything else.",
    ),
];
/// The reversal of a payment.
pub const REVERSE: &[Field] = &[WHEN, ID];
/// The settlement of a pending payment.
pub const SETTLE: &[Field] = &[
    Field::new(
        "line_item_status",
        "From now on",
        Kind::Choice(&[("VALID", "Valid: it came in"), ("INVALID", "Invalid: it was declined, as if never made")]),
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
        Kind::Choice(&[("", "Fee: a charge for a service"), ("PENALTY", "Penalty: a charge for a fault")]),
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
    ("CLOSED:CUSTOMER_REQUEST_PENDING_PAYOFF", "Closed, customer's request, payoff to come"),
    ("CLOSED:GRANTOR_REQUEST_PENDING_PAYOFF", "Closed, lender's request, payoff to come"),
    ("CLOSED:DECEASED", "Closed, deceased"),
    ("CLOSED:SETTLEMENT", "Closed, settlement"),
    ("CLOSED:ADMINISTRATIVE", "Closed, administrative"),
];
/// The status and its reason.
pub const STATUS: &[Field] = &[
    Field::new(
        "pair",
        "Status",
        Kind::Choice(PAIRS),
        "The product says what a status stops: late fees, interest, the count of late instalments, notices. Closed: \
         nothing happens by itself any more and nothing accrues; what is owed stays owed.",
    )
    .required(),
    WHEN,
];
/// A notification.
pub const NOTICE: &[Field] = &[
    Field::new(
        "notification_type",
        "Notice",
        Kind::Choice(&[
            ("payment_due_date", "Payment due date"),
            ("late_fee_date", "Late fee date"),
            ("loan_end_date", "Loan end date"),
            ("account_summary", "Account summary"),
        ]),
        "What the webhook announces.",
    )
    .required(),
    Field::new(
        "time_offset",
        "Days from the date",
        Kind::Text,
        "For all but the summary. Negative: before. One notice for each offset.",
    )
    .hint("-3 days"),
    Field::new("interval", "How often", Kind::Text, "For the summary alone.").hint("1 month"),
    Field::new("time", "Time of day", Kind::Text, "In the product's zone. Empty: that of the event it is about.")
        .hint("09:00:00"),
    Field::new("enabled", "Switched", Kind::Choice(&[("", "On"), ("false", "Off")]), ""),
    WHEN,
];
/// A roll.
pub const ROLL: &[Field] = &[
    Field::new(
        "effective_at",
        "Roll to",
        Kind::Moment,
        "Everything up to and including this moment happens, on the clocks of the product's zone.",
    )
    .required(),
    Field::new(
        "roll_webhooks",
        "Send every webhook up to that moment now",
        Kind::Flag,
        "Not ticked: the webhooks of the future wait until their moments come.",
    ),
];
