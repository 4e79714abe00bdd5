//! The columns of the two files: the name, format and target field of each.
//!
//! Columns are named like the API fields that they fill. This table defines what the importer reads, what
//! `daybook import --columns` prints and what the guide shows.

/// The format of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Any text.
    Text,
    /// A whole number.
    Whole,
    /// A decimal number.
    Decimal,
    /// A date, or a time with an offset.
    Moment,
    /// A list, as JSON.
    List,
}

/// The target of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnTarget {
    /// A field of the account, by its path.
    Account(&'static str),
    /// A field of the customer, by its path.
    Customer(&'static str),
    /// The id of the customer.
    CustomerId,
    /// The customer's role on the account.
    Role,
    /// The time at which expected values are compared.
    ExpectedAsOf,
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// The format of its values.
    pub shape: Shape,
    /// The target of its values.
    pub target: ColumnTarget,
    /// A description.
    pub about: &'static str,
}

const fn account(name: &'static str, shape: Shape, path: &'static str, about: &'static str) -> Column {
    Column { name, shape, target: ColumnTarget::Account(path), about }
}

const fn customer(name: &'static str, about: &'static str) -> Column {
    Column { name, shape: Shape::Text, target: ColumnTarget::Customer(name), about }
}

/// The required columns of the loans file.
pub const LOAN_NEEDS: [&str; 3] = ["account_id", "effective_at", "initial_principal_cents"];
/// The required columns of a loans file with opening balances: a row has the amount lent, or its unpaid principal.
pub const OPENING_NEEDS: [&str; 2] = ["account_id", "effective_at"];
/// The column that makes the amount lent optional.
pub const OPENING_PRINCIPAL: &str = "opening.principal_cents";
/// The required columns of the payments file.
pub const PAYMENT_NEEDS: [&str; 3] = ["account_id", "original_amount_cents", "effective_at"];
/// The prefix of columns that become external fields of an account or a payment.
pub const EXTERNAL: &str = "external_fields.";
/// The prefix of columns with expected values.
pub const EXPECTED: &str = "expected_";

/// The columns of the loans file, except those with the prefix [`EXTERNAL`] or [`EXPECTED`].
pub const LOAN_COLUMNS: &[Column] = &[
    account("account_id", Shape::Text, "account_id", "the loan's id: 1 to 128 characters of A-Z a-z 0-9 . _ : ~ -"),
    account("effective_at", Shape::Moment, "effective_at", "when the loan was made"),
    account("initial_principal_cents", Shape::Whole, "summary.initial_principal_cents", "the amount lent, in cents"),
    account(
        "origination_fee_cents",
        Shape::Whole,
        "summary.origination_fee_cents",
        "a fee charged when the loan was made",
    ),
    account("late_fee_cents", Shape::Whole, "summary.late_fee_cents", "the late fee, if not the product's"),
    account("late_fee_cap_percent", Shape::Decimal, "summary.late_fee_cap_percent", "its cap, if not the product's"),
    account(
        "payment_reversal_fee_cents",
        Shape::Whole,
        "summary.payment_reversal_fee_cents",
        "the fee for a payment that bounces, if not the product's",
    ),
    account(
        "post_promo_len",
        Shape::Whole,
        "post_promo_overview.post_promo_len",
        "the number of instalments, if not the product's",
    ),
    account(
        "post_promo_impl_interest_rate_percent",
        Shape::Decimal,
        "post_promo_overview.post_promo_impl_interest_rate_percent",
        "the annual rate in percent, such as 6.2, if not the product's",
    ),
    account(
        "first_cycle_interval",
        Shape::Text,
        "cycle_type.first_cycle_interval",
        "such as `45 days`, if not the product's",
    ),
    account("late_fee_grace", Shape::Text, "cycle_type.late_fee_grace", "such as `10 days`, if not the product's"),
    account(
        "payment_amount_cents",
        Shape::Whole,
        "payment_amount_cents",
        "the amount of each instalment, in cents [computed]",
    ),
    account(
        "balloon_cents",
        Shape::Whole,
        "balloon_cents",
        "by how much the last instalment is larger than the others, in cents",
    ),
    account(
        "amortization_cycles",
        Shape::Whole,
        "amortization_cycles",
        "the instalments are those of a loan with this many; the last one takes the rest",
    ),
    account("first_due_date", Shape::Text, "first_due_date", "the first due date, such as 2025-03-15"),
    account(
        "schedule",
        Shape::List,
        "schedule",
        "every instalment, as JSON: [{\"due_date\": \"2025-03-15\", \"amount_cents\": 40803}, …]",
    ),
    account("opening.as_of", Shape::Moment, "opening.as_of", "for a loan that begins with its balances: their moment"),
    account("opening.principal_cents", Shape::Whole, "opening.principal_cents", "all unpaid principal, in cents"),
    account("opening.next_due_date", Shape::Text, "opening.next_due_date", "the next due date, such as 2025-03-15"),
    account(
        "opening.remaining_installments",
        Shape::Whole,
        "opening.remaining_installments",
        "the number of instalments to come",
    ),
    account(
        "opening.payment_amount_cents",
        Shape::Whole,
        "opening.payment_amount_cents",
        "the amount of each instalment to come, in cents [computed]",
    ),
    account(
        "opening.past_due",
        Shape::List,
        "opening.past_due",
        "the unpaid instalments that are past due, as JSON: [{\"due_date\": …, \"principal_cents\": …, \
         \"interest_cents\": …, \"total_cents\": …}, …]",
    ),
    account(
        "opening.carried_interest_cents",
        Shape::Whole,
        "opening.carried_interest_cents",
        "posted interest that no instalment has taken, in cents",
    ),
    account(
        "opening.accrued_interest_cents",
        Shape::Whole,
        "opening.accrued_interest_cents",
        "interest of the open period, in cents",
    ),
    account(
        "opening.accrued_from",
        Shape::Text,
        "opening.accrued_from",
        "the first date of the open period [the last due date]",
    ),
    account(
        "opening.fees",
        Shape::List,
        "opening.fees",
        "the unpaid fees, as JSON: [{\"line_item_id\": …, \"amount_cents\": …}, …]",
    ),
    account(
        "opening.paid_to_date.principal_cents",
        Shape::Whole,
        "opening.paid_to_date.principal_cents",
        "principal paid until then, in cents",
    ),
    account(
        "opening.paid_to_date.interest_cents",
        Shape::Whole,
        "opening.paid_to_date.interest_cents",
        "interest paid until then, in cents",
    ),
    account(
        "opening.paid_to_date.fees_cents",
        Shape::Whole,
        "opening.paid_to_date.fees_cents",
        "fees paid until then, in cents",
    ),
    account(
        "opening.received_since_due_cents",
        Shape::Whole,
        "opening.received_since_due_cents",
        "the amount received since the last due date, in cents",
    ),
    account(
        "opening.consecutive_late_fees",
        Shape::Whole,
        "opening.consecutive_late_fees",
        "the number of consecutive late instalments",
    ),
    account(
        "opening.late_fees_charged_cents",
        Shape::Whole,
        "opening.late_fees_charged_cents",
        "the late fees charged until then, in cents",
    ),
    account("opening.surplus_cents", Shape::Whole, "opening.surplus_cents", "money that paid no debt, in cents"),
    account(
        "opening.original_principal_cents",
        Shape::Whole,
        "opening.original_principal_cents",
        "the amount that was lent, in cents",
    ),
    account("opening.account_status", Shape::Text, "opening.account_status", "the status [ACTIVE]"),
    account("opening.account_substatus", Shape::Text, "opening.account_substatus", "the reason of the status"),
    Column {
        name: "customer_id",
        shape: Shape::Text,
        target: ColumnTarget::CustomerId,
        about: "the borrower's id [the account_id]; without a name, the customer must already exist",
    },
    Column {
        name: "customer_account_role",
        shape: Shape::Text,
        target: ColumnTarget::Role,
        about: "PRIMARY, SECONDARY or CARDHOLDER [PRIMARY]",
    },
    customer("name_first", "the borrower's first name"),
    customer("name_middle", "middle name"),
    customer("name_last", "last name"),
    customer("name_prefix", "a title before the name"),
    customer("name_suffix", "a suffix after the name"),
    Column {
        name: "business_name",
        shape: Shape::Text,
        target: ColumnTarget::Customer("business_details.business_name"),
        about: "the name of a borrower that is a business",
    },
    customer("email", "email address"),
    customer("phone_number", "such as +12125550123"),
    customer("date_of_birth", "such as 1980-07-31"),
    customer("ssn", "social security number; stored encrypted, never shown"),
    customer("address_line_one", "street and number"),
    customer("address_line_two", "second line of the address"),
    customer("address_city", "city"),
    customer("address_state", "state"),
    customer("address_zip", "postal code"),
    customer("address_country_code", "such as US"),
    customer("customer_type", "person or business"),
    customer("verification_status", "the result of the identity check, in your own words"),
    Column {
        name: "expected_as_of",
        shape: Shape::Moment,
        target: ColumnTarget::ExpectedAsOf,
        about: "the moment of the expected values [now]",
    },
];

/// The columns of the payments file with their descriptions, except those with the prefix [`EXTERNAL`].
pub const PAYMENT_COLUMNS: [(&str, &str); 6] = [
    ("account_id", "the loan that was paid, from the loans file"),
    ("original_amount_cents", "the amount, in cents; positive"),
    ("effective_at", "when it was paid; not before the loan and not in the future"),
    ("line_item_id", "the payment's id, unique in the loan [made from its time and amount]"),
    ("line_item_status", "VALID, PENDING, AUTHORIZED or INVALID [VALID]"),
    ("allocation", "PRINCIPAL, INTEREST or FEE: what it pays first [the product's order]"),
];

/// A value that can be expected: its column without [`EXPECTED`], and its field in an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedValue {
    /// The column, without the prefix.
    pub name: &'static str,
    /// The group of the account's fields.
    pub group: &'static str,
    /// The field in the group.
    pub field: &'static str,
    /// Whether it is text instead of a number.
    pub is_word: bool,
}

