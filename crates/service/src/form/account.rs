//! Accounts: terms agreed beyond those of the product, and the status.

use super::contract::{MOST_SCHEDULED, OpeningBalances, ScheduledInstallment};
use super::fields::*;
use super::product::PromoFamily;
use super::{FieldProblem, form};
use daybook_engine::status::{AccountStanding, Status};

form! {
    /// An account under a product.
    NewAccount {
        /// The product.
        product_id: Reference,
        ;
        /// The id; generated if absent.
        account_id: Id,
        /// When it takes effect; may be in the past. Default: now.
        effective_at: Moment,
        /// Amounts.
        summary: AccountSummary,
        /// Cycles, if they differ from the product's.
        cycle_type: CycleType,
        /// The number of instalments and the rate, if they differ from the product's.
        post_promo_overview: PostPromoOverview,
        /// For revolving products.
        promo_overview: PromoFamily,
        /// The amount of each instalment; the last one takes the rest. Default: it is computed.
        payment_amount_cents: Amount,
        /// By how much the last instalment is larger than the others.
        balloon_cents: Amount,
        /// The instalments are those of a loan with this many; the last one takes the rest.
        amortization_cycles: PositiveCount,
        /// The due date of the first instalment, from which the others follow.
        first_due_date: DateText,
        /// Every instalment, with its date and amount.
        #[serde(deserialize_with = "list::<_, _, MOST_SCHEDULED>")]
        #[schema(min_items = 1, max_items = 1200)]
        schedule: Vec<ScheduledInstallment>,
        /// The balances of a loan that begins on Daybook in the middle of its life, instead of
        /// `summary.initial_principal_cents`.
        opening: OpeningBalances,
        /// Its customers.
        #[serde(deserialize_with = "list::<_, _, MOST_ASSIGNED>")]
        #[schema(max_items = 100)]
        assign_customers: Vec<AssignCustomer>,
        /// The caller's own fields, stored with it.
        #[serde(deserialize_with = "list::<_, _, MOST_EXTERNAL_FIELDS>")]
        #[schema(max_items = 100)]
        external_fields: Vec<ExternalField>,
        /// Not supported.
        payment_processor_config: Ignored,
        /// Not supported.
        plaid_config: Ignored,
        /// Not supported.
        disbursements_config: Ignored,
        /// Not supported.
        payouts_config: Ignored,
        /// Not supported.
        discounts: Ignored,
        /// Not supported.
        associated_entities: Ignored,
        /// For reports to credit bureaus: stored and returned, without effect.
        metro2_config: StoredObject,
        /// Not supported.
        issuer_processor_details: Ignored,
    }
}

form! {
    /// The amounts of an account. An amount that the product also has overrides the product's.
    AccountSummary {
        ;
        /// The amount lent; required for an instalment loan without `opening`.
        initial_principal_cents: Amount,
        /// A fee charged at opening.
        origination_fee_cents: AmountOrZero,
        /// The late fee.
        late_fee_cents: AmountOrZero,
        /// The maximum late fee, as a percentage of the unpaid part of the instalment.
        late_fee_cap_percent: PercentText,
        /// The fee for a payment that bounces.
        payment_reversal_fee_cents: AmountOrZero,
        /// The credit limit.
        credit_limit_cents: AmountOrZero,
        /// Not supported: must be 0.
        annual_fee_cents: AmountOrZero,
        /// Not supported: must be 0.
        monthly_fee_cents: AmountOrZero,
        /// Not supported.
        payment_reversal_fee_cap_percent: PercentText,
    }
}

form! {
    /// The cycles of an account, if they differ from the product's.
    CycleType {
        ;
        /// The length of the first cycle.
        first_cycle_interval: IntervalText,
        /// The grace period: how long after the due date an unpaid instalment becomes late.
        late_fee_grace: IntervalText,
    }
}

form! {
    /// The number of instalments and the rate, if they differ from the product's.
    PostPromoOverview {
        ;
        /// The number of instalments.
        post_promo_len: PositiveCount,
        /// The yearly rate.
        post_promo_impl_interest_rate_percent: PercentText,
    }
}

form! {
    /// A customer of an account.
    AssignCustomer {
        /// The customer.
        customer_id: Reference,
        ;
        /// The customer's role on the account. Default: `PRIMARY`.
        customer_account_role: CustomerRole,
    }
}

form! {
    /// Sets the status of an account.
    SetStatus {
        /// The status.
        account_status: AccountStatus,
        ;
        /// The reason. Each status allows only certain reasons.
        #[serde(alias = "account_status_subtype")]
        account_substatus: AccountSubstatus,
        /// When it takes effect. Default: the account clock.
        effective_at: Moment,
    }
}

impl NewAccount {
    /// Checks the rules that apply to new accounts only.
    pub fn check(&self) -> Result<(), FieldProblem> {
        check_metro2(self.metro2_config.as_ref())
    }

    /// Names the given fields that have no effect.
    pub fn warnings(&self) -> Vec<String> {
        let promo = self.promo_overview.as_ref().map(|family| family.warnings("promo_overview"));
        let others = warnings(&[
            ("payment_processor_config", self.payment_processor_config.is_some()),
            ("plaid_config", self.plaid_config.is_some()),
            ("disbursements_config", self.disbursements_config.is_some()),
            ("payouts_config", self.payouts_config.is_some()),
            ("discounts", self.discounts.is_some()),
            ("associated_entities", self.associated_entities.is_some()),
            ("issuer_processor_details", self.issuer_processor_details.is_some()),
        ]);
        promo.into_iter().flatten().chain(others).chain(metro2_warning(self.metro2_config.is_some())).collect()
    }
}

impl SetStatus {
    /// The status, if this combination is valid.
    pub fn status(&self) -> Result<Status, FieldProblem> {
        let standing = AccountStanding::from(self.account_status);
        Status::new(standing, self.account_substatus.map(Into::into)).ok_or_else(|| {
            let names: Vec<&str> =
                standing.reasons().iter().map(|reason| reason.map_or("none", |reason| reason.name())).collect();
            let rule = format!("must be one of {} with account_status {}", names.join(", "), standing.name());
            FieldProblem::new("account_substatus", rule)
        })
    }
}
