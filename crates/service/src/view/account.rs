//! Accounts.

use super::min_pay::MinPay;
use super::product::percent;
use super::time::Local;
use super::{ProductFacts, ProductOverview, owned};
use crate::form::fields::{
    CustomerRole, Cycle, CycleText, ExternalField, IntervalText, PercentText, StoredObject, TimeOfDayText,
};
use crate::policy::first_cycle;
use daybook_engine::calendar::Day;
use daybook_engine::change::CapTag;
use daybook_engine::installment::InstallmentPolicy;
use daybook_engine::installment::reading::Reading;
use daybook_engine::money::{Cents, Percent};
use daybook_engine::state::State;
use daybook_engine::status::Status;
use daybook_engine::terms::Terms;
use daybook_engine::time::Time;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use utoipa::ToSchema;

/// The data of an account to show. The view borrows what has the lifetime `'a`, and copies values from the rest.
#[derive(Clone, Copy, Debug)]
pub struct AccountFacts<'a, 's> {
    /// Its id.
    pub account_id: &'a str,
    /// When it was recorded.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
    /// When it takes effect.
    pub effective_at: Time,
    /// Up to which moment it is processed; `None` while its creation is held.
    pub processed_through: Option<Time>,
    /// The number of held events.
    pub held_events: u64,
    /// Its product.
    pub product: &'a ProductFacts,
    /// Its terms.
    pub terms: &'s Terms,
    /// Its state.
    pub state: &'s State,
    /// Its balances and other values at the moment of reading.
    pub reading: &'s Reading,
    /// Its customers.
    pub customers: &'a [AccountCustomer],
    /// The caller's external fields.
    pub external_fields: &'a [ExternalField],
    /// The credit limit, if it has one.
    pub credit_limit_cents: Option<i64>,
    /// For reports to credit bureaus, if given.
    pub metro2_config: Option<&'a serde_json::Value>,
}

impl AccountFacts<'_, '_> {
    /// The present date in the product's zone.
    fn today(&self) -> Day {
        self.product.zone.day_at(self.processed_through.unwrap_or(self.effective_at))
    }

    /// The yearly rate of the present date.
    fn rate(&self) -> Percent {
        if self.state.is_open() {
            self.state.loan().rates.on(self.today())
        } else {
            self.terms.installment().policy.rate
        }
    }
}

/// An account.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Account<'a> {
    /// Its id.
    pub account_id: Cow<'a, str>,
    /// When it was recorded.
    pub created_at: Local,
    /// When it last changed.
    pub updated_at: Local,
    /// When it takes effect.
    pub effective_at: Local,
    /// The moment up to which it is processed; null while its creation is held.
    pub processed_through: Option<Local>,
    /// The number of held events.
    pub held_events: u64,
    /// Its status.
    pub account_overview: AccountOverview,
    /// Its product, with the account's own values where it overrides the product's.
    pub account_product: AccountProduct<'a>,
    /// Its cycles.
    pub cycle_type: AccountCycle,
    /// The amount due and its due date.
    pub min_pay_due_cents: MinPayDue,
    /// The parts of `min_pay_due_cents.min_pay_cents`.
    pub additional_min_pay_details: MinPayDetails,
    /// How far it is past due.
    pub delinquency: Delinquency,
    /// The balances, the payments to date and the payoff.
    pub summary: Summary,
    /// Its customers.
    #[schema(value_type = Vec<AccountCustomer>)]
    pub customers: Cow<'a, [AccountCustomer]>,
    /// The caller's own fields, stored with it.
    #[schema(value_type = Vec<ExternalField>)]
    pub external_fields: Cow<'a, [ExternalField]>,
    /// For reports to credit bureaus: returned as it was given, without effect. Absent if it was not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<StoredObject>)]
    pub metro2_config: Option<Cow<'a, serde_json::Value>>,
    /// Warnings about given fields that have no effect; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A status and its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct AccountOverview {
    /// `ACTIVE`, `SUSPENDED` or `CLOSED`.
    pub account_status: &'static str,
    /// The reason; null for an account in normal service.
    pub account_status_subtype: Option<&'static str>,
    /// Whether a limit on the rate by the Servicemembers Civil Relief Act applies now; absent in a history.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_active_scra: Option<bool>,
}

