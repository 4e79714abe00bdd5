//! Zones whose data changed: an account uses the older data up to a point in time, and the newer data from then on.
//!
//! The data of two other zones stand for the older and the newer data of one. The model is a plain list of changes.

use daybook_engine::calendar::{Day, TimeOfDay};
use daybook_engine::time::Time;
use daybook_engine::zone::{Zone, data_version};
use proptest::prelude::*;

const ZONES: [&str; 6] =
    ["America/New_York", "Europe/London", "Australia/Lord_Howe", "America/Sao_Paulo", "Asia/Kolkata", "Africa/Cairo"];

/// Every change of offset between two points in time, found by checking each quarter of an hour.
fn changes(zone: &Zone, from: i64, to: i64) -> Vec<(i64, i64)> {
    let offset = |at: i64| zone.offset_at(Time::from_seconds(at));
    let steps = (from..=to).step_by(900);
    let mut found: Vec<(i64, i64)> = Vec::new();
    let mut before = offset(from);
    for at in steps {
        if offset(at) != before {
            before = offset(at);
            found.push((at, before));
        }
    }
    found
}

/// A model zone: the first offset, and points in time with the offset from then on.
struct Model(i64, Vec<(i64, i64)>);

impl Model {
    fn offset_at(&self, second: i64) -> i64 {
        self.1.iter().rfind(|(at, _)| *at <= second).map_or(self.0, |(_, offset)| *offset)
    }

    /// The first point in time at which its clocks show this; if they never do, as if they had not been changed yet.
    fn at(&self, local: i64) -> i64 {
        let offsets = [self.0].into_iter().chain(self.1.iter().map(|(_, offset)| *offset));
        let shown = offsets.map(|offset| local - offset).filter(|at| at + self.offset_at(*at) == local).min();
        shown.unwrap_or_else(|| {
            let gap = |(at, before, after): &(i64, i64, i64)| (at + before..at + after).contains(&local);
            let befores = [self.0].into_iter().chain(self.1.iter().map(|(_, offset)| *offset));
            let mut all = self.1.iter().zip(befores).map(|((at, after), before)| (*at, before, *after));
            let (_, before, _) = all.find(gap).expect("clocks that never show a time skipped it");
            local - before
        })
    }
}

/// The day and time of a local second counted as if it were UTC.
fn clock(local: i64) -> (Day, TimeOfDay) {
    Zone::named("UTC").unwrap().local(Time::from_seconds(local))
}

/// A quarter of an hour in the years 2015 to 2028.
fn quarter() -> impl Strategy<Value = i64> {
    (1_420_070_400_i64 / 900..1_830_297_600 / 900).prop_map(|quarter| quarter * 900)
}

proptest! {
    #[test]
    fn the_past_is_by_the_earlier_data_and_what_is_ahead_by_the_newer(
        zones in [0..ZONES.len(), 0..ZONES.len(), 0..ZONES.len()],
        since in quarter(),
        cuts in [quarter(), quarter()],
        looks in prop::collection::vec((quarter(), -3..=3_i64), 1..20),
    ) {
        let [a, b, c] = zones.map(|index| Zone::named(ZONES[index]).unwrap());
        // A cut is the last second of a past.
        let (first, second) = (since.max(cuts[0].min(cuts[1])) + 899, since.max(cuts[0].max(cuts[1])) + 899);
        let kept = |zone: &Zone| Zone::kept(c.name(), &zone.data().unwrap()).unwrap();
        let ((a_data, version), (b_data, _)) = (kept(&a), kept(&b));
        prop_assert_eq!(version, data_version());
        prop_assert_eq!(a_data.fingerprint(), a.fingerprint());
        let moment = Time::from_seconds;
        let once = b_data.with_past(&a_data, moment(since), moment(first));
        let twice = c.with_past(&b_data.after_past_of(&once), moment(since), moment(second));
        prop_assert_eq!(twice.replaced_by(), Some(c.fingerprint()));
        let bytes = postcard::to_allocvec(&twice).unwrap();
        let read: Zone = postcard::from_bytes(&bytes).unwrap();
        prop_assert_eq!(read.name(), c.name());
        prop_assert_eq!(read.replaced_by(), twice.replaced_by());
        prop_assert_eq!(read.first_difference(&twice, moment(since)), None);

        let end = 1_860_000_000 / 900 * 900;
        let mut all: Vec<(i64, i64)> = changes(&a, since, first);
        all.push((first + 1, b.offset_at(moment(first + 1))));
        all.extend(changes(&b, first + 1, second));
        all.push((second + 1, c.offset_at(moment(second + 1))));
        all.extend(changes(&c, second + 1, end));
        let model = Model(a.offset_at(moment(since)), all);
        let close = |(quarter, off): &(i64, i64)| {
            [*quarter, first + 1 + off * 900, second + 1 + off * 900, first + 1 + off * 3_600 + 1_800]
        };
        for at in looks.iter().flat_map(close).filter(|at| *at > since + 172_800 && *at < end - 172_800) {
            prop_assert_eq!(read.offset_at(moment(at)), model.offset_at(at), "at {}", at);
            let (day, time) = clock(at);
            let (is, should_be) = (read.at(day, time).seconds(), model.at(at));
            // Two clock changes within hours of each other are applied one after the other, not as one.
            let near = |cut: i64| model.1.iter().filter(|(other, _)| (other - cut).abs() < 172_800).count() > 1;
            if !near(first + 1) && !near(second + 1) {
                prop_assert_eq!(is, should_be, "clocks show {} {}", day, time);
            }
            // Processed events never move to the future, and future moments never move to the past.
            let before = c.with_past(&b_data.after_past_of(&once), moment(since), moment(at));
            let by_earlier = b_data.after_past_of(&once).at(day, time);
            prop_assert_eq!(before.at(day, time) <= moment(at), by_earlier <= moment(at), "{} {}", day, time);
        }
    }
}

#[test]
fn a_difference_is_found_where_it_begins() {
    let (new_york, london) = (Zone::named("America/New_York").unwrap(), Zone::named("Europe/London").unwrap());
    let since = Time::parse("2026-01-01T00:00:00Z").unwrap();
    assert_eq!(new_york.first_difference(&new_york, since), None);
    assert_eq!(new_york.first_difference(&london, since), Some(since));
    // Since 2007 both change their clocks on Sundays; in 2026 New York does on March 8, and so does Toronto.
    let toronto = Zone::named("America/Toronto").unwrap();
    assert_eq!(new_york.first_difference(&toronto, since), None);
    let (kept, _) = Zone::kept("America/New_York", &toronto.data().unwrap()).unwrap();
    assert_ne!(kept.fingerprint(), new_york.fingerprint(), "they differed in the last century");
    assert_eq!(Zone::kept("America/New_York", b"no data"), None);
}
