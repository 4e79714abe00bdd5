//! A product's configuration for instalments, checked.

use super::agreed::Basis;
use super::dates::Dates;
use super::in_force::PlanInForce;
use super::plan::Plan;
use crate::calendar::{Day, Interval, MonthEnd};
use crate::contract::Agreed;
use crate::money::{Cents, Percent, Rounding};
use crate::validation::Invalid;
use crate::zone::Zone;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

pub use super::buckets::{Bucket, Due, Owed, Span, Surplus};

/// The most instalments a loan may have.
pub const MOST_INSTALMENTS: u32 = 1_200;
/// A threshold that is never reached.
pub const NEVER: u32 = 99_999;

/// How the principal is spread over the instalments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Method {
    /// Equal instalments; the interest in them falls, the principal grows.
    #[default]
    Level,
    /// Equal principal; interest is added on top.
    EqualPrincipal,
    /// Equal principal and equal interest on the original principal.
    Flat,
    /// Interest is fixed when the loan is opened, see [`PrecomputedSplit`].
    Precomputed,
}

impl Method {
    /// Whether the interest of each instalment is fixed.
    pub fn keeps_interest(self) -> bool {
        matches!(self, Method::Flat | Method::Precomputed)
    }
}

/// How interest fixed at the opening is spread over the instalments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PrecomputedSplit {
    /// As in the plan of a level loan.
    #[default]
    Actuarial,
    /// In proportion to the number of instalments still to come: the rule of 78 for twelve instalments.
    SumOfDigits,
    /// Equally, as [`Method::Flat`].
    Equal,
}

/// Which precomputed interest a payoff leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PrecomputedRefund {
    /// That of periods that have not begun.
    #[default]
    NotBegun,
    /// None: all interest is owed.
    None,
}

/// When interest is rounded to whole cents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum InterestRoundingAt {
    /// At the end of each period; the fraction is dropped or rounded up there.
    #[default]
    PeriodEnd,
    /// At the end of each period; the fraction is carried to the next.
    Carry,
    /// As `Carry`; at each payment the fraction falls away.
    Payment,
    /// Each date's interest is rounded.
    Daily,
}

/// Which of the two limits on a shortfall applies if a product has both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShortfallRule {
    /// The higher one.
    #[default]
    Higher,
    /// The lower one.
    Lower,
}

/// Which instalment asks for the unpaid part of one that counts as paid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShortfallGoesTo {
    /// The next one.
    #[default]
    NextInstalment,
    /// The last one; interest goes to the next.
    LastInstalment,
}

/// How much may be missing of an instalment that counts as paid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shortfall {
    /// An amount.
    pub cents: Option<Cents>,
    /// A percentage of the instalment.
    pub percent: Option<Percent>,
    /// Which of the two applies.
    pub rule: ShortfallRule,
    /// Where the missing amount goes.
    pub goes_to: ShortfallGoesTo,
}

/// How often an account may be re-aged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReAgeLimits {
    /// How often within twelve months.
    pub per_12_months: Option<u32>,
    /// How often within sixty months.
    pub per_60_months: Option<u32>,
    /// The age of the account in months before which it may not be re-aged.
    pub min_age_months: Option<u32>,
}

/// The days of the week, for weekends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Weekday {
    /// Monday.
    Monday,
    /// Tuesday.
    Tuesday,
    /// Wednesday.
    Wednesday,
    /// Thursday.
    Thursday,
    /// Friday.
    Friday,
    /// Saturday.
    Saturday,
    /// Sunday.
    Sunday,
}

/// Where a due date moves that is not a business day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Adjust {
    /// Nowhere.
    #[default]
    None,
    /// To the next business day.
    Following,
    /// To the next business day, or back if that is in another month.
    ModifiedFollowing,
    /// To the business day before.
    Preceding,
}

/// Business days, and where other due dates move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BusinessDays {
    /// Where a due date moves.
    pub adjust: Adjust,
    /// The days of the week that are no business days.
    pub weekend: Vec<Weekday>,
    /// The dates that are no business days, rising.
    pub holidays: Vec<Day>,
}

impl Default for BusinessDays {
    fn default() -> BusinessDays {
        BusinessDays {
            adjust: Adjust::None,
            weekend: alloc::vec![Weekday::Saturday, Weekday::Sunday],
            holidays: Vec::new(),
        }
    }
}

/// One of several late fees for the same instalment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateFeeTier {
    /// How many days after the due date it is charged.
    pub after: u32,
    /// How it is computed.
    pub kind: LateFee,
    /// The amount of a flat fee.
    pub flat: Cents,
    /// The percentage, for the percent kinds.
    pub percent: Percent,
    /// The minimum fee.
    pub least: Option<Cents>,
    /// The maximum fee.
    pub most: Option<Cents>,
}

