//! Random products and histories, with shrinking.
//!
//! A [`Life`] is plain data: an account's terms and the acts on it. [`Life::inputs`] makes it concrete: amounts are
//! drawn around the account's real instalments and times around its real due moments, so that random histories hit edge
//! cases.

use crate::random_changes::{self, RandomChange};
use daybook_engine::calendar::{Day, Interval, MonthEnd, TimeOfDay};
use daybook_engine::effects::{StatusEffects, Stops};
use daybook_engine::installment::{
    AfterMaturity, Bucket, DayCount, Due, InstallmentPolicy, InterestMethod, LateFee, LateFeePolicy, Method, Owed,
    Pyramiding, Span, Surplus,
};
use daybook_engine::item::{Component, ItemId, ItemStatus, Name};
use daybook_engine::money::{Cents, Percent, Rounding};
use daybook_engine::notify::{NoticeKind, Setting, When};
use daybook_engine::status::{Reason, Status};
use daybook_engine::terms::{Opening, Policy, ProductPolicy, Terms};
use daybook_engine::time::Time;
use daybook_engine::timeline::{Backdating, FeeClass, Input};
use daybook_engine::zone::Zone;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

/// Zones with ordinary clock changes, changes at midnight, changes after midnight back into the previous day, half-hour
/// changes, a skipped date, and a quarter-hour offset.
pub const ZONES: [&str; 9] = [
    "America/New_York",
    "UTC",
    "America/St_Johns",
    "America/Sao_Paulo",
    "Pacific/Apia",
    "Europe/London",
    "Australia/Lord_Howe",
    "Africa/Cairo",
    "Asia/Kathmandu",
];

/// An account and the acts on it.
#[derive(Clone, Debug)]
pub struct Life {
    /// The account's terms.
    pub terms: Terms,
    /// The acts, in no particular order.
    pub acts: Vec<Act>,
}

/// An act of a person on the account.
#[derive(Clone, Debug)]
pub struct Act {
    /// When it takes effect.
    pub when: Moment,
    /// How many hours after that (negative: before) it is submitted.
    pub told_after_hours: i64,
    /// The act itself.
    pub deed: Deed,
}

/// A point in an account's life.
#[derive(Clone, Copy, Debug)]
pub enum Moment {
    /// This many seconds after an instalment's due moment.
    AroundDue {
        /// The instalment, counted from 1; wraps.
        instalment: u32,
        /// Seconds after; often 0, 1 or -1.
        seconds: i64,
    },
    /// This many hours after the opening.
    AfterOpening {
        /// Hours.
        hours: i64,
    },
}

/// The kinds of acts. Numbers that refer to another act wrap around.
#[derive(Clone, Debug)]
pub enum Deed {
    /// Pays.
    Pay { amount: Amount, status: ItemStatus, allocation: Option<Component> },
    /// Makes a payment valid or invalid.
    Decide { payment: usize, valid: bool },
    /// Reverses a payment.
    Reverse { payment: usize },
    /// Charges a fee.
    Fee { cents: i64, class: FeeClass },
    /// Waives a fee: the late fee of an instalment, or one charged by an act.
    Waive { late: Option<u32>, act: usize },
    /// Raises the balance.
    Credit { amount: Amount, component: Component },
    /// Lowers the balance.
    Debit { amount: Amount, component: Component },
    /// Sets the status.
    Set(Status),
    /// Configures a notice.
    Notify(Setting),
    /// Changes the loan.
    Change(RandomChange),
    /// Cancels a change.
    Cancel { change: usize },
}

/// An amount relative to the account's instalment or principal.
#[derive(Clone, Copy, Debug)]
pub enum Amount {
    /// Thousandths of the level payment, plus some cents.
    OfLevel { thousandths: i64, cents: i64 },
    /// Thousandths of the principal.
    OfPrincipal { thousandths: i64 },
}

/// A concrete input: when it is submitted, when it takes effect, its name, and the input.
pub type HistoryInput = (Time, Time, String, Input);

impl Life {
    /// The time up to which a test folds: well after the last instalment.
    pub fn end(&self) -> Time {
        let plan = self.terms.installment();
        self.terms.close_of(plan.dates.due_day(plan.count() + 2))
    }