impl AccountOverview {
    /// The reason of the status; empty in normal service.
    pub fn reason(&self) -> &'static str {
        self.account_status_subtype.unwrap_or_default()
    }

    /// Whether the account is charged off.
    pub fn is_charged_off(&self) -> bool {
        let charged_off = AccountOverview::from(Status::CHARGED_OFF);
        (self.account_status, self.account_status_subtype)
            == (charged_off.account_status, charged_off.account_status_subtype)
    }
}

impl From<Status> for AccountOverview {
    fn from(status: Status) -> AccountOverview {
        AccountOverview {
            account_status: status.standing().name(),
            account_status_subtype: status.reason().map(|reason| reason.name()),
            is_active_scra: None,
        }
    }
}

/// The product of an account, with the account's own values where it overrides the product's.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AccountProduct<'a> {
    /// Its id.
    pub product_id: Cow<'a, str>,
    /// Its name, type and descriptions.
    #[schema(value_type = ProductOverview)]
    pub product_overview: Cow<'a, ProductOverview>,
    /// How this account is serviced.
    pub product_lifecycle: ProductLifecycle<'a>,
    /// The number of instalments and the rate.
    pub post_promo_overview: AccountPostPromo,
}

/// How an account is serviced.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ProductLifecycle<'a> {
    /// The late fee, for the type `FLAT`.
    pub late_fee_impl_cents: i64,
    /// The maximum late fee, as a percentage of the unpaid part of the instalment.
    pub late_fee_cap_percent: Option<PercentText>,
    /// The grace period: how long after the due date an unpaid instalment becomes late.
    pub late_fee_grace: IntervalText,
    /// The fee for a payment that bounces.
    pub payment_reversal_fee_impl_cents: i64,
    /// The due date of the last instalment.
    pub loan_end_date: Local,
    /// The time zone that determines dates and times.
    pub product_time_zone: Cow<'a, str>,
}

/// The number of instalments and the rate.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AccountPostPromo {
    /// The number of instalments.
    pub post_promo_len: u32,
    /// The yearly rate.
    pub post_promo_impl_interest_rate_percent: PercentText,
}

/// The cycles of an account.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AccountCycle {
    /// The length of a cycle.
    pub cycle_interval: CycleText,
    /// The time from the end of a cycle to the due date; negative if the due date is earlier.
    pub cycle_due_interval: IntervalText,
    /// The length of the first cycle.
    pub first_cycle_interval: IntervalText,
    /// The grace period: how long after the due date an unpaid instalment becomes late.
    pub late_fee_grace: IntervalText,
    /// When a business day ends, in the product's time zone.
    pub close_of_business_time: TimeOfDayText,
}

/// The amount due and its due date. A closed account has no amount due.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct MinPayDue {
    /// The full amount of the open instalment, including the part that is already paid.
    pub statement_min_pay_cents: i64,
    /// The amount due: what has to be paid for the account to be current at the next due date.
    pub min_pay_cents: i64,
    /// The due date of the open instalment; null if there is none.
    pub min_pay_due_at: Option<Local>,
}

/// The three parts of `min_pay_cents`.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct MinPayDetails {
    /// Unpaid fees.
    pub min_pay_fees_cents: i64,
    /// The unpaid part of the open instalment.
    pub current_min_pay_cents: i64,
    /// The unpaid part of the instalments past due, without fees.
    pub unpaid_min_pay_cents: i64,
}

/// How far an account is past due.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Delinquency {
    /// Days since the oldest unpaid due date, in the product's time zone.
    pub days_past_due: i32,
    /// Unpaid interest and principal of the instalments past due, and unpaid fees and penalties that are past due.
    pub past_due_cents: i64,
    /// The unpaid fees and penalties in `past_due_cents`. They count for neither `days_past_due` nor delinquency.
    pub past_due_fees_cents: i64,
    /// The number of consecutive late instalments.
    pub consecutive_late_fees: u32,
}