const fn number(group: &'static str, name: &'static str) -> ExpectedValue {
    ExpectedValue { name, group, field: name, is_word: false }
}

const fn word(name: &'static str, field: &'static str) -> ExpectedValue {
    ExpectedValue { name, group: "account_overview", field, is_word: true }
}

/// All values that can be expected.
pub const EXPECTED_VALUES: [ExpectedValue; 14] = [
    number("summary", "principal_cents"),
    number("summary", "total_balance_cents"),
    number("summary", "interest_balance_cents"),
    number("summary", "fees_balance_cents"),
    number("summary", "surplus_cents"),
    number("summary", "total_paid_to_date_cents"),
    number("summary", "total_interest_paid_to_date_cents"),
    number("summary", "total_payoff_cents"),
    number("summary", "per_diem_interest_cents"),
    number("delinquency", "days_past_due"),
    number("delinquency", "past_due_cents"),
    number("delinquency", "consecutive_late_fees"),
    word("status", "account_status"),
    word("substatus", "account_status_subtype"),
];

/// The expected value of a column, or `None` if it is another kind of column.
pub fn expected_value_of(column: &str) -> Option<ExpectedValue> {
    let name = column.strip_prefix(EXPECTED)?;
    EXPECTED_VALUES.into_iter().find(|outcome| outcome.name == name)
}

