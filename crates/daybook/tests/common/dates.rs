//! Times relative to now, in the format of the API.

use daybook_clock::{Clock, System};
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};

/// The default time zone of products.
pub const ZONE: &str = "America/New_York";

/// The current time in a zone.
pub fn now_in(zone: &str) -> Zoned {
    let now = Timestamp::from_microsecond(System.now().micros()).expect("the time of day is in range");
    now.to_zoned(TimeZone::get(zone).expect("the zone exists"))
}

/// A zone where it is about noon now, so that a test that counts in seconds does not cross midnight.
pub fn zone_where_it_is_noon() -> String {
    let ahead = 12 - i32::from(now_in("UTC").hour());
    // The signs in these names are inverted.
    match ahead {
        0 => "Etc/GMT".to_owned(),
        1.. => format!("Etc/GMT-{ahead}"),
        _ => format!("Etc/GMT+{}", -ahead),
    }
}

/// A local time on a date, as text.
pub fn at(date: Date, hour: i8, zone: &str) -> String {
    moment(&date.to_datetime(Time::constant(hour, 0, 0, 0)).in_tz(zone).expect("the time exists"))
}

/// A time as text.
pub fn moment(zoned: &Zoned) -> String {
    zoned.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

/// A date some months later; the last day of the month if it has no such day.
pub fn months_after(date: Date, months: i64) -> Date {
    date.checked_add(Span::new().months(months)).expect("the date is in range")
}

/// A date some days later.
pub fn days_after(date: Date, days: i64) -> Date {
    date.checked_add(Span::new().days(days)).expect("the date is in range")
}

/// The opening date of a monthly loan whose instalment `elapsed` fell due one to four days ago, and whose next one is
/// about four weeks away: the number of elapsed instalments is the same on every day of the year, even if midnight
/// passes during the test.
pub fn opened_months_ago(elapsed: i64) -> Date {
    let yesterday = days_after(now_in(ZONE).date(), -1);
    months_after(yesterday, -elapsed)
}
