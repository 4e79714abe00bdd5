//! The form fields of each change to an account.

use crate::form::{Field, FieldKind};

const WHEN: Field = Field::new(
    "effective_at",
    "Effective at",
    FieldKind::Moment,
    "When it takes effect, in the product's time zone. Leave empty to use the current time. An earlier time backdates the \
     entry; a later time schedules it.",
);
const AMOUNT: Field = Field::new("original_amount_cents", "Amount", FieldKind::Dollars, "In dollars and cents.")
    .required()
    .hint("106.62");
const PARTS: FieldKind = FieldKind::Choice(&[("", "Principal"), ("INTEREST", "Interest"), ("FEE", "Fees")]);

/// The id of the line item that a change creates.
const fn id(label: &'static str) -> Field {
    let help = "Your own id, unique within the account. Leave empty to generate one.";
    Field::new("line_item_id", label, FieldKind::Text, help)
}

/// A received payment.
pub const PAYMENT: &[Field] = &[
    AMOUNT,
    Field::new("line_item_id", "Id of the payment", FieldKind::Text, "Your own id, unique within the account.")
        .required(),
    Field::new(
        "line_item_status",
        "Status",
        FieldKind::Choice(&[
            ("", "Valid: it counts from its effective date"),
            ("PENDING", "Pending: it counts from its effective date, but may still be declined"),
            ("AUTHORIZED", "Authorized: it does not count until it is confirmed"),
        ]),
        "You confirm or decline a pending or authorized payment later, in the list of line items.",
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
        "The kind of debt that the payment pays before all others.",
    ),
];
/// The reversal of a payment.
pub const REVERSE: &[Field] = &[WHEN, id("Id of the reversal")];
/// The settlement of a pending payment.
pub const SETTLE: &[Field] = &[
    Field::new(
        "line_item_status",
        "New status",
        FieldKind::Choice(&[
            ("VALID", "Valid: received"),
            ("INVALID", "Invalid: declined; any debts that it paid are owed again"),
        ]),
        "You cannot change the status again.",
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
        "The product sets in which order a payment pays debts: fees and penalties can have different places in it.",
    ),
    WHEN,
    id("Id of the fee"),
];
/// A waiver of a fee.
pub const WAIVE: &[Field] = &[WHEN, id("Id of the waiver")];
/// An amount that raises the balance.
pub const CREDIT: &[Field] = &[
    AMOUNT,
    Field::new("allocation", "Raise", PARTS, "The part of the balance to which the amount is added."),
    WHEN,
    id("Id of the credit offset"),
];
/// An amount that lowers the balance.
pub const DEBIT: &[Field] = &[
    AMOUNT,
    Field::new("allocation", "Lower first", PARTS, "The kind of debt that is lowered first, before all others."),
    WHEN,
    id("Id of the debit offset"),
];
/// Every valid pair of a status and its reason, as `STATUS:REASON`.
pub const PAIRS: &[(&str, &str)] = &[
    ("ACTIVE:", "Active: in normal service"),
    ("ACTIVE:HARDSHIP", "Active, hardship"),
    ("ACTIVE:EXEMPTIONS", "Active, with exemptions"),
    ("ACTIVE:HARDSHIP/EXEMPTIONS", "Active, hardship/exemptions"),
    ("ACTIVE:SCRA", "Active, SCRA (US law that protects members of the armed forces)"),
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
        "The product sets what each status stops: late fees, interest, notices, the count of late instalments. For \
         example, the product says what an account with exemptions is exempt from; by default nothing. On a \
         closed account, no interest accrues and nothing happens automatically; its debts stay owed.",
    )
    .required(),
    WHEN,
];
/// The notices, with labels.
pub const NOTICE_KINDS: &[(&str, &str)] = &[
    ("payment_due_date", "Due date of each instalment"),
    ("late_fee_date", "End of the grace period of an unpaid instalment"),
    ("loan_end_date", "Last due date of the loan"),
    ("account_summary", "Summary of the account"),
];
/// A notification.
pub const NOTICE: &[Field] = &[
    Field::new("notification_type", "Notice", FieldKind::Choice(NOTICE_KINDS), "What the webhook is about.").required(),
    Field::new(
        "time_offset",
        "Days before or after the date",
        FieldKind::Text,
        "-3 days: three days before the date. 3 days: three days after it. You can set several notices with different \
         numbers of days. Leave empty for a summary.",
    )
    .hint("-3 days"),
    Field::new(
        "interval",
        "Interval of the summary",
        FieldKind::Text,
        "How often a summary is sent. Leave empty for all other notices.",
    )
    .hint("1 month"),
    Field::new(
        "time",
        "Time of day",
        FieldKind::Text,
        "When the notice is sent, in the product's time zone. Leave empty to send it at close of business. If you \
         leave it empty for a summary, the summary is sent at the time of day at which you save this setting.",
    )
    .hint("09:00:00"),
    Field::new(
        "enabled",
        "On or off",
        FieldKind::Choice(&[("", "On"), ("false", "Off")]),
        "Off: the notice with this number of days, or the summary, is no longer sent.",
    ),
    WHEN,
];
/// A roll.
pub const ROLL: &[Field] = &[
    Field::new(
        "effective_at",
        "Roll to",
        FieldKind::Moment,
        "In the product's time zone. Everything that falls due up to and including this time is processed.",
    )
    .required(),
    Field::new(
        "roll_webhooks",
        "Send all webhooks up to that time now",
        FieldKind::Flag,
        "If not ticked, each webhook is sent when real time reaches the time of its event.",
    ),
];
