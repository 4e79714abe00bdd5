//! Reads data that version 2 of the rules wrote.

use super::{agree, policy_of};
use crate::catalog::ProductInfo;
use crate::problem::Problem;
use crate::refold::balances_and_status::BalancesAndStatus;
use daybook_engine::calendar::{Day, Interval, MonthEnd, TimeOfDay};
use daybook_engine::effects::StatusEffects;
use daybook_engine::installment::{
    AfterMaturity, Bucket, DayCount, InstallmentPolicy, InterestMethod, LateFee, LateFeePolicy, Method, Pyramiding,
    Span, Surplus,
};
use daybook_engine::item::Name;
use daybook_engine::money::{Cents, Percent, Rounding};
use daybook_engine::status::Status;
use daybook_engine::terms::{Opening, Policy, ProductPolicy, Terms};
use daybook_engine::time::Time;
use daybook_engine::timeline::{Backdating, FeeClass};
use daybook_engine::zone::Zone;
use serde::Deserialize;

/// The versions of the state's form that builds of these rules wrote, and the number of bytes before the state itself:
/// a checksum.
const FORMS: [(u8, usize); 3] = [(2, 0), (4, 8), (7, 8)];

/// The terms under the current rules.
pub(super) fn terms(bytes: &[u8], product: &ProductInfo) -> postcard::Result<Result<Terms, Problem>> {
    let (old, _) = postcard::take_from_bytes::<OldTerms>(bytes)?;
    Ok(old.agree(product))
}

/// The balances and status of a state, without its version; `None` if it cannot be read.
pub(super) fn balances_and_status(version: u8, state: &[u8], terms: &[u8]) -> Option<BalancesAndStatus> {
    let (_, before) = FORMS.iter().find(|(known, _)| *known == version)?;
    let (state, _) = postcard::take_from_bytes::<OldState>(state.get(*before..)?).ok()?;
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
    status_effects: StatusEffects,
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
    order: Vec<Bucket>,
    span: Span,
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
    pyramiding: Pyramiding,
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
            status_effects: self.status_effects,
            product: ProductPolicy::Installment(old.onto(of_product)),
        };
        let OldOpening { effective_at, principal, origination_fee } = self.opening;
        agree(&policy, Opening::new(effective_at, principal, origination_fee))
    }
}

impl OldPolicy {
    /// Combines the account's policy with its product's policy for everything else.
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
            order: self.order,
            span: self.span,
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
                pyramiding: late.pyramiding,
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

#[derive(Deserialize)]
struct OldState {
    status: Status,
    _active_pair: Status,
    _processed_through: Option<Time>,
    _last_folded: Option<(Time, Choice, u64)>,
    _steps: u64,
    surplus: Cents,
    _surplus_uses: u32,
    _paid_total: Cents,
    _interest_paid_total: Cents,
    _turnover: Cents,
    _unsettled: Vec<(Name, OldUndecided)>,
    _decided_early: Vec<(Name, bool)>,
    _notices: Vec<OldNotice>,
    product: OldProductState,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only their places in the bytes matter")]
enum OldUndecided {
    Counts,
    Waits { amount: Cents, allocation: Option<Choice>, effective_at: Time },
    WillBeValid,
}

#[derive(Deserialize)]
struct OldNotice {
    _setting: (Choice, OldWhen, Option<TimeOfDay>, bool),
    _since: (Day, TimeOfDay, i64),
    _next: Option<(Time, u32)>,
    _fired: u32,
    _taken_over: u32,
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

/// A limit on the rate: its source, the rate, its first date, and the first date after it.
type OldCap = (Choice, Percent, Day, Option<Day>);

#[derive(Deserialize)]
struct OldLoan {
    _lent: Cents,
    principal: Cents,
    interest: Cents,
    _asks: (Vec<(u32, Cents, u64)>, u64),
    period: OldPeriod,
    _rates: (Percent, Vec<OldCap>),
    _first_row: u32,
    rows: Vec<OldRow>,
    _tail: Vec<(Day, Cents)>,
    _posted_principal: Cents,
    _posted_unpaid: Cents,
    _late_row: u32,
    _late_at: Time,
    _late_count: u32,
    _closed_at: Time,
    _charge_offs: u32,
    _receipts: Vec<OldReceipt>,
    _surplus_lots: Vec<(u64, Cents)>,
    _principal_items: Vec<OldOpenItem>,
    _interest_items: Vec<OldOpenItem>,
    fees: Vec<OldOpenFee>,
}

#[derive(Deserialize)]
struct OldPeriod {
    instalment: u32,
    _dates: (Day, Day),
    _moments: (Time, Time),
    _earning: (Choice, i128, i128),
    _principal: Cents,
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
    posted: bool,
    _excused: bool,
    _stopped: bool,
    _grace_result: Option<Choice>,
    _on_time: bool,
}

#[derive(Deserialize)]
struct OldReceipt {
    _step: u64,
    _amount: Cents,
    _begun: u32,
    _last: u32,
    _parts: Vec<(u32, Cents, bool)>,
    _used: Vec<(u32, Cents, bool)>,
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
    Surplus { number: u32 },
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
    SurplusApplied,
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
    /// All unpaid amounts of past-due instalments, and fees of ended periods or of no instalment.
    fn past_due(&self, instalments: u32) -> Cents {
        let unpaid = |row: &OldRow| row.interest - row.interest_paid + row.principal - row.principal_paid;
        let rows: Cents = self.rows.iter().take_while(|row| row.posted).map(unpaid).sum();
        let is_past_due = |fee: &&OldOpenFee| fee.instalment < self.period.instalment || fee.instalment > instalments;
        rows + self.fees.iter().filter(is_past_due).map(|fee| fee.debt.balance).sum()
    }
}
