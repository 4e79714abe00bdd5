//! Due dates twice a month.
//!
//! Each month has two due dates; [`HalfMonth`] numbers them all. A day that a month lacks is its last one.

use crate::calendar::{Day, Interval, MonthEnd};

/// The share of a year of a regular period: half a month.
pub const LENGTH: Interval = Interval::days(15);

/// The number of a due date: two for each month since the year 0.
pub type HalfMonth = i32;

/// The two days of the month, in order.
fn in_order([one, other]: [u8; 2]) -> [u8; 2] {
    if one < other { [one, other] } else { [other, one] }
}

/// The due date with a number.
pub fn date(days: [u8; 2], number: HalfMonth) -> Day {
    let month = number.div_euclid(2);
    let day = in_order(days)[number.rem_euclid(2) as usize];
    let first = Day::from_ymd(month.div_euclid(12), month.rem_euclid(12) as u32 + 1, 1);
    let last = first.plus_months(1, MonthEnd::Clamp).plus_days(-1);
    first.plus_days(i32::from(day) - 1).min(last)
}

/// The number of the first due date after a date.
pub fn first_after(days: [u8; 2], day: Day) -> HalfMonth {
    let (year, month, _) = day.ymd();
    let mut number = (year * 12 + month as i32 - 1) * 2;
    while date(days, number) <= day {
        number += 1;
    }
    number
}

/// The number of a due date; `None` if the date is none.
pub fn number_of(days: [u8; 2], day: Day) -> Option<HalfMonth> {
    let number = first_after(days, day.plus_days(-1));
    (date(days, number) == day).then_some(number)
}
