//! Late fees in tiers, and the limit on all late fees of a loan.
//!
//! A product may have several late fees for the same instalment, each so many days after the due date. The first takes
//! the place of the grace period: it decides whether the instalment is late. Each later one is charged if the
//! instalment is still unpaid at its own moment, unless it is spared.

use super::loan::InstalmentRow;
use super::records::TierMoment;
use super::terms::{LateFee, LateFeeTier};
use crate::item::{ItemId, ItemKind};
use crate::money::Cents;
use crate::outcome::GraceResult;
use crate::step::{FoldError, StepContext};
use crate::time::Time;
use crate::timeline::FeeClass;

impl StepContext<'_> {
    /// Sets the next moments of the late fees to the first instalment from `row` on.
    pub fn begin_late_fees(&mut self, row: u32) {
        let later = self.plan.policy.late_fee.tiers.len().saturating_sub(1);
        let at = self.fee_moment(row, 0);
        let tiers = (1..=later).map(|tier| TierMoment { row, at: self.fee_moment(row, tier) }).collect();
        let loan = self.loan();
        (loan.late_row, loan.late_at, loan.late_fees.tiers) = (row, at, tiers);
    }

    /// When a tier judges an instalment; [`Time::NEVER`] beyond the last one.
    pub fn fee_moment(&self, row: u32, tier: usize) -> Time {
        if row > self.last_row() {
            return Time::NEVER;
        }
        let (rows, dates) = (&self.state.loan().plan, &self.plan.dates);
        let day = match self.plan.policy.late_fee.tiers.get(tier) {
            Some(tier) => rows.due_day(dates, row).plus_days(tier.after as i32),
            None => rows.late_day(dates, row),
        };
        self.terms.close_of(day)
    }

    /// Sets the next moments of the tiers after the first anew, after the plan's dates changed.
    pub fn aim_tiers(&mut self) {
        for tier in 1..=self.state.loan().late_fees.tiers.len() {
            let row = self.state.loan().late_fees.tiers[tier - 1].row;
            let at = self.fee_moment(row, tier);
            self.loan().late_fees.tiers[tier - 1].at = at;
        }
    }

    /// A tier after the first judges its next instalment.
    pub fn tier_end(&mut self, tier: usize) -> Result<GraceResult, FoldError> {
        let instalment = self.state.loan().late_fees.tiers[tier - 1].row;
        let stopped = self.state.stops(self.terms).late_fees;
        let loan = self.state.loan();
        let grace_result = match loan.row(instalment) {
            Some(row) if row.unpaid().is_positive() => match row.grace_result {
                Some(result @ (GraceResult::Spared | GraceResult::Excused)) => result,
                _ if stopped => GraceResult::Stopped,
                _ if loan.received_for(instalment) >= row.asked() => GraceResult::Spared,
                _ => GraceResult::Late,
            },
            _ => GraceResult::Paid,
        };
        if grace_result == GraceResult::Late {
            self.charge_late_fee(instalment, tier)?;
        }
        self.pass_tier(tier);
        Ok(grace_result)
    }

    /// Moves a tier after the first to the next instalment.
    pub fn pass_tier(&mut self, tier: usize) {
        let row = self.state.loan().late_fees.tiers[tier - 1].row + 1;
        let at = self.fee_moment(row, tier);
        let loan = self.loan();
        loan.late_fees.tiers[tier - 1] = TierMoment { row, at };
        let oldest = loan.oldest_fee_row(loan.late_row);
        loan.drop_receipts_before(oldest);
    }

    /// Charges the late fee of a tier, as far as the limit of the loan allows.
    pub fn charge_late_fee(&mut self, instalment: u32, tier: usize) -> Result<(), FoldError> {
        let row = self.state.loan().row(instalment).copied().unwrap_or_default();
        let mut fee = self.late_fee(&row, tier)?;
        if let Some(most) = self.plan.policy.late_fee.loan_cap {
            fee = fee.min((most - self.state.loan().late_fees.charged).or_zero());
        }
        if !fee.is_positive() {
            return Ok(());
        }
        self.loan().late_fees.charged += fee;
        let id = match tier {
            0 => ItemId::LateFee { instalment },
            _ => ItemId::LateFeeTier { instalment, tier: tier as u32 + 1 },
        };
        self.charge_fee(id, ItemKind::LateFee, fee, FeeClass::Penalty, self.place.at)
    }

    fn late_fee(&self, row: &InstalmentRow, tier: usize) -> Result<Cents, FoldError> {
        let policy = &self.plan.policy.late_fee;
        let rounding = self.plan.policy.rounding;
        let LateFeeTier { kind, flat, percent, least, most, .. } = match policy.tiers.get(tier) {
            Some(tier) => *tier,
            None => LateFeeTier {
                after: 0,
                kind: policy.kind,
                flat: policy.flat,
                percent: policy.percent,
                least: policy.least,
                most: policy.most,
            },
        };
        let promo = self.state.loan().rates.late_fee_on(self.today);
        let (kind, flat) = promo.map_or((kind, flat), |flat| (LateFee::Flat, flat));
        let fee = match kind {
            LateFee::Flat => flat,
            LateFee::PercentOfUnpaid => percent.of(row.unpaid(), rounding)?,
            LateFee::PercentOfUnpaidPrincipal => percent.of(row.unpaid_principal(), rounding)?,
            LateFee::PercentOfPayment => percent.of(row.asked(), rounding)?,
        };
        // The flat fee of a promotion has no minimum and maximum.
        let fee = least.filter(|_| promo.is_none()).map_or(fee, |least| fee.max(least));
        let fee = most.filter(|_| promo.is_none()).map_or(fee, |most| fee.min(most));
        Ok(match policy.cap {
            Some(cap) => fee.min(cap.of(row.unpaid(), rounding)?),
            None => fee,
        })
    }
}