/// When interest is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum InterestMethod {
    /// Once a period, on the principal at its start.
    #[default]
    Periodic,
    /// Each day, on the principal unpaid that day.
    Daily,
}

/// Which fraction of a year a day is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DayCount {
    /// A month is a twelfth of a year; its days divide it equally.
    #[default]
    Thirty360,
    /// A day is 1/365.
    Actual365,
    /// A day is 1/360.
    Actual360,
    /// A day is 1/365, or 1/366 in a leap year.
    ActualActual,
}

/// What happens after the last due date while principal is unpaid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum AfterMaturity {
    /// Interest continues.
    #[default]
    Accrue,
    /// Interest stops.
    None,
}

/// How a late fee is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LateFee {
    /// A fixed amount.
    #[default]
    Flat,
    /// A percentage of the unpaid amount of the instalment.
    PercentOfUnpaid,
    /// A percentage of the unpaid principal of the instalment.
    PercentOfUnpaidPrincipal,
    /// A percentage of the instalment.
    PercentOfPayment,
}

/// Which payments for an instalment spare it the late fee although they paid older debts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pyramiding {
    /// Payments that went to fees and to late instalments: one missed payment costs one late fee.
    #[default]
    Receipts,
    /// Only payments that went to fees: an instalment left unpaid because its payment went to an older one is late
    /// itself.
    FeesOnly,
}

/// The rules for late fees.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateFeePolicy {
    /// How long after the due date an unpaid instalment becomes late.
    pub grace: Interval,
    /// Whether the due date is the first day of grace.
    pub grace_counts_due_date: bool,
    /// How the fee is computed.
    pub kind: LateFee,
    /// The amount of a flat fee.
    pub flat: Cents,
    /// The percentage, for the percent kinds.
    pub percent: Percent,
    /// The minimum fee.
    pub least: Option<Cents>,
    /// The maximum fee.
    pub most: Option<Cents>,
    /// The maximum fee as a percentage of the unpaid amount of the instalment.
    pub cap: Option<Percent>,
    /// Which payments spare an instalment the fee.
    pub pyramiding: Pyramiding,
    /// Several fees, by days after the due date, in place of grace and the single fee; empty if there is one fee.
    pub tiers: Vec<LateFeeTier>,
    /// The most that all late fees of a loan may come to, less those waived.
    pub loan_cap: Option<Cents>,
}

/// A product's configuration for instalments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstallmentPolicy {
    /// The number of instalments.
    pub instalments: u32,
    /// The yearly rate.
    pub rate: Percent,
    /// The length of a cycle.
    pub cycle: Interval,
    /// The length of the first cycle, if it differs.
    pub first_cycle: Option<Interval>,
    /// The interval from a cycle's end to the due date.
    pub due_after_cycle: Interval,
    /// Where a date falls in a month that is too short for it.
    pub month_end: MonthEnd,
    /// How the principal is spread.
    pub method: Method,
    /// This many instalments at the beginning are interest only.
    pub interest_only: u32,
    /// Instalments are multiples of this.
    pub instalment_rounding: Cents,
    /// Whether the level payment is adjusted once to bring the last instalment closer to it.
    pub smooth_last: bool,
    /// When interest is counted.
    pub interest: InterestMethod,
    /// Which fraction of a year a day is.
    pub day_count: DayCount,
    /// How to round half a cent.
    pub rounding: Rounding,
    /// What happens after the last due date.
    pub after_maturity: AfterMaturity,
    /// The order in which payments fill buckets; named buckets are first.
    pub order: Vec<Bucket>,
    /// In which direction the buckets are filled.
    pub span: Span,
    /// Where money goes that is left when nothing is due.
    pub surplus: Surplus,
    /// Late fees.
    pub late_fee: LateFeePolicy,
    /// This many late instalments in a row make an account delinquent.
    pub delinquent_after: u32,
    /// This many late instalments in a row charge the account off.
    pub charge_off_after: u32,
    /// The days of the month on which instalments fall due, if there are two a month; `cycle` is then not used.
    pub semi_monthly: Option<[u8; 2]>,
    /// Business days, and where other due dates move.
    pub business_days: BusinessDays,
    /// How much may be missing of an instalment that counts as paid.
    pub shortfall: Shortfall,
    /// The largest payoff that is written off; zero for none.
    pub write_off: Cents,
    /// How often an account may be re-aged.
    pub re_age_limits: ReAgeLimits,
    /// How to round interest.
    pub interest_rounding: Rounding,
    /// When to round interest.
    pub interest_rounding_at: InterestRoundingAt,
    /// How precomputed interest is spread.
    pub precomputed_split: PrecomputedSplit,
    /// Which precomputed interest a payoff leaves out.
    pub precomputed_refund: PrecomputedRefund,
}

