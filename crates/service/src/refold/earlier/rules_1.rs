//! Reads data that version 1 of the rules wrote.

use super::{agree, policy_of};
use crate::catalog::ProductInfo;
use crate::problem::Problem;
use crate::refold::balances_and_status::BalancesAndStatus;
use daybook_engine::calendar::{Day, Interval, MonthEnd, TimeOfDay};
use daybook_engine::installment::{
    AfterMaturity, Bucket, DayCount, InstallmentPolicy, InterestMethod, LateFee, LateFeePolicy, Method, Span, Surplus,
};
use daybook_engine::item::Name;
use daybook_engine::money::{Cents, Percent, Rounding};
use daybook_engine::status::Status;
use daybook_engine::terms::{Opening, Policy, ProductPolicy, Terms};
use daybook_engine::time::Time;
use daybook_engine::timeline::{Backdating, FeeClass};
use daybook_engine::zone::Zone;
use serde::Deserialize;

/// The terms under the current rules.
pub(super) fn terms(bytes: &[u8], product: &ProductInfo) -> postcard::Result<Result<Terms, Problem>> {
    let (old, _) = postcard::take_from_bytes::<OldTerms>(bytes)?;
    Ok(old.agree(product))
}

/// The balances and status of a state, without its version; `None` if it cannot be read.
pub(super) fn balances_and_status(state: &[u8], terms: &[u8]) -> Option<BalancesAndStatus> {
    let (state, _) = postcard::take_from_bytes::<OldState>(state).ok()?;
    let (terms, _) = postcard::take_from_bytes::<OldTerms>(terms).ok()?;
    let OldProduct::Installment(policy) = terms.product;
    Some(state.balances_and_status(policy.instalments))
}

/// The first fields of the terms; the remaining ones were derived from them.
#[derive(Deserialize)]
struct OldTerms {
    _rules_version: u16,
    zone: Zone,
    close_of_business: TimeOfDay,
    backdating: Backdating,
    reversal_fee: Cents,
    opening: OldOpening,
    _start: Day,
    product: OldProduct,
}

#[derive(Deserialize)]
struct OldOpening {
    effective_at: Time,
    principal: Cents,
    origination_fee: Cents,
}

#[derive(Deserialize)]
enum OldProduct {
    Installment(OldPolicy),
}

#[derive(Deserialize)]
struct OldPolicy {
    instalments: u32,
    rate: Percent,
    cycle: Interval,
    first_cycle: Option<Interval>,
    due_after_cycle: Interval,
    month_end: MonthEnd,
    method: Method,
    interest_only: u32,
    instalment_rounding: Cents,
    smooth_last: bool,
    interest: InterestMethod,
    day_count: DayCount,
    rounding: Rounding,
    after_maturity: AfterMaturity,
    _order: Vec<Bucket>,
    _span: Span,
    surplus: Surplus,
    late_fee: OldLateFee,
    delinquent_after: u32,
    charge_off_after: u32,
}

#[derive(Deserialize)]
struct OldLateFee {
    grace: Interval,
    grace_counts_due_date: bool,
    kind: LateFee,
    flat: Cents,
    percent: Percent,
    least: Option<Cents>,
    most: Option<Cents>,
    cap: Option<Percent>,
}

impl OldTerms {
    fn agree(self, product: &ProductInfo) -> Result<Terms, Problem> {
        let usual = policy_of(product)?;
        let OldProduct::Installment(old) = self.product;
        let ProductPolicy::Installment(of_product) = usual.product;
        let policy = Policy {
            zone: self.zone,
            close_of_business: self.close_of_business,
            backdating: self.backdating,
            reversal_fee: self.reversal_fee,
            product: ProductPolicy::Installment(old.onto(of_product)),
            ..usual
        };
        let OldOpening { effective_at, principal, origination_fee } = self.opening;
        let opening = Opening::new(effective_at, principal, origination_fee);
        agree(&policy, opening)
    }
}

impl OldPolicy {
    /// Combines the account's policy under version 1 with its product's policy for everything else. Accounts never had
    /// their own order of payments.
    fn onto(self, product: InstallmentPolicy) -> InstallmentPolicy {
        let late = self.late_fee;
        InstallmentPolicy {
            instalments: self.instalments,
            rate: self.rate,
            cycle: self.cycle,
            first_cycle: self.first_cycle,
            due_after_cycle: self.due_after_cycle,
            month_end: self.month_end,
            method: self.method,
            interest_only: self.interest_only,
            instalment_rounding: self.instalment_rounding,
            smooth_last: self.smooth_last,
            interest: self.interest,
            day_count: self.day_count,
            rounding: self.rounding,
            interest_rounding: self.rounding,
            after_maturity: self.after_maturity,
            surplus: self.surplus,
            late_fee: LateFeePolicy {
                grace: late.grace,
                grace_counts_due_date: late.grace_counts_due_date,
                kind: late.kind,
                flat: late.flat,
                percent: late.percent,
                least: late.least,
                most: late.most,
                cap: late.cap,
                ..product.late_fee
            },
            delinquent_after: self.delinquent_after,
            charge_off_after: self.charge_off_after,
            ..product
        }
    }
}

/// An enum variant without content; its value is not used.
type Choice = u32;