    /// The concrete inputs in the order of the acts. No two take effect at the same time.
    pub fn inputs(&self) -> Vec<HistoryInput> {
        let mut taken: Vec<Time> = vec![self.terms.opening.effective_at];
        let mut told = Vec::new();
        for (index, act) in self.acts.iter().enumerate() {
            let mut at = self.time(act.when).max(self.terms.opening.effective_at);
            while taken.contains(&at) {
                at = at.plus_micros(-1).max(self.terms.opening.effective_at.plus_micros(1));
                if taken.contains(&at) {
                    at = taken.iter().max().copied().unwrap_or(at).plus_micros(1);
                }
            }
            taken.push(at);
            let told_at = at.plus_micros(act.told_after_hours * 3_600_000_000).max(self.terms.opening.effective_at);
            told.push((told_at, at, format!("act-{index}"), self.input(&act.deed, at)));
        }
        told
    }

    fn time(&self, moment: Moment) -> Time {
        match moment {
            Moment::AroundDue { instalment, seconds } => {
                let plan = self.terms.installment();
                let due = plan.dates.due_day(instalment % (plan.count() + 1) + 1);
                self.terms.close_of(due).plus_micros(seconds * 1_000_000)
            }
            Moment::AfterOpening { hours } => self.terms.opening.effective_at.plus_micros(hours * 3_600_000_000),
        }
    }

    fn cents(&self, amount: Amount) -> Cents {
        let cents = match amount {
            Amount::OfLevel { thousandths, cents } => {
                let plan = self.terms.installment().plan;
                (plan.level + plan.flat_interest).0 * thousandths / 1000 + cents
            }
            Amount::OfPrincipal { thousandths } => self.terms.opening.principal.0 / 1000 * thousandths,
        };
        Cents(cents.clamp(1, Cents::LARGEST_INPUT.0))
    }

    fn name(&self, of: usize, wanted: impl Fn(&Deed) -> bool) -> String {
        let candidates: Vec<usize> = (0..self.acts.len()).filter(|act| wanted(&self.acts[*act].deed)).collect();
        candidates.get(of % candidates.len().max(1)).map_or("nobody".into(), |act| format!("act-{act}"))
    }

    fn input(&self, deed: &Deed, at: Time) -> Input {
        let payment = |of: usize| Name::from(self.name(of, |deed| matches!(deed, Deed::Pay { .. })).as_str());
        match deed {
            Deed::Pay { amount, status, allocation } => {
                Input::Payment { amount: self.cents(*amount), status: *status, allocation: *allocation }
            }
            Deed::Decide { payment: of, valid } => Input::PaymentStatus { payment: payment(*of), valid: *valid },
            Deed::Reverse { payment: of } => Input::Reversal { payment: payment(*of) },
            Deed::Fee { cents, class } => Input::Fee { amount: Cents(*cents), class: *class },
            Deed::Waive { late: Some(instalment), .. } => {
                let instalment = instalment % self.terms.installment().count() + 1;
                Input::Waiver { fee: ItemId::LateFee { instalment } }
            }
            Deed::Waive { late: None, act } => {
                Input::Waiver { fee: ItemId::parse(&self.name(*act, |deed| matches!(deed, Deed::Fee { .. }))) }
            }
            Deed::Credit { amount, component } => Input::Credit { amount: self.cents(*amount), component: *component },
            Deed::Debit { amount, component } => Input::Debit { amount: self.cents(*amount), component: *component },
            Deed::Set(status) => Input::Status(*status),
            Deed::Notify(setting) => Input::Notify(*setting),
            Deed::Change(change) => Input::Change(Box::new(change.on(&self.terms, self.terms.zone.day_at(at)))),
            Deed::Cancel { change: of } => {
                let change = Name::from(self.name(*of, |deed| matches!(deed, Deed::Change(_))).as_str());
                Input::CancelChange { change, never_made: false }
            }
        }
    }
}

/// Any life.
pub fn life() -> impl Strategy<Value = Life> {
    (terms(), vec(act(), 0..14)).prop_map(|(terms, acts)| Life { terms, acts })
}

/// Any life of a product with this policy for backdated inputs and no fee for reversals.
pub fn life_without_reversal_fee(backdating: Backdating) -> impl Strategy<Value = Life> {
    life().prop_map(move |mut life| {
        life.terms.backdating = backdating;
        life.terms.reversal_fee = Cents::ZERO;
        life
    })
}