impl Delinquency {
    /// Whether an instalment is past due.
    pub fn is_past_due(&self) -> bool {
        self.days_past_due > 0
    }
}

/// The balances, the payments to date and the payoff.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Summary {
    /// The total owed: principal, posted interest and fees.
    pub total_balance_cents: i64,
    /// Unpaid principal.
    pub principal_cents: i64,
    /// Posted unpaid interest.
    pub interest_balance_cents: i64,
    /// Unpaid fees.
    pub fees_balance_cents: i64,
    /// The surplus: money received and not used for any debt.
    pub surplus_cents: i64,
    /// The total of payments, less reversals.
    pub total_paid_to_date_cents: i64,
    /// The part of `total_paid_to_date_cents` that went to interest.
    pub total_interest_paid_to_date_cents: i64,
    /// The yearly rate of the present date.
    pub interest_rate_percent: PercentText,
    /// The payoff now: all balances and the accrued interest.
    pub total_payoff_cents: i64,
    /// The amount by which the payoff grows from today to tomorrow.
    pub per_diem_interest_cents: i64,
    /// The credit limit; null if it has none.
    pub credit_limit_cents: Option<i64>,
    /// The credit that can still be drawn; null for instalment loans.
    pub available_credit_cents: Option<i64>,
}

/// A customer of an account.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
pub struct AccountCustomer {
    /// The customer.
    pub customer_id: String,
    /// The customer's role on the account.
    pub customer_account_role: CustomerRole,
}

impl<'a> Account<'a> {
    /// The view of an account.
    pub fn new(facts: &AccountFacts<'a, '_>) -> Account<'a> {
        let AccountFacts { product, terms, state, reading, .. } = *facts;
        let local = |time: Time| Local::new(time, &product.zone);
        let asked = MinPay::of(state, reading);
        let loan = terms.installment();
        Account {
            account_id: facts.account_id.into(),
            created_at: local(facts.created_at),
            updated_at: local(facts.updated_at),
            effective_at: local(facts.effective_at),
            processed_through: facts.processed_through.map(local),
            held_events: facts.held_events,
            account_overview: AccountOverview {
                is_active_scra: Some(state.loan().rates.is_capped_by(CapTag::Scra, facts.today())),
                ..reading.status.into()
            },
            account_product: AccountProduct {
                product_id: product.product_id.as_str().into(),
                product_overview: Cow::Borrowed(&product.overview),
                product_lifecycle: ProductLifecycle {
                    late_fee_impl_cents: loan.policy.late_fee.flat.0,
                    late_fee_cap_percent: loan.policy.late_fee.cap.map(percent),
                    late_fee_grace: IntervalText::known(loan.policy.late_fee.grace),
                    payment_reversal_fee_impl_cents: terms.reversal_fee.0,
                    loan_end_date: local(terms.close_of(last_due_day(terms, state))),
                    product_time_zone: product.zone.name().into(),
                },
                post_promo_overview: AccountPostPromo {
                    post_promo_len: loan.count(),
                    post_promo_impl_interest_rate_percent: percent(loan.policy.rate),
                },
            },
            cycle_type: AccountCycle::new(terms, &loan.policy),
            min_pay_due_cents: MinPayDue {
                statement_min_pay_cents: asked.statement.0,
                min_pay_cents: asked.total().0,
                min_pay_due_at: asked.due_at.map(local),
            },
            additional_min_pay_details: MinPayDetails {
                min_pay_fees_cents: asked.fees.0,
                current_min_pay_cents: asked.current.0,
                unpaid_min_pay_cents: asked.unpaid.0,
            },
            delinquency: Delinquency {
                days_past_due: reading.days_past_due,
                past_due_cents: reading.past_due.0,
                past_due_fees_cents: reading.past_due_fees.0,
                consecutive_late_fees: reading.late_count,
            },
            summary: Summary::new(facts),
            customers: facts.customers.into(),
            external_fields: facts.external_fields.into(),
            metro2_config: facts.metro2_config.map(Cow::Borrowed),
            warnings: Vec::new(),
        }
    }

    /// The same view, with its own copy of everything it borrows.
    pub fn into_owned(self) -> Account<'static> {
        Account {
            account_id: owned(self.account_id),
            created_at: self.created_at,
            updated_at: self.updated_at,
            effective_at: self.effective_at,
            processed_through: self.processed_through,
            held_events: self.held_events,
            account_overview: self.account_overview,
            account_product: self.account_product.into_owned(),
            cycle_type: self.cycle_type,
            min_pay_due_cents: self.min_pay_due_cents,
            additional_min_pay_details: self.additional_min_pay_details,
            delinquency: self.delinquency,
            summary: self.summary,
            customers: owned(self.customers),
            external_fields: owned(self.external_fields),
            metro2_config: self.metro2_config.map(owned),
            warnings: self.warnings,
        }
    }

    /// Adds warnings about given fields that have no effect, for the response to its creation.
    pub fn with_warnings(self, warnings: Vec<String>) -> Account<'a> {
        Account { warnings, ..self }
    }
}

