//! The time machine: the date at which an account is shown, and the slider that selects it.

use crate::display::{DisplayTime, typed_moment};
use daybook_engine::calendar::{Day, TimeOfDay};
use daybook_engine::time::Time;
use daybook_engine::zone::Zone;
use daybook_service::view::Account;

/// The approximate number of slider positions; longer loans have wider steps.
const PLACES: i32 = 720;
/// How far the slider extends beyond the end of the loan, in days.
const BEYOND: i32 = 60;
/// The furthest future date that the service previews, in days.
const FURTHEST: i32 = 60 * 365;

/// The time at which an account is shown.
#[derive(Clone, Debug, Default)]
pub struct When {
    /// The requested time as typed; empty for now.
    pub asked: String,
    /// The time; `None` for now.
    pub at: Option<DisplayTime>,
    /// The same, for the service. It is separate because the last days of the calendar cannot be written in every zone.
    time: Option<Time>,
    /// Whether it is later than the account's clock.
    pub is_ahead: bool,
    /// Why the requested time cannot be shown; empty if it can.
    pub problem: String,
}

impl When {
    /// Reads the requested time. A date means the last second of that day, so events of that day are included.
    pub fn read(asked: &str, zone: &Zone, clock: Time) -> When {
        if asked.is_empty() {
            return When::default();
        }
        let time = match (Day::parse(asked), TimeOfDay::new(23, 59, 59)) {
            (Some(day), Some(evening)) => Some(zone.at(day, evening)),
            _ => typed_moment(asked, zone),
        };
        match time {
            Some(time) => When {
                asked: asked.to_owned(),
                at: Some(DisplayTime::new(time, zone)),
                time: Some(time),
                is_ahead: time > clock,
                problem: String::new(),
            },
            None => When { problem: "the date must have the form 2025-02-15".to_owned(), ..When::default() },
        }
    }

    /// The time, for the service.
    pub fn time(&self) -> Option<Time> {
        self.time
    }

    /// Shows the account as of now, with the reason why the requested time cannot be shown.
    pub fn refused(self, problem: String) -> When {
        When { problem, ..When::default() }
    }

    /// `&as_of=…` for links; empty for now.
    pub fn link(&self) -> String {
        if self.asked.is_empty() {
            return String::new();
        }
        format!("&as_of={}", url::form_urlencoded::byte_serialize(self.asked.as_bytes()).collect::<String>())
    }
}

/// The slider.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The selectable dates, as JSON.
    pub days: String,
    /// The last position.
    pub last: usize,
    /// The current position.
    pub place: usize,
    /// The date at the current position.
    pub date: String,
    /// The first date.
    pub from: String,
    /// The last date.
    pub to: String,
    /// Today's date on the account's clock.
    pub today: String,
}

impl Machine {
    /// A slider from the account's first day to some time after its last, or to the requested day.
    pub fn new(account: &Account<'_>, when: &When, zone: &Zone, clock: Time) -> Machine {
        let today = zone.day_at(clock);
        let first = zone.day_at(account.effective_at.time);
        let end = zone.day_at(account.account_product.product_lifecycle.loan_end_date.time);
        let asked = when.time().map_or(today, |time| zone.day_at(time));
        let last = end.plus_days(BEYOND).max(today.plus_days(BEYOND)).min(today.plus_days(FURTHEST));
        let last = last.max(asked).max(first);
        let stands = asked.max(first);
        let step = (last.days_since(first) / PLACES).max(1);
        let mut days = Vec::new();
        let mut day = first;
        while day < last {
            days.push(day);
            day = day.plus_days(step);
        }
        days.extend([today.clamp(first, last), stands, last]);
        days.sort_unstable();
        days.dedup();
        let texts: Vec<String> = days.iter().copied().map(date).collect();
        Machine {
            days: serde_json::to_string(&texts).unwrap_or_default(),
            last: days.len().saturating_sub(1),
            place: days.iter().position(|day| *day == stands).unwrap_or(0),
            date: date(stands),
            from: date(first),
            to: date(last),
            today: date(today),
        }
    }
}

/// `2025-02-15`
fn date(day: Day) -> String {
    let (year, month, day) = day.ymd();
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone() -> Zone {
        Zone::named("America/New_York").expect("a zone")
    }

    #[test]
    fn a_date_is_its_last_second_and_a_moment_is_itself() {
        let clock = Time::parse("2025-03-01T12:00:00-05:00").expect("a time");
        let shown = |asked: &str| When::read(asked, &zone(), clock);
        let day = shown("2025-02-15");
        assert_eq!(day.at, Some(DisplayTime("2025-02-15T23:59:59-05:00".to_owned())));
        assert!(!day.is_ahead);
        let moment = shown("2025-03-15T09:00");
        assert_eq!(moment.at, Some(DisplayTime("2025-03-15T09:00:00-04:00".to_owned())));
        assert!(moment.is_ahead);
        assert_eq!(moment.link(), "&as_of=2025-03-15T09%3A00");
        assert_eq!(shown("").time(), None);
        assert!(!shown("soon").problem.is_empty());
    }
}
