//! How fast the engine folds: `cargo bench -p daybook-engine`.
//!
//! Each figure is the median of many batches, with the fastest and slowest 10 % next to it; machines are noisy.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on stops")]

use daybook_engine::calendar::Day;
use daybook_engine::change::{Change, DueDateChange, InputClass, LevelPayment, RateChange, RateKind};
use daybook_engine::fold::fold;
use daybook_engine::installment::reading::read;
use daybook_engine::installment::schedule::schedule;
use daybook_engine::installment::{InstallmentPolicy, InterestMethod};
use daybook_engine::item::ItemStatus;
use daybook_engine::money::{Cents, Percent};
use daybook_engine::replay::{recalculate, replay};
use daybook_engine::snapshot;
use daybook_engine::terms::{Opening, Policy, ProductPolicy, Terms};
use daybook_engine::time::Time;
use daybook_engine::timeline::{Backdating, Entry, Input, Rank, TimelinePosition};
use daybook_engine::zone::Zone;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Keeps the memory of a fold for the next one. The C library's allocator returns it to the system after each long
/// fold, which doubles the cost.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() {
    println!("{:<58} {:>10}   {:>21}   target", "what", "median", "fastest..slowest 10%");
    let (short, long) = (Loan::new(24), Loan::new(360));
    short.whole("fold 24 months, 24 payments", Some(20.0));
    long.whole("fold 360 months, 360 payments", Some(300.0));
    let without = short.whole("fold 24 months again, for comparison", None);
    let with = short.with_changes().whole("fold 24 months, 24 payments, three changes", None);
    println!("{:<58} {:>9.2}x   {:>21}   < 1.3", "  with changes", with / without, "");
    short.backdated("replay a backdated payment, 24 months (two folds, diff)");
    long.backdated("replay a backdated payment, 360 months (two folds, diff)");
    let young = long.one_more_month("a month more from a snapshot, month 12 of 360", 12);
    let old = long.one_more_month("a month more from a snapshot, month 348 of 360", 348);
    println!("{:<58} {:>9.2}x   {:>21}   about 1", "  growth with age", old / young, "");
    short.read("read an account: payoff, per-diem, days past due");
    short.schedule("schedule with projection, 24 months");
    long.schedule("schedule with projection, 360 months");
    measure("agree terms of 24 months (level payment)", None, || Loan::terms(24));
    measure("agree terms of 360 months (level payment)", None, || Loan::terms(360));
}

/// A loan paid on time.
struct Loan {
    terms: Terms,
    entries: Vec<Entry>,
    end: Time,
}

impl Loan {
    fn terms(months: u32) -> Terms {
        let mut installment = InstallmentPolicy::new(months, Percent::parse("7.25").unwrap());
        installment.interest = InterestMethod::Daily;
        installment.late_fee.flat = Cents(1_500);
        installment.late_fee.grace = daybook_engine::calendar::Interval::days(10);
        let policy = Policy {
            zone: Zone::named("America/New_York").unwrap(),
            close_of_business: daybook_engine::calendar::TimeOfDay::END_OF_DAY,
            backdating: Backdating::AsPosted,
            reversal_fee: Cents::ZERO,
            status_effects: Default::default(),
            product: ProductPolicy::Installment(installment),
        };
        let effective_at = Time::parse("2024-01-31T09:00:00-05:00").unwrap();
        let opening = Opening::new(effective_at, Cents(25_000_000), Cents::ZERO);
        Terms::new(&policy, opening).unwrap()
    }

    fn new(months: u32) -> Loan {
        let terms = Loan::terms(months);
        let plan = terms.installment();
        let mut entries = vec![entry(1, terms.opening.effective_at, Input::Open)];
        for month in 1..=months {
            // Three days before the due date, about noon.
            let at = terms.close_of(plan.dates.due_day(month).plus_days(-3)).plus_micros(-43_200_000_000);
            let input = Input::Payment { amount: plan.plan.level, status: ItemStatus::Valid, allocation: None };
            entries.push(entry(u64::from(month) + 1, at, input));
        }
        let end = terms.close_of(plan.dates.due_day(months + 1));
        Loan { terms, entries, end }
    }

    fn whole(&self, what: &str, target: Option<f64>) -> f64 {
        measure(what, target, || replay(&self.terms, &self.entries, self.end).unwrap())
    }