/// The due date of the last instalment, by the plan in force.
fn last_due_day(terms: &Terms, state: &State) -> Day {
    let agreed = terms.installment();
    if !state.is_open() {
        return agreed.dates.due_day(agreed.count());
    }
    let plan = &state.loan().plan;
    plan.due_day(&agreed.dates, plan.count())
}

impl AccountProduct<'_> {
    fn into_owned(self) -> AccountProduct<'static> {
        let lifecycle = self.product_lifecycle;
        AccountProduct {
            product_id: owned(self.product_id),
            product_overview: owned(self.product_overview),
            product_lifecycle: ProductLifecycle {
                late_fee_impl_cents: lifecycle.late_fee_impl_cents,
                late_fee_cap_percent: lifecycle.late_fee_cap_percent,
                late_fee_grace: lifecycle.late_fee_grace,
                payment_reversal_fee_impl_cents: lifecycle.payment_reversal_fee_impl_cents,
                loan_end_date: lifecycle.loan_end_date,
                product_time_zone: owned(lifecycle.product_time_zone),
            },
            post_promo_overview: self.post_promo_overview,
        }
    }
}

impl AccountCycle {
    fn new(terms: &Terms, policy: &InstallmentPolicy) -> AccountCycle {
        AccountCycle {
            cycle_interval: CycleText::known(match policy.semi_monthly {
                Some(_) => Cycle::SemiMonth,
                None => Cycle::Every(policy.cycle),
            }),
            cycle_due_interval: IntervalText::known(policy.due_after_cycle),
            first_cycle_interval: IntervalText::known(first_cycle(policy)),
            late_fee_grace: IntervalText::known(policy.late_fee.grace),
            close_of_business_time: TimeOfDayText::known(terms.close_of_business),
        }
    }
}

impl Summary {
    fn new(facts: &AccountFacts<'_, '_>) -> Summary {
        let (state, reading) = (facts.state, facts.reading);
        let balances = reading.balances;
        let Cents(total) = balances.owed();
        Summary {
            total_balance_cents: total,
            principal_cents: balances.principal.0,
            interest_balance_cents: balances.interest.0,
            fees_balance_cents: balances.fees.0,
            surplus_cents: balances.surplus.0,
            total_paid_to_date_cents: state.paid_total.0,
            total_interest_paid_to_date_cents: state.interest_paid_total.0,
            interest_rate_percent: percent(facts.rate()),
            total_payoff_cents: reading.payoff.0,
            per_diem_interest_cents: reading.per_diem.0,
            credit_limit_cents: facts.credit_limit_cents,
            available_credit_cents: None,
        }
    }
}
