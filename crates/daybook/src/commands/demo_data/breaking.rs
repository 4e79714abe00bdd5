//! Rows that are made invalid on purpose, in different ways.

/// A way to make a row invalid.
#[derive(Clone, Copy, Debug)]
pub struct Break {
    /// Whether it changes the row of the loan or the row of its second payment.
    pub in_loans: bool,
    /// The column.
    pub column: &'static str,
    /// The new value; `None` copies the value of the row above.
    pub value: Option<&'static str>,
}

const fn of_loan(column: &'static str, value: &'static str) -> Break {
    Break { in_loans: true, column, value: Some(value) }
}

const fn of_payment(column: &'static str, value: &'static str) -> Break {
    Break { in_loans: false, column, value: Some(value) }
}

/// All ways, used in turn.
pub const WAYS: [Break; 10] = [
    of_loan("initial_principal_cents", "12,000.00"),
    of_payment("account_id", "loan-nobody-has"),
    of_loan("effective_at", "2025-02-30"),
    of_payment("original_amount_cents", "-100"),
    of_loan("email", "nobody"),
    Break { in_loans: false, column: "line_item_id", value: None },
    of_loan("initial_principal_cents", ""),
    of_payment("effective_at", "1999-12-31"),
    of_loan("post_promo_impl_interest_rate_percent", "twelve"),
    of_payment("effective_at", "2999-12-31T00:00:00Z"),
];