impl InstallmentPolicy {
    /// Whether all instalments have the same fixed interest.
    pub(crate) fn keeps_equal_interest(&self) -> bool {
        let is_equal = self.precomputed_split == PrecomputedSplit::Equal;
        self.method == Method::Flat || (self.method == Method::Precomputed && is_equal)
    }

    /// The defaults, with this number of instalments and this yearly rate.
    pub fn new(instalments: u32, rate: Percent) -> InstallmentPolicy {
        InstallmentPolicy {
            instalments,
            rate,
            cycle: Interval::months(1),
            first_cycle: None,
            due_after_cycle: Interval::ZERO,
            month_end: MonthEnd::default(),
            method: Method::default(),
            interest_only: 0,
            instalment_rounding: Cents(1),
            smooth_last: false,
            interest: InterestMethod::default(),
            day_count: DayCount::default(),
            rounding: Rounding::default(),
            after_maturity: AfterMaturity::default(),
            order: Bucket::DEFAULT_ORDER.to_vec(),
            span: Span::default(),
            surplus: Surplus::default(),
            late_fee: LateFeePolicy::default(),
            delinquent_after: 1,
            charge_off_after: NEVER,
            semi_monthly: None,
            business_days: BusinessDays::default(),
            shortfall: Shortfall::default(),
            write_off: Cents::ZERO,
            re_age_limits: ReAgeLimits::default(),
            interest_rounding: Rounding::default(),
            interest_rounding_at: InterestRoundingAt::default(),
            precomputed_split: PrecomputedSplit::default(),
            precomputed_refund: PrecomputedRefund::default(),
        }
    }
}

/// The agreed terms of an instalment loan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Installment {
    /// The product's configuration.
    pub policy: InstallmentPolicy,
    /// The due dates.
    pub dates: Dates,
    /// The amount of a regular instalment.
    pub plan: Plan,
    /// The plan that the account begins with.
    pub rows: PlanInForce,
    /// The buckets of past-due and due debts, in the order in which they are filled before money is surplus.
    pub order: Vec<Bucket>,
    /// The order in which an instalment paid in advance is filled.
    pub order_ahead: [Owed; 2],
}

impl Installment {
    /// Fixes a checked policy for an account whose rows to come repay `principal`.
    pub(crate) fn agree(
        policy: &InstallmentPolicy,
        zone: &Zone,
        start: Day,
        begins: Day,
        agreed: &Agreed,
        principal: Cents,
    ) -> Result<Installment, Invalid> {
        let dates = Dates::new(policy, start, zone.missing_day());
        let basis = Basis { policy, dates: &dates, agreed, principal, begins };
        let mut rows = basis.rows()?;
        let (plan, amounts) = basis.amounts(&rows).map_err(|_| {
            Invalid::new(
                "summary.initial_principal_cents",
                "is too large for this interest rate: the interest exceeds the largest supported amount",
            )
        })?;
        rows.amounts = amounts;
        let named = policy.order.iter().copied().filter(|bucket| bucket.due != Due::Ahead);
        let left_out = Bucket::DEFAULT_ORDER.into_iter().filter(|bucket| !policy.order.contains(bucket));
        let order = named.chain(left_out).collect();
        Ok(Installment { policy: policy.clone(), dates, plan, rows, order, order_ahead: order_ahead(&policy.order) })
    }

    /// The number of instalments that were agreed.
    pub fn count(&self) -> u32 {
        self.policy.instalments
    }

    /// Whether interest is counted in a period, if `last` is the last row; after it the product decides.
    pub(crate) fn earns(&self, period: u32, last: u32) -> bool {
        let after = self.policy.after_maturity == AfterMaturity::Accrue && !self.policy.method.keeps_interest();
        period <= last || after
    }
}

/// The surplus rule decides which instalment is paid in advance, and when. The order's entries for payments in advance
/// decide what is filled first within it; without such entries interest is first.
fn order_ahead(order: &[Bucket]) -> [Owed; 2] {
    let first =
        order.iter().find(|bucket| bucket.due == Due::Ahead && matches!(bucket.owed, Owed::Interest | Owed::Principal));
    match first {
        Some(Bucket { owed: Owed::Principal, .. }) => [Owed::Principal, Owed::Interest],
        _ => [Owed::Interest, Owed::Principal],
    }
}
