//! Random changes to a running loan, for [histories](crate::history).

use daybook_engine::calendar::Day;
use daybook_engine::change::*;
use daybook_engine::money::{Cents, Percent};
use daybook_engine::terms::Terms;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

/// A change whose dates are relative to the agreed due dates or to its own date.
#[derive(Clone, Debug)]
pub enum RandomChange {
    /// Another rate, this many days from its date on, for a number of days.
    Rate { kind: RateKind, days: Option<i32>, level_payment: LevelPayment, retroactive: bool },
    /// The first row ahead, or an agreed instalment, moves by some days.
    DueDate { instalment: u32, days: i32, level_payment: LevelPayment, fee: i64 },
    /// Skips.
    Skip { count: u32, extend_term: bool },
    /// Adds instalments.
    Extension { count: u32 },
    /// Defers an agreed instalment to another, or to the last.
    Deferral { instalment: u32, to: Option<u32>, balance: DeferredBalance, accrues: bool },
    /// Spreads arrears.
    Reamortization { interest: Arrears },
    /// New instalments, this many days after its date.
    ReAge { days: i32, instalments: u32, interest: Arrears, fees: Arrears, payment_amount: Option<i64> },
    /// The same with other terms.
    Restructure { days: i32, instalments: u32, rate: Option<Percent>, interest_only: u32, forgiven: i64 },
    /// Interest or fees become principal.
    Capitalization { interest: CapitalizedInterest, fees: bool, level_payment: LevelPayment },
}

impl RandomChange {
    /// The change on a date.
    pub fn on(&self, terms: &Terms, date: Day) -> Change {
        let plan = terms.installment();
        let due_day = |instalment: u32| plan.dates.due_day(instalment % plan.count() + 1);
        match self.clone() {
            RandomChange::Rate { kind, days, level_payment, retroactive } => {
                let to = days.map(|days| date.plus_days(days));
                Change::Rate(RateChange { kind, from: date, to, level_payment, retroactive })
            }
            RandomChange::DueDate { instalment, days, level_payment, fee } => {
                let from = due_day(instalment);
                let next_due_date = from.plus_days(days);
                let fee = Cents(fee);
                let (from_due_date, semi_monthly_days) = (Some(from), None);
                Change::DueDate(DueDateChange { from_due_date, next_due_date, semi_monthly_days, level_payment, fee })
            }
            RandomChange::Skip { count, extend_term } => Change::Skip(Skip { from_due_date: None, count, extend_term }),
            RandomChange::Extension { count } => Change::Extension(Extension { count, from_due_date: None }),
            RandomChange::Deferral { instalment, to, balance, accrues } => {
                let row = DeferredRow { due_date: due_day(instalment), deferred_to: to.map(due_day), balance };
                Change::Deferral(Deferral { rows: vec![row], accrues })
            }
            RandomChange::Reamortization { interest } => Change::Reamortization(Reamortization { interest }),
            RandomChange::ReAge { days, instalments, interest, fees, payment_amount } => {
                let payment_amount = payment_amount.map(Cents);
                Change::ReAge(re_age(date, days, instalments, (interest, fees), payment_amount))
            }
            RandomChange::Restructure { days, instalments, rate, interest_only, forgiven } => {
                let re_age = re_age(date, days, instalments, (Arrears::First, Arrears::First), None);
                let interest_only = interest_only.min(instalments - 1);
                Change::Restructure(Restructure { re_age, rate, interest_only, principal_forgiven: Cents(forgiven) })
            }
            RandomChange::Capitalization { interest, fees, level_payment } => {
                Change::Capitalization(Capitalization { interest, fees, level_payment })
            }
        }
    }
}

fn re_age(
    date: Day,
    days: i32,
    instalments: u32,
    (interest, fees): (Arrears, Arrears),
    payment_amount: Option<Cents>,
) -> ReAge {
    let first_due_date = Some(date.plus_days(days));
    ReAge { first_due_date, instalments, frequency: None, interest, fees, payment_amount }
}

/// Any change.
pub fn change() -> impl Strategy<Value = RandomChange> {
    let keep_or_not = || select(vec![LevelPayment::Keep, LevelPayment::Recalculate]);
    let arrears = || select(vec![Arrears::First, Arrears::Spread, Arrears::Waive, Arrears::Capitalize]);
    let balance = select(vec![
        DeferredBalance::All,
        DeferredBalance::All,
        DeferredBalance::Principal,
        DeferredBalance::Interest,
        DeferredBalance::Fee,
    ]);
    let capitalized = select(vec![CapitalizedInterest::All, CapitalizedInterest::Posted, CapitalizedInterest::None]);
    prop_oneof![
        5 => rate(),
        2 => (0..10_u32, -20..40_i32, keep_or_not(), select(vec![0, 0, 500_i64])).prop_map(
            |(instalment, days, level_payment, fee)| RandomChange::DueDate { instalment, days, level_payment, fee }
        ),
        2 => (1..4_u32, any::<bool>()).prop_map(|(count, extend_term)| RandomChange::Skip { count, extend_term }),
        1 => (1..6_u32).prop_map(|count| RandomChange::Extension { count }),
        3 => (0..10_u32, option::of(0..10_u32), balance, any::<bool>()).prop_map(
            |(instalment, to, balance, accrues)| RandomChange::Deferral { instalment, to, balance, accrues }
        ),
        2 => select(vec![Arrears::First, Arrears::Spread]).prop_map(|interest| RandomChange::Reamortization { interest }),
        2 => (0..60_i32, 1..8_u32, arrears(), arrears(), option::weighted(0.2, 100..50_000_i64)).prop_map(
            |(days, instalments, interest, fees, payment_amount)| RandomChange::ReAge {
                days,
                instalments,
                interest,
                fees,
                payment_amount,
            }
        ),
        1 => (0..60_i32, 1..8_u32, option::of(yearly_rate()), 0..3_u32, select(vec![0, 0, 1_000, 50_000_i64])).prop_map(
            |(days, instalments, rate, interest_only, forgiven)| RandomChange::Restructure {
                days,
                instalments,
                rate,
                interest_only,
                forgiven,
            }
        ),
        1 => (capitalized, any::<bool>(), keep_or_not()).prop_map(|(interest, fees, level_payment)| {
            RandomChange::Capitalization { interest, fees, level_payment }
        }),
    ]
}

fn yearly_rate() -> impl Strategy<Value = Percent> {
    (0..60_u64).prop_map(|percent| Percent::from_millionths(percent * 1_000_000))
}

fn rate() -> impl Strategy<Value = RandomChange> {
    let law = select(vec![CapTag::Scra, CapTag::Mla]);
    let kind = prop_oneof![
        3 => yearly_rate().prop_map(RateKind::Plain),
        3 => (law, yearly_rate()).prop_map(|(tag, rate)| RateKind::Cap { tag, rate }),
        2 => Just(RateKind::Pause),
        1 => (option::of(yearly_rate()), option::of(0..3_000_i64)).prop_map(|(rate, late_fee)| RateKind::Promo {
            rate,
            late_fee: late_fee.map(Cents)
        }),
    ];
    let level_payment = select(vec![LevelPayment::Keep, LevelPayment::Recalculate, LevelPayment::Reduce]);
    (kind, option::of(0..90_i32), level_payment, any::<bool>()).prop_map(|(kind, days, level_payment, retroactive)| {
        let is_law = matches!(kind, RateKind::Cap { .. });
        let level_payment =
            if level_payment == LevelPayment::Reduce && !is_law { LevelPayment::Keep } else { level_payment };
        RandomChange::Rate { kind, days, level_payment, retroactive }
    })
}