    /// The same loan with a pause, another due date and another rate.
    fn with_changes(&self) -> Loan {
        let dates = &self.terms.installment().dates;
        let mut entries = self.entries.clone();
        let mut add = |month: u32, change: &dyn Fn(Day) -> Change| {
            let day = dates.due_day(month).plus_days(5);
            let input = Input::Change(Box::new(change(day)));
            let class = input.class();
            let mut made = entry(u64::from(100 + month), self.terms.close_of(day), input);
            made.place.class = class;
            entries.push(made);
        };
        let rate = |kind, from, to| {
            Change::Rate(RateChange { kind, from, to, level_payment: LevelPayment::Keep, retroactive: false })
        };
        add(6, &|day| rate(RateKind::Pause, day, Some(day.plus_days(10))));
        add(12, &|day| {
            Change::DueDate(DueDateChange {
                from_due_date: None,
                next_due_date: day.plus_days(30),
                semi_monthly_days: None,
                level_payment: LevelPayment::Keep,
                fee: Cents::ZERO,
            })
        });
        add(18, &|day| {
            Change::Rate(RateChange {
                kind: RateKind::Plain(Percent::parse("6").unwrap()),
                from: day,
                to: None,
                level_payment: LevelPayment::Recalculate,
                retroactive: false,
            })
        });
        entries.sort_by_key(|entry| entry.place);
        Loan { terms: self.terms.clone(), entries, end: self.end }
    }

    fn backdated(&self, what: &str) {
        let mut before = self.entries.clone();
        before.remove(before.len() / 2);
        measure(what, None, || recalculate(&self.terms, &before, &self.entries, self.end).unwrap());
    }

    fn one_more_month(&self, what: &str, month: u32) -> f64 {
        let dates = &self.terms.installment().dates;
        let until = self.terms.close_of(dates.due_day(month));
        let later = self.terms.close_of(dates.due_day(month + 1));
        let bytes = snapshot::write(&replay(&self.terms, &self.entries, until).unwrap().0, b"").unwrap();
        let next = &self.entries[month as usize + 1..];
        let what = format!("{what}, {} bytes", bytes.len());
        measure(&what, None, || fold(&self.terms, snapshot::read(&bytes, b"").unwrap(), next, later).unwrap())
    }

    fn read(&self, what: &str) {
        let (state, _) = replay(&self.terms, &self.entries[..12], self.end).unwrap();
        measure(what, None, || read(&self.terms, &state, self.end).unwrap());
    }

    fn schedule(&self, what: &str) {
        let at = self.entries[1].place.at;
        let (state, _) = replay(&self.terms, &self.entries, at).unwrap();
        measure(what, None, || schedule(&self.terms, &state, at).unwrap());
    }
}

fn entry(seq: u64, at: Time, input: Input) -> Entry {
    let place = TimelinePosition { at, rank: Rank::Input, class: InputClass::Other, seq };
    Entry { place, effective_at: at, scheduled: false, name: format!("entry-{seq}").as_str().into(), input }
}

/// Prints and returns the median time of one call in microseconds.
#[expect(clippy::disallowed_methods, reason = "a benchmark is about time")]
fn measure<T>(what: &str, target: Option<f64>, mut call: impl FnMut() -> T) -> f64 {
    const BATCHES: usize = 60;
    const BATCH_TIME: Duration = Duration::from_millis(8);
    let started = Instant::now();
    let mut warm_up = 0;
    while started.elapsed() < BATCH_TIME * 4 {
        black_box(call());
        warm_up += 1;
    }
    let calls = (warm_up / 4).max(1);
    let mut micros: Vec<f64> = (0..BATCHES)
        .map(|_| {
            let started = Instant::now();
            for _ in 0..calls {
                black_box(call());
            }
            started.elapsed().as_secs_f64() * 1e6 / f64::from(calls)
        })
        .collect();
    micros.sort_by(f64::total_cmp);
    let (fast, median, slow) = (micros[BATCHES / 10], micros[BATCHES / 2], micros[BATCHES * 9 / 10]);
    let target = target.map_or(String::new(), |target| format!("< {target} µs"));
    println!("{what:<58} {median:>7.2} µs   {fast:>8.2}..{slow:>8.2} µs   {target}");
    median
}