/// A table of all columns: the name of each, and what it means. [`NOTES`] explains the formats.
pub fn describe() -> Vec<[String; 2]> {
    let needed = |name: &str, needs: &[&str]| if needs.contains(&name) { format!("{name} *") } else { name.to_owned() };
    let row = |name: String, about: &str| [format!("  {name}"), about.to_owned()];
    let mut rows = vec![["Loans, one row each:".to_owned(), String::new()]];
    rows.extend(LOAN_COLUMNS.iter().map(|column| row(needed(column.name, &LOAN_NEEDS), column.about)));
    rows.push(row(format!("{EXTERNAL}NAME"), "your own data, stored with the account"));
    for outcome in EXPECTED_VALUES {
        let from = format!("the expected {}.{} of the account", outcome.group, outcome.field);
        rows.push(row(format!("{EXPECTED}{}", outcome.name), &from));
    }
    rows.push(Default::default());
    rows.push(["Payments, one row each:".to_owned(), String::new()]);
    rows.extend(PAYMENT_COLUMNS.iter().map(|(name, about)| row(needed(name, &PAYMENT_NEEDS), about)));
    rows.push(row(format!("{EXTERNAL}NAME"), "your own data, stored with the payment"));
    rows
}

/// The rules that apply to both files.
pub const NOTES: &str = "\
The first line names the columns, in any order. Columns with a * are required; a default is in brackets. An empty value
counts as absent. Values are separated by commas, in UTF-8. Money is a whole number of cents. A time is written
2025-02-15T09:00:00-05:00; a date alone, 2025-02-15, means the start of that day in the product's time zone.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expectations_are_found_by_their_column() {
        assert_eq!(expected_value_of("expected_principal_cents"), Some(EXPECTED_VALUES[0]));
        assert_eq!(expected_value_of("expected_status").map(|outcome| outcome.field), Some("account_status"));
        assert_eq!((expected_value_of("principal_cents"), expected_value_of("expected_joy")), (None, None));
    }

    #[test]
    fn needed_columns_are_marked() {
        let rows = describe();
        let names: Vec<&str> = rows.iter().map(|[name, _]| name.as_str()).collect();
        assert!(names.contains(&"  account_id *") && names.contains(&"  original_amount_cents *"), "{names:?}");
        assert!(names.contains(&"  expected_status") && !names.contains(&"  late_fee_cents *"), "{names:?}");
    }
}