/// Any life of a product with backdating by replay.
pub fn replayed_life() -> impl Strategy<Value = Life> {
    life().prop_map(|mut life| {
        life.terms.backdating = Backdating::Replay;
        life
    })
}

/// Any valid terms.
pub fn terms() -> impl Strategy<Value = Terms> {
    let account = (start(), principal(), select(vec![0, 0, 0, 5_000_i64]));
    (policy(), account).prop_filter_map("dates that follow each other", |(policy, (at, principal, fee))| {
        let (day, time_of_day) = at;
        let effective_at = policy.zone.at(day, time_of_day);
        Terms::new(&policy, Opening::new(effective_at, Cents(principal), Cents(fee))).ok()
    })
}

fn start() -> impl Strategy<Value = (Day, TimeOfDay)> {
    let day = prop_oneof![
        // Month ends and leap days.
        (2019..=2025_i32, 1..=12_u32, 27..=31_u32)
            .prop_map(|(year, month, day)| { Day::from_ymd(year, month, 1).plus_days(day as i32 - 1) }),
        // Around the day that Samoa skipped.
        (0..40_i32).prop_map(|days| Day::from_ymd(2011, 11, 10).plus_days(days)),
        (0..3_000_i32).prop_map(|days| Day::from_ymd(2017, 1, 1).plus_days(days)),
    ];
    let time = select(vec![(0, 0, 0), (9, 0, 0), (12, 30, 15), (17, 0, 1), (23, 59, 59)]);
    (day, time.prop_filter_map("a time of day", |(hour, minute, second)| TimeOfDay::new(hour, minute, second)))
}

fn principal() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => 10_000..5_000_000_i64,
        1 => 1..500_i64,
        1 => select(vec![120_000, 1_000_000, 10_000_000_000_000]),
    ]
}

fn policy() -> impl Strategy<Value = Policy> {
    let zone = prop_oneof![2 => Just("America/New_York"), 3 => select(ZONES.to_vec())];
    let close = select(vec![(23, 59, 59), (23, 59, 59), (17, 0, 0), (0, 0, 0), (2, 30, 0)]);
    let backdating = select(vec![Backdating::AsPosted, Backdating::Replay]);
    (zone, close, backdating, select(vec![0, 0, 2_500_i64]), status_effects(), installment()).prop_filter_map(
        "a zone and a time of day",
        |(zone, (hour, minute, second), backdating, fee, status_effects, installment)| {
            Some(Policy {
                zone: Zone::named(zone)?,
                close_of_business: TimeOfDay::new(hour, minute, second)?,
                backdating,
                reversal_fee: Cents(fee),
                status_effects,
                product: ProductPolicy::Installment(installment),
            })
        },
    )
}

/// The defaults, or random effects for some pairs.
fn status_effects() -> impl Strategy<Value = StatusEffects> {
    let open: Vec<Status> = Status::all().filter(|status| !status.is_closed()).collect();
    let stops = any::<[bool; 4]>().prop_map(|[late_fees, interest, delinquency, notices]| Stops {
        late_fees,
        interest,
        delinquency,
        notices,
    });
    vec((select(open), stops), 0..4).prop_map(|pairs| {
        let mut effects = StatusEffects::default();
        pairs.into_iter().for_each(|(status, stops)| effects.set(status, stops));
        effects
    })
}