/// A payment that is pending or authorized: its name and, while it is authorized, amount, allocation and time.
type OldUnsettled = (Name, Option<(Cents, Option<Choice>, Time)>);

#[derive(Deserialize)]
struct OldState {
    status: Status,
    _processed_through: Option<Time>,
    _last_folded: Option<(Time, Choice, u64)>,
    _steps: u64,
    surplus: Cents,
    _paid_total: Cents,
    _interest_paid_total: Cents,
    _turnover: Cents,
    _unsettled: Vec<OldUnsettled>,
    _decided_early: Vec<(Name, bool)>,
    _notices: Vec<OldNotice>,
    product: OldProductState,
}

#[derive(Deserialize)]
struct OldNotice {
    _setting: (Choice, OldWhen, Option<TimeOfDay>, bool),
    _since: (Day, TimeOfDay, i64),
    _next: Option<(Time, u32)>,
    _fired: u32,
}

#[derive(Deserialize)]
enum OldWhen {
    Offset(#[expect(dead_code, reason = "only its place in the bytes matters")] i32),
    Every(#[expect(dead_code, reason = "only its place in the bytes matters")] Interval),
}

#[derive(Deserialize)]
enum OldProductState {
    Installment(OldLoan),
}

#[derive(Deserialize)]
struct OldLoan {
    _lent: Cents,
    principal: Cents,
    interest: Cents,
    _level: Cents,
    _period: OldPeriod,
    first_row: u32,
    rows: Vec<OldRow>,
    _posted_principal: Cents,
    _posted_unpaid: Cents,
    _late_row: u32,
    _late_at: Time,
    _late_count: u32,
    _closed_at: Time,
    _charge_offs: u32,
    _receipts: Cents,
    _principal_items: Vec<OldOpenItem>,
    _interest_items: Vec<OldOpenItem>,
    fees: Vec<OldOpenFee>,
    _debts: u64,
}

#[derive(Deserialize)]
struct OldPeriod {
    _instalment: u32,
    _dates: (Day, Day),
    _moments: (Time, Time),
    _level: Cents,
    _earning: (Choice, i128, i128),
    _accrued: i128,
    _through: Day,
    _fixed: Option<Cents>,
    _recognised: Cents,
    _parts: u32,
}

#[derive(Deserialize)]
struct OldRow {
    interest: Cents,
    interest_paid: Cents,
    principal: Cents,
    principal_paid: Cents,
    _tail: Cents,
    _extra: Cents,
    _prepaid_interest: Cents,
    _prepaid_parts: u32,
    _fees: Cents,
    _receipts_before: Cents,
    _began_at_step: u64,
    posted: bool,
    _excused: bool,
    _on_time: bool,
}

#[derive(Deserialize)]
struct OldOpenItem {
    _id: OldItemId,
    _kind: OldItemKind,
    _order: u64,
    balance: Cents,
}

#[derive(Deserialize)]
struct OldOpenFee {
    debt: OldOpenItem,
    _class: FeeClass,
    instalment: u32,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only their places in the bytes matter")]
enum OldItemId {
    Input(Name),
    Loan,
    OriginationFee,
    Interest { period: u32, part: u32 },
    LateFee { instalment: u32 },
    ReversalPart { reversal: Name, component: Choice },
    ReversalFee { reversal: Name },
    ChargeOff { number: u32 },
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only their places in the bytes matter")]
enum OldItemKind {
    Loan,
    Interest,
    LateFee,
    OriginationFee,
    ManualFee,
    ReturnCheckFee,
    Payment,
    PaymentReversal,
    ReversalPart(Choice),
    CreditOffset,
    DebitOffset,
    FeeWaiver,
    ChargeOff,
}

impl OldState {
    fn balances_and_status(&self, instalments: u32) -> BalancesAndStatus {
        let OldProductState::Installment(loan) = &self.product;
        let fees: Cents = loan.fees.iter().map(|fee| fee.debt.balance).sum();
        BalancesAndStatus {
            status: self.status.standing().name().to_owned(),
            substatus: self.status.reason().map(|reason| reason.name().to_owned()),
            principal_cents: loan.principal.0,
            interest_cents: loan.interest.0,
            fees_cents: fees.0,
            surplus_cents: self.surplus.0,
            past_due_cents: (!self.status.is_closed()).then(|| loan.past_due(instalments).0),
        }
    }
}

impl OldLoan {
    /// All unpaid amounts of past-due instalments, and fees that belong to them or to no instalment.
    fn past_due(&self, instalments: u32) -> Cents {
        let unpaid = |row: &OldRow| row.interest - row.interest_paid + row.principal - row.principal_paid;
        let rows: Cents = self.rows.iter().take_while(|row| row.posted).map(unpaid).sum();
        let is_past_due = |instalment: u32| {
            let index = instalment.checked_sub(self.first_row).map(|index| index as usize);
            let row = index.and_then(|index| self.rows.get(index));
            instalment > instalments || row.is_some_and(|row| row.posted && unpaid(row).is_positive())
        };
        let fees = self.fees.iter().filter(|fee| is_past_due(fee.instalment)).map(|fee| fee.debt.balance);
        rows + fees.sum()
    }
}
