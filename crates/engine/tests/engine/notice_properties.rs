//! Properties of notices, on random products and settings.

use daybook_engine::calendar::MonthEnd;
use daybook_engine::installment::Method;
use daybook_engine::installment::schedule::schedule;
use daybook_engine::money::Cents;
use daybook_engine::notify::{NoticeKind, When};
use daybook_engine::outcome::{Event, EventKind};
use daybook_engine::terms::Terms;
use daybook_engine::time::Time;
use daybook_engine::timeline::Input;
use daybook_testkit::book::Book;
use daybook_testkit::campaign::holds;
use daybook_testkit::history;
use proptest::prelude::*;

/// Property 6: a notice fires once per occurrence, on the right local date, in every zone and across clock changes.
#[test]
fn a_notice_fires_once_on_the_right_local_date() {
    let settings = proptest::collection::vec((history::setting(), 0..3_000_i64), 1..4);
    let lives = (history::life(), settings);
    holds("6 notices", &lives, |(mut life, settings)| {
        // Only the settings, so that the account stays open and unpaid, and no status stops notices.
        life.acts.clear();
        life.terms.status_effects = Default::default();
        let mut book = Book::held(life.terms.clone());
        let opening = life.terms.opening.effective_at;
        let settings: Vec<_> = settings
            .iter()
            .enumerate()
            .map(|(index, (setting, hours))| (opening.plus_micros(hours * 3_600_000_000 + index as i64), *setting))
            .collect();
        for (index, (at, setting)) in settings.iter().enumerate() {
            book.submit(&format!("setting-{index}"), *at, Input::Notify(*setting)).unwrap();
        }
        let end = life.end();
        book.release(end);
        let closed_at = book.events.iter().find(|event| event.what == EventKind::Closed).map(|event| event.at);
        let mut expected: Vec<(Time, NoticeKind, Option<u32>)> = Vec::new();
        let mut fired_with: Vec<(Time, NoticeKind, Option<u32>, i32)> = Vec::new();
        let mut settings = settings;
        settings.sort_by_key(|(from, _)| *from);
        for (index, (from, setting)) in settings.iter().enumerate() {
            let replaced = settings[index + 1..].iter().filter(|(_, later)| setting.is_replaced_by(later));
            let to = replaced.map(|(at, _)| *at).min();
            for (at, instalment) in occurrences(&life.terms, setting, *from, end) {
                let in_force = setting.enabled && at >= *from && to.is_none_or(|to| at < to);
                // A notice at the closing instant is after the closing.
                let open = closed_at.is_none_or(|closed| at < closed);
                let wanted = setting.kind != NoticeKind::LateFeeDate || asks(&book, instalment.unwrap(), at);
                // A setting that replaces another continues after the notices that the other announced.
                let announced = expected.iter().any(|(before, kind, which)| {
                    matches!(setting.when, When::Offset(days) if fired_with.contains(&(*before, *kind, *which, days)))
                        && (*kind, *which) == (setting.kind, instalment)
                });
                if in_force && open && wanted && !announced && at <= end {
                    expected.push((at, setting.kind, instalment));
                    if let When::Offset(days) = setting.when {
                        fired_with.push((at, setting.kind, instalment, days));
                    }
                }
            }
        }
        let fired = book.events.iter().filter_map(|event: &Event| match event.what {
            EventKind::Notice { kind, instalment } => Some((event.at, kind, instalment)),
            _ => None,
        });
        // Once earlier rows take all principal, whether a row takes any depends on interest that is not known yet: such
        // dates are left out.
        let rows = schedule(&book.terms, &book.state, end).unwrap();
        let is_clear = |(_, kind, row): &(Time, NoticeKind, Option<u32>)| {
            let before = rows.iter().filter(|other| row.is_some_and(|row| other.instalment < row));
            let asked: Cents = before.map(|row| row.principal).sum();
            *kind != NoticeKind::LateFeeDate || asked < book.terms.opening.principal
        };
        let mut fired: Vec<_> = fired.filter(is_clear).collect();
        expected.retain(is_clear);
        fired.sort();
        expected.sort();
        prop_assert_eq!(fired, expected);
        Ok(())
    });
}