fn installment() -> impl Strategy<Value = InstallmentPolicy> {
    let size = (1..=9_u32, rate(), 0..=2_u32);
    let cycle = select(vec![
        Interval::months(1),
        Interval::months(1),
        Interval::days(14),
        Interval::days(7),
        Interval::days(1),
        Interval::months(3),
    ]);
    let first = option::of(select(vec![
        Interval::ZERO,
        Interval { months: 1, days: -10 },
        Interval::days(45),
        Interval::months(2),
    ]));
    let due = select(vec![Interval::ZERO, Interval::ZERO, Interval::days(10), Interval::days(-5), Interval::months(1)]);
    let dates = (
        cycle,
        option::weighted(0.3, first).prop_map(Option::flatten),
        due,
        select(vec![MonthEnd::Clamp, MonthEnd::Roll]),
    );
    let amortization = (
        prop_oneof![3 => Just(Method::Level), 1 => Just(Method::EqualPrincipal), 1 => Just(Method::Flat)],
        select(vec![1, 1, 1, 100, 500_i64]),
        any::<bool>(),
    );
    let interest = (
        select(vec![InterestMethod::Periodic, InterestMethod::Daily]),
        select(vec![DayCount::Thirty360, DayCount::Actual365, DayCount::Actual360, DayCount::ActualActual]),
        select(vec![Rounding::HalfEven, Rounding::HalfUp]),
        select(vec![AfterMaturity::Accrue, AfterMaturity::Accrue, AfterMaturity::None]),
    );
    let pouring = (
        order(),
        select(vec![Span::InstalmentsFirst, Span::InstalmentsFirst, Span::BucketFirst, Span::OldestInstalmentFirst]),
        select(vec![Surplus::LastInstalment, Surplus::NextInstalment, Surplus::ReducePrincipal]),
    );
    let late = (late_fee(), select(vec![1, 1, 2, 3_u32]), select(vec![99_999, 99_999, 2, 4_u32]));
    (size, dates, amortization, interest, pouring, late).prop_map(
        |(size, dates, amortization, interest, pouring, late)| {
            let mut policy = InstallmentPolicy::new(size.0, size.1);
            policy.interest_only = size.2.min(size.0 - 1);
            (policy.cycle, policy.first_cycle, policy.due_after_cycle, policy.month_end) = dates;
            (policy.method, policy.instalment_rounding, policy.smooth_last) =
                (amortization.0, Cents(amortization.1), amortization.2);
            (policy.interest, policy.day_count, policy.rounding, policy.after_maturity) = interest;
            policy.interest_rounding = policy.rounding;
            (policy.order, policy.span, policy.surplus) = pouring;
            (policy.late_fee, policy.delinquent_after, policy.charge_off_after) = late;
            policy
        },
    )
}

fn rate() -> impl Strategy<Value = Percent> {
    prop_oneof![
        1 => Just(Percent::ZERO),
        2 => Just(Percent::from_millionths(12_000_000)),
        4 => (0..60_000_000_u64).prop_map(Percent::from_millionths),
        1 => Just(Percent::from_millionths(999_000_000)),
    ]
}

fn order() -> impl Strategy<Value = Vec<Bucket>> {
    let mut all: Vec<Bucket> = Vec::new();
    for due in [Due::Past, Due::Now, Due::Ahead] {
        for owed in [Owed::Fee, Owed::Penalty, Owed::Interest, Owed::Principal] {
            all.push(Bucket::new(due, owed));
        }
    }
    prop_oneof![
        3 => Just(Bucket::DEFAULT_ORDER.to_vec()),
        1 => Just(all.clone()).prop_shuffle(),
        1 => (Just(all).prop_shuffle(), 0..12_usize).prop_map(|(mut order, keep)| {
            order.truncate(keep);
            order
        }),
    ]
}

fn late_fee() -> impl Strategy<Value = LateFeePolicy> {
    let grace = select(vec![
        Interval::ZERO,
        Interval::days(1),
        Interval::days(5),
        Interval::days(15),
        Interval::days(40),
        Interval::months(1),
    ]);
    let kind = select(vec![
        LateFee::Flat,
        LateFee::Flat,
        LateFee::PercentOfUnpaid,
        LateFee::PercentOfUnpaidPrincipal,
        LateFee::PercentOfPayment,
    ]);
    let percent = (1..20_000_000_u64).prop_map(Percent::from_millionths);
    let bounds = (
        option::weighted(0.3, (0..1_000_i64).prop_map(Cents)),
        option::weighted(0.3, (1_000..3_000_i64).prop_map(Cents)),
        option::weighted(0.3, (1_000_000..50_000_000_u64).prop_map(Percent::from_millionths)),
    );
    let pyramiding = select(vec![Pyramiding::Receipts, Pyramiding::FeesOnly]);
    (grace, any::<bool>(), kind, select(vec![0, 1_500, 2_900_i64]), percent, bounds, pyramiding).prop_map(
        |(grace, grace_counts_due_date, kind, flat, percent, (least, most, cap), pyramiding)| LateFeePolicy {
            grace,
            grace_counts_due_date,
            kind,
            flat: Cents(flat),
            percent,
            least,
            most,
            cap,
            pyramiding,
            ..LateFeePolicy::default()
        },
    )
}

