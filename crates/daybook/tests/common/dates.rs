//! Moments counted from now, in words of the interface.

use daybook_clock::{Clock, System};
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};

/// The zone of products that name none.
pub const ZONE: &str = "America/New_York";

/// The time now in a zone.
pub fn now_in(zone: &str) -> Zoned {
    let now = Timestamp::from_microsecond(System.now().micros()).expect("the time of day is in range");
    now.to_zoned(TimeZone::get(zone).expect("the zone exists"))
}

/// A zone whose clocks show about noon now, so that a test that counts in seconds never meets midnight.
pub fn zone_where_it_is_noon() -> String {
    let ahead = 12 - i32::from(now_in("UTC").hour());
    // These names have their signs the other way round.
    match ahead {
        0 => "Etc/GMT".to_owned(),
        1.. => format!("Etc/GMT-{ahead}"),
        _ => format!("Etc/GMT+{}", -ahead),
    }
}

/// A local time of day on a date, in words.
pub fn at(date: Date, hour: i8, zone: &str) -> String {
    moment(&date.to_datetime(Time::constant(hour, 0, 0, 0)).in_tz(zone).expect("the time exists"))
}

/// A moment in words.
pub fn moment(zoned: &Zoned) -> String {
    zoned.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

/// A date some months later; a day that the month has not is its last.
pub fn months_after(date: Date, months: i64) -> Date {
    date.checked_add(Span::new().months(months)).expect("the date is in range")
}

/// A date some days later.
pub fn days_after(date: Date, days: i64) -> Date {
    date.checked_add(Span::new().days(days)).expect("the date is in range")
}

/// The date of a monthly loan whose instalment `elapsed` fell due yesterday or up to three days before, and whose next
/// one is four weeks off: the same number of instalments has elapsed whatever the day of the year, and if midnight
/// passes while the test runs.
pub fn opened_months_ago(elapsed: i64) -> Date {
    let yesterday = days_after(now_in(ZONE).date(), -1);
    months_after(yesterday, -elapsed)
}