/// Whether an instalment on which nothing was paid requires money at a point in time; an instalment of zero does not.
fn asks(book: &Book, instalment: u32, at: Time) -> bool {
    let plan = book.terms.installment();
    let policy = &plan.policy;
    let fell_due = book.events.iter().find_map(|event| match event.what {
        EventKind::DueDatePassed { instalment: which, paid, .. } if which == instalment && event.at <= at => Some(paid),
        _ => None,
    });
    let repays = instalment > policy.interest_only;
    let fixed = match policy.method {
        _ if instalment == policy.instalments => None,
        Method::Level => repays.then_some(plan.plan.level),
        Method::Flat => Some(plan.plan.flat_interest + if repays { plan.plan.level } else { Cents::ZERO }),
        Method::EqualPrincipal | Method::Precomputed => None,
    };
    match fell_due {
        Some(paid) => !paid,
        None => fixed.is_none_or(|total| total > Cents::ZERO),
    }
}

/// When a setting's notices fire, by another library's calendar and zones.
fn occurrences(
    terms: &Terms,
    setting: &daybook_engine::notify::Setting,
    from: Time,
    until: Time,
) -> Vec<(Time, Option<u32>)> {
    use jiff::civil::{Date, Time as Clock};
    use jiff::{Timestamp, ToSpan};
    let zone = jiff::tz::TimeZone::get(terms.zone.name()).unwrap();
    let plan = terms.installment();
    let date = |day: daybook_engine::calendar::Day| {
        let (year, month, day) = day.ymd();
        Date::new(year as i16, month as i8, day as i8).unwrap()
    };
    let clock = |time: daybook_engine::calendar::TimeOfDay| {
        let seconds = time.seconds() as i32;
        Clock::new((seconds / 3600) as i8, (seconds / 60 % 60) as i8, (seconds % 60) as i8, 0).unwrap()
    };
    let moment = |day: Date, time: Clock| {
        let at = zone.to_ambiguous_timestamp(day.to_datetime(time)).compatible().unwrap();
        Time::from_micros(at.as_microsecond())
    };
    let about = |day: fn(&daybook_engine::installment::dates::Dates, u32) -> daybook_engine::calendar::Day, k: u32| {
        let When::Offset(days) = setting.when else { panic!("an offset") };
        let time = clock(setting.time.unwrap_or(terms.close_of_business));
        (moment(date(day(&plan.dates, k)) + days.days(), time), Some(k))
    };
    use daybook_engine::installment::dates::Dates;
    let late_day = |dates: &Dates, k| dates.late_after(dates.due_day(k));
    match setting.kind {
        NoticeKind::PaymentDueDate => (1..=plan.count()).map(|k| about(Dates::due_day, k)).collect(),
        NoticeKind::LateFeeDate => (1..=plan.count()).map(|k| about(late_day, k)).collect(),
        NoticeKind::LoanEndDate => vec![about(Dates::due_day, plan.count())],
        NoticeKind::AccountSummary => {
            let When::Every(every) = setting.when else { panic!("an interval") };
            let local = Timestamp::from_microsecond(from.micros()).unwrap().to_zoned(zone.clone());
            let time = setting.time.map_or(local.time(), clock);
            let nth = |n: i32| {
                let day = local.date() + (every.months * n).months();
                let rolls = plan.policy.month_end == MonthEnd::Roll && day.day() < local.date().day();
                (if rolls { day.tomorrow().unwrap() } else { day }) + (every.days * n).days()
            };
            let all = (1..).map(|n| (moment(nth(n), time), None));
            all.take_while(|(at, _)| *at <= until).collect()
        }
    }
}