fn act() -> impl Strategy<Value = Act> {
    let seconds = prop_oneof![
        3 => select(vec![0, 1, -1]),
        4 => -40 * 86_400..40 * 86_400_i64,
        2 => (-20..20_i64).prop_map(|days| days * 86_400),
    ];
    let when = prop_oneof![
        3 => (0..12_u32, seconds).prop_map(|(instalment, seconds)| Moment::AroundDue { instalment, seconds }),
        1 => (0..9_000_i64).prop_map(|hours| Moment::AfterOpening { hours }),
    ];
    let told = prop_oneof![5 => Just(0_i64), 2 => 0..2_000_i64, 1 => -1_000..0_i64];
    (when, told, deed()).prop_map(|(when, told_after_hours, deed)| Act { when, told_after_hours, deed })
}

fn deed() -> impl Strategy<Value = Deed> {
    let status = prop_oneof![
        6 => Just(ItemStatus::Valid),
        2 => Just(ItemStatus::Pending),
        1 => Just(ItemStatus::Authorized),
        1 => Just(ItemStatus::Invalid),
    ];
    prop_oneof![
        9 => (amount(), status, option::weighted(0.2, component()))
            .prop_map(|(amount, status, allocation)| Deed::Pay { amount, status, allocation }),
        2 => (0..20_usize, any::<bool>()).prop_map(|(payment, valid)| Deed::Decide { payment, valid }),
        3 => (0..20_usize).prop_map(|payment| Deed::Reverse { payment }),
        1 => (1..9_000_i64, select(vec![FeeClass::Fee, FeeClass::Penalty]))
            .prop_map(|(cents, class)| Deed::Fee { cents, class }),
        1 => (option::of(0..10_u32), 0..20_usize).prop_map(|(late, act)| Deed::Waive { late, act }),
        1 => (amount(), component()).prop_map(|(amount, component)| Deed::Credit { amount, component }),
        1 => (amount(), component()).prop_map(|(amount, component)| Deed::Debit { amount, component }),
        2 => status_pair().prop_map(Deed::Set),
        1 => setting().prop_map(Deed::Notify),
        5 => random_changes::change().prop_map(Deed::Change),
        1 => (0..20_usize).prop_map(|change| Deed::Cancel { change }),
    ]
}

fn amount() -> impl Strategy<Value = Amount> {
    prop_oneof![
        4 => Just(Amount::OfLevel { thousandths: 1000, cents: 0 }),
        3 => (0..4_000_i64, -3..3_i64).prop_map(|(thousandths, cents)| Amount::OfLevel { thousandths, cents }),
        2 => (1..1_500_i64).prop_map(|thousandths| Amount::OfPrincipal { thousandths }),
    ]
}

fn component() -> impl Strategy<Value = Component> {
    select(vec![Component::Principal, Component::Interest, Component::Fee])
}

fn status_pair() -> impl Strategy<Value = Status> {
    let closed = [Reason::ChargeOff, Reason::PaidOff, Reason::CustomerRequest];
    let is_drawn =
        |status: &Status| !status.is_closed() || closed.iter().any(|reason| status.reason() == Some(*reason));
    select(Status::all().filter(is_drawn).collect::<Vec<_>>())
}

/// Any notice setting.
pub fn setting() -> impl Strategy<Value = Setting> {
    let times = vec![(0, 0, 0), (2, 30, 0), (9, 0, 0), (23, 30, 0)];
    let time = option::of(select(times)).prop_map(|time| time.and_then(|(h, m, s)| TimeOfDay::new(h, m, s)));
    let about = select(vec![NoticeKind::PaymentDueDate, NoticeKind::LateFeeDate, NoticeKind::LoanEndDate]);
    let every = select(vec![Interval::days(7), Interval::days(1), Interval::months(1)]);
    let what = prop_oneof![
        3 => (about, -30..30_i32).prop_map(|(kind, days)| (kind, When::Offset(days))),
        1 => every.prop_map(|every| (NoticeKind::AccountSummary, When::Every(every))),
    ];
    (what, time, prop_oneof![4 => Just(true), 1 => Just(false)]).prop_map(|((kind, when), time, enabled)| Setting {
        kind,
        when,
        time,
        enabled,
    })
}
