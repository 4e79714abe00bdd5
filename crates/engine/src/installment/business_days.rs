//! Business days: due dates that fall on a weekend or a holiday move.

use super::terms::{Adjust, BusinessDays, Weekday};
use crate::calendar::Day;

/// The days of the week, from Monday.
const WEEK: [Weekday; 7] = [
    Weekday::Monday,
    Weekday::Tuesday,
    Weekday::Wednesday,
    Weekday::Thursday,
    Weekday::Friday,
    Weekday::Saturday,
    Weekday::Sunday,
];

impl Day {
    /// The day of the week.
    pub fn weekday(self) -> Weekday {
        // 1970-01-01 was a Thursday.
        WEEK[(self.number() + 3).rem_euclid(7) as usize]
    }
}

impl BusinessDays {
    fn is_business_day(&self, day: Day) -> bool {
        !self.weekend.contains(&day.weekday()) && self.holidays.binary_search(&day).is_err()
    }

    /// The first business day from a date on, in steps of one day forwards or back.
    fn nearest(&self, mut day: Day, step: i32) -> Day {
        while !self.is_business_day(day) {
            day = day.plus_days(step);
        }
        day
    }

    /// Where a due date moves. It stays after the due date of the row before it.
    pub(crate) fn moved(&self, day: Day, before: Option<Day>) -> Day {
        let following = self.nearest(day, 1);
        let moved = match self.adjust {
            Adjust::None => return day,
            Adjust::Following => following,
            Adjust::ModifiedFollowing if following.ymd().1 == day.ymd().1 => following,
            Adjust::ModifiedFollowing | Adjust::Preceding => self.nearest(day, -1),
        };
        match before {
            Some(before) if moved <= before => self.nearest(before.plus_days(1), 1),
            _ => moved,
        }
    }
}
