//! `daybook bench engine`: folds loans in memory.
//!
//! | figure | what is computed |
//! |---|---|
//! | fold | an account from all its inputs, up to the month after its last instalment |
//! | backdated | the same account without and with a payment in the middle, and every difference, as the service does |
//!
//! The measurements alternate, batch by batch, so a slow phase of the machine affects all of them. A fold is the limit
//! of a backdated payment.

use super::report;
use crate::cli::BenchEngineArgs;
use crate::commands::Failure;
use daybook_clock::Stopwatch;
use daybook_engine::calendar::{Interval, TimeOfDay};
use daybook_engine::change::InputClass;
use daybook_engine::installment::{InstallmentPolicy, InterestMethod};
use daybook_engine::item::ItemStatus;
use daybook_engine::money::{Cents, Percent};
use daybook_engine::replay::{recalculate, replay};
use daybook_engine::terms::{Opening, Policy, ProductPolicy, Terms};
use daybook_engine::time::Time;
use daybook_engine::timeline::{Backdating, Entry, Input, Rank, TimelinePosition};
use daybook_engine::zone::Zone;
use serde_json::json;
use std::hint::black_box;
use std::time::Duration;

/// Runs the benchmark and prints the results.
pub fn run(args: &BenchEngineArgs) -> Result<(), Failure> {
    let (short, long) = (Loan::new(24)?, Loan::new(360)?);
    let works: [&dyn Fn() -> Option<()>; 4] =
        [&|| short.fold(), &|| short.backdated(), &|| long.fold(), &|| long.backdated()];
    let mut batches = [const { Vec::new() }; 4];
    let batch_time = Duration::from_millis(args.batch_ms);
    // The first batch warms up.
    for batch in 0..=args.batches {
        for (work, micros) in works.iter().zip(&mut batches) {
            let each = micros_each(work, batch_time)?;
            if batch > 0 {
                micros.push(each);
            }
        }
    }
    let [fold_24, backdated_24, fold_360, backdated_360] = batches.map(median);
    let figures = json!({
        "fold_24_us": fold_24, "backdated_24_us": backdated_24, "backdated_24_ratio": backdated_24 / fold_24,
        "fold_360_us": fold_360, "backdated_360_us": backdated_360, "backdated_360_ratio": backdated_360 / fold_360,
    });
    let line = |months: u64, fold: f64, backdated: f64| {
        let times = backdated / fold;
        format!("{months:>3} months  fold {fold:.1} µs, a backdated payment {backdated:.1} µs: {times:.2} folds")
    };
    report(args.json, &figures, &[line(24, fold_24, backdated_24), line(360, fold_360, backdated_360)])
}

/// The time of one call, in microseconds, over a batch of calls.
fn micros_each(work: &dyn Fn() -> Option<()>, batch_time: Duration) -> Result<f64, Failure> {
    let watch = Stopwatch::start();
    let mut calls = 0;
    while calls == 0 || watch.elapsed() < batch_time {
        work().ok_or_else(|| Failure::Failed("the loan cannot be folded".to_owned()))?;
        calls += 1;
    }
    Ok(watch.elapsed().as_secs_f64() * 1e6 / f64::from(calls))
}

fn median(mut micros: Vec<f64>) -> f64 {
    micros.sort_unstable_by(f64::total_cmp);
    micros.get(micros.len() / 2).copied().unwrap_or(0.0)
}

/// A loan that is paid on time, with daily interest.
struct Loan {
    terms: Terms,
    entries: Vec<Entry>,
    /// The entries without a payment in the middle.
    without_one: Vec<Entry>,
    end: Time,
}

impl Loan {
    fn new(months: u32) -> Result<Loan, Failure> {
        let terms = terms(months).ok_or_else(|| Failure::Failed("the terms of the loan are invalid".to_owned()))?;
        let plan = terms.installment();
        let mut entries = vec![entry(1, terms.opening.effective_at, Input::Open)];
        for month in 1..=months {
            // Three days before the due date, about noon.
            let at = terms.close_of(plan.dates.due_day(month).plus_days(-3)).plus_micros(-43_200_000_000);
            let input = Input::Payment { amount: plan.plan.level, status: ItemStatus::Valid, allocation: None };
            entries.push(entry(u64::from(month) + 1, at, input));
        }
        let end = terms.close_of(plan.dates.due_day(months + 1));
        let mut without_one = entries.clone();
        without_one.remove(entries.len() / 2);
        Ok(Loan { terms, entries, without_one, end })
    }

    fn fold(&self) -> Option<()> {
        black_box(replay(&self.terms, &self.entries, self.end).ok()?);
        Some(())
    }

    fn backdated(&self) -> Option<()> {
        black_box(recalculate(&self.terms, &self.without_one, &self.entries, self.end).ok()?);
        Some(())
    }
}

fn terms(months: u32) -> Option<Terms> {
    let mut installment = InstallmentPolicy::new(months, Percent::parse("7.25")?);
    installment.interest = InterestMethod::Daily;
    installment.late_fee.flat = Cents(1_500);
    installment.late_fee.grace = Interval::days(10);
    let policy = Policy {
        zone: Zone::named("America/New_York")?,
        close_of_business: TimeOfDay::END_OF_DAY,
        backdating: Backdating::AsPosted,
        reversal_fee: Cents::ZERO,
        status_effects: Default::default(),
        product: ProductPolicy::Installment(installment),
    };
    let effective_at = Time::parse("2024-01-31T09:00:00-05:00")?;
    let opening = Opening::new(effective_at, Cents(25_000_000), Cents::ZERO);
    Terms::new(&policy, opening).ok()
}

fn entry(seq: u64, at: Time, input: Input) -> Entry {
    let place = TimelinePosition { at, rank: Rank::Input, class: InputClass::Other, seq };
    Entry { place, effective_at: at, scheduled: false, name: format!("entry-{seq}").as_str().into(), input }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loans_can_be_folded() {
        for months in [24, 360] {
            let loan = Loan::new(months).expect("a loan");
            assert_eq!((loan.entries.len(), loan.without_one.len()), (months as usize + 1, months as usize));
            assert!(loan.fold().is_some() && loan.backdated().is_some());
        }
    }
}
