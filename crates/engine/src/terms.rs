//! Terms: everything agreed about an account when it was opened.
//!
//! [`Policy`] is a product's configuration, with the account's overrides applied. [`Terms`] are a checked policy
//! together with the account's date and principal and the values that follow from them, such as the level payment.
//! Terms never change. They carry the version of the rules under which they were made, so that a corrected rule does
//! not change the amounts of old accounts.

use crate::calendar::{Day, TimeOfDay};
use crate::contract::Agreed;
use crate::effects::StatusEffects;
use crate::installment::{Installment, InstallmentPolicy};
use crate::money::Cents;
use crate::time::Time;
use crate::timeline::Backdating;
use crate::validation::check_amount;
use crate::zone::Zone;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

pub use crate::validation::{EARLIEST, Invalid, LATEST};

/// The version of the rules for accounts opened today.
pub const RULES_VERSION: u16 = 3;

/// The configuration that a product gives its accounts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// The time zone of the account's calendar.
    pub zone: Zone,
    /// When a business day ends in that zone.
    pub close_of_business: TimeOfDay,
    /// How backdated inputs count.
    pub backdating: Backdating,
    /// The fee for a payment that bounces.
    pub reversal_fee: Cents,
    /// What each status of an account stops.
    pub status_effects: StatusEffects,
    /// The part that is specific to the type of product.
    pub product: ProductPolicy,
}

/// The configuration of one type of product.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProductPolicy {
    /// A sum lent once and repaid in instalments.
    Installment(InstallmentPolicy),
}

/// What is agreed for one account in addition to its product's policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// When the account takes effect.
    pub effective_at: Time,
    /// The sum lent.
    pub principal: Cents,
    /// A fee charged at opening.
    pub origination_fee: Cents,
    /// The contract's own terms, and the balances of an account that begins in the middle of its life.
    pub agreed: Agreed,
}

impl Opening {
    /// A loan on its product's terms, from its first day on.
    pub fn new(effective_at: Time, principal: Cents, origination_fee: Cents) -> Opening {
        Opening { effective_at, principal, origination_fee, agreed: Agreed::default() }
    }
}

impl Opening {
    /// When the account begins: with its first day, or with the balances that it is boarded with.
    pub fn begins_at(&self) -> Time {
        self.agreed.boarded.as_ref().map_or(self.effective_at, |boarded| boarded.as_of)
    }
}

/// Everything agreed about one account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// The version of the rules that apply to this account.
    pub rules_version: u16,
    /// The time zone of the account's calendar.
    pub zone: Zone,
    /// When a business day ends in that zone.
    pub close_of_business: TimeOfDay,
    /// How backdated inputs count.
    pub backdating: Backdating,
    /// The fee for a payment that bounces.
    pub reversal_fee: Cents,
    /// What each status of the account stops.
    pub status_effects: StatusEffects,
    /// Date, principal and fee of this account.
    pub opening: Opening,
    /// The local date of the opening.
    pub start: Day,
    /// The part that is specific to the type of product.
    pub product: ProductTerms,
}

/// The agreed terms of one type of product.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProductTerms {
    /// A sum lent once and repaid in instalments.
    Installment(Installment),
}

impl Terms {
    /// Fixes a policy for one account, or returns every rule it breaks.
    pub fn new(policy: &Policy, mut opening: Opening) -> Result<Terms, Vec<Invalid>> {
        if let Some(boarded) = &opening.agreed.boarded {
            opening.principal = boarded.principal;
        }
        let mut invalid = Vec::new();
        let start = policy.zone.day_at(opening.effective_at);
        if !(EARLIEST..=LATEST).contains(&start) {
            invalid.push(Invalid::new("effective_at", alloc::format!("must be from {EARLIEST} to {LATEST}")));
        }
        check_amount(&mut invalid, "summary.initial_principal_cents", opening.principal, Cents(1));
        check_amount(&mut invalid, "summary.origination_fee_cents", opening.origination_fee, Cents::ZERO);
        check_amount(
            &mut invalid,
            "product_lifecycle_policies.default_attributes.default_payment_reversal_fee_cents",
            policy.reversal_fee,
            Cents::ZERO,
        );
        let ProductPolicy::Installment(product) = &policy.product;
        let product = &product.for_account(&opening.agreed);
        product.check(&mut invalid);
        opening.check_agreed(product, &mut invalid);
        if !invalid.is_empty() {
            return Err(invalid);
        }
        let begins = policy.zone.day_at(opening.begins_at());
        let installment =
            Installment::agree(product, &policy.zone, start, begins, &opening.agreed, opening.principal_to_come())
                .map_err(|broken| alloc::vec![broken])?;
        let terms = Terms {
            rules_version: RULES_VERSION,
            zone: policy.zone.clone(),
            close_of_business: policy.close_of_business,
            backdating: policy.backdating,
            reversal_fee: policy.reversal_fee,
            status_effects: policy.status_effects.clone(),
            opening,
            start,
            product: ProductTerms::Installment(installment),
        };
        let broken = terms.check_moments();
        if broken.is_empty() { Ok(terms) } else { Err(broken) }
    }

    /// No moment may lie before the account begins.
    fn check_moments(&self) -> Vec<Invalid> {
        let plan = self.installment();
        let mut invalid = Vec::new();
        let past_due = self.opening.agreed.boarded.as_ref().map_or(&[][..], |boarded| &boarded.past_due);
        if past_due.iter().any(|row| self.close_of(row.due_date) >= self.begins_at()) {
            invalid.push(Invalid::new("opening.past_due", "must have due dates before as_of"));
        }
        let next = past_due.len() as u32 + 1;
        if self.close_of(plan.rows.due_day(&plan.dates, next)) < self.begins_at() {
            let is_boarded = self.opening.agreed.boarded.is_some();
            let field = if is_boarded { "opening.next_due_date" } else { "first_due_date" };
            invalid.push(Invalid::new(field, "must not be due before the account begins"));
        }
        if self.opening.agreed.boarded.is_some()
            && plan.rows.period_start(&plan.dates, next) > self.zone.day_at(self.begins_at())
        {
            invalid.push(Invalid::new("opening.accrued_from", "must not be after as_of"));
        }
        invalid
    }

    /// When the account begins: with its first day, or with the balances that it is boarded with.
    pub fn begins_at(&self) -> Time {
        self.opening.begins_at()
    }

    /// The terms of an instalment loan.
    pub fn installment(&self) -> &Installment {
        let ProductTerms::Installment(installment) = &self.product;
        installment
    }

    /// The close of business of a local date.
    pub fn close_of(&self, day: Day) -> Time {
        self.zone.at(day, self.close_of_business)
    }
}
