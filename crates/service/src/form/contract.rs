//! What the contract of one account says about its instalments, and the balances that an account begins with.

use super::fields::*;
use super::form;

/// The largest number of instalments that a contract lists.
pub(crate) const MOST_SCHEDULED: usize = 1_200;
/// The largest number of past-due instalments that an account begins with.
const MOST_PAST_DUE: usize = 1_200;
/// The largest number of fees that an account begins with.
const MOST_FEES: usize = 1_000;

form! {
    /// An instalment that the contract lists. Each but the last has exactly one of the two amounts; the last takes the
    /// rest of the loan.
    ScheduledInstallment {
        /// Its due date.
        due_date: DateText,
        ;
        /// Its total: interest, and principal with the rest.
        amount_cents: AmountOrZero,
        /// Its principal; interest is added.
        principal_cents: AmountOrZero,
    }
}

form! {
    /// The balances of a loan that begins on Daybook in the middle of its life.
    OpeningBalances {
        /// The instant of the balances. Nothing before it is processed.
        as_of: Moment,
        /// All unpaid principal.
        principal_cents: Amount,
        /// The next due date.
        next_due_date: DateText,
        ;
        /// The number of instalments to come; required without a `schedule`.
        remaining_installments: InstalmentCount,
        /// The amount of each instalment to come. Default: it is computed.
        payment_amount_cents: Amount,
        /// The unpaid instalments that are past due, oldest first.
        #[serde(deserialize_with = "list::<_, _, MOST_PAST_DUE>")]
        #[schema(max_items = 1200)]
        past_due: Vec<PastDueInstallment>,
        /// Posted interest that no instalment has taken.
        carried_interest_cents: AmountOrZero,
        /// Interest of the open period up to `as_of`.
        accrued_interest_cents: AmountOrZero,
        /// The first date of the open period. Default: the last due date before `as_of`.
        accrued_from: DateText,
        /// The unpaid fees.
        #[serde(deserialize_with = "list::<_, _, MOST_FEES>")]
        #[schema(max_items = 1000)]
        fees: Vec<OpeningFee>,
        /// Payments until then, for the account's totals.
        paid_to_date: PaidToDate,
        /// The amount received since the last due date.
        received_since_due_cents: AmountOrZero,
        /// The number of consecutive late instalments.
        consecutive_late_fees: Count,
        /// The late fees that were charged until then.
        late_fees_charged_cents: AmountOrZero,
        /// Money received and not used for any debt.
        surplus_cents: AmountOrZero,
        /// The amount that was lent.
        original_principal_cents: Amount,
        /// The status. Default: `ACTIVE`.
        account_status: AccountStatus,
        /// The reason of the status.
        #[serde(alias = "account_status_subtype")]
        account_substatus: AccountSubstatus,
    }
}

form! {
    /// An unpaid instalment that is past due.
    PastDueInstallment {
        /// Its due date.
        due_date: DateText,
        ;
        /// Its unpaid principal. Default: 0.
        principal_cents: AmountOrZero,
        /// Its unpaid interest. Default: 0.
        interest_cents: AmountOrZero,
        /// The whole instalment. Default: the sum of both.
        total_cents: AmountOrZero,
    }
}

form! {
    /// An unpaid fee.
    OpeningFee {
        /// The id of its line item.
        line_item_id: Id,
        /// Its unpaid amount.
        amount_cents: Amount,
        ;
        /// Its class. Default: `FEE`.
        fee_class: FeeClassName,
        /// When it was charged.
        effective_at: Moment,
        /// The due date of the instalment that it belongs to. Default: `next_due_date`.
        due_date: DateText,
    }
}

form! {
    /// Payments until the opening, by component.
    PaidToDate {
        ;
        /// To principal.
        principal_cents: AmountOrZero,
        /// To interest.
        interest_cents: AmountOrZero,
        /// To fees.
        fees_cents: AmountOrZero,
    }
}
