//! Maps a case to what the server sees: with ids unique to the run and, for a live case, shifted in time. Maps the
//! server's responses back, so that they can be compared with the file.

use crate::scenario::Scenario;
use daybook_engine::calendar::Day;
use daybook_engine::time::Time;
use daybook_engine::zone::Zone;
use daybook_service::policy::DEFAULT_ZONE;
use serde_json::Value;

/// After this many years the calendar repeats, until the year 2100, which is not a leap year.
const REPEATS_AFTER_YEARS: i32 = 28;
const REPEATS_AFTER_DAYS: i64 = 28 * 365 + 7;
const REPEATS_UNTIL: i32 = 2100;
const DAY_MICROS: i64 = 86_400_000_000;
/// A little less than how far ahead a server rolls an account.
const HORIZON_DAYS: i64 = 59 * 365;
/// The maximum length of an id, in characters.
const LONGEST_ID: usize = 128;

/// The mapping of a case's ids and times.
#[derive(Clone, Debug, Default)]
pub struct CaseMapping {
    suffix: String,
    years: i32,
    /// Ids: in the file, and on the server.
    ids: Vec<(String, String)>,
}

impl CaseMapping {
    /// A mapping whose ids end with a unique suffix.
    pub fn new(suffix: &str) -> CaseMapping {
        CaseMapping { suffix: suffix.to_owned(), ..CaseMapping::default() }
    }

    /// Whether the case is played at a later time than the file states, by rolling.
    pub fn is_moved(&self) -> bool {
        self.years > 0
    }

    /// Shifts the case by repetitions of the calendar, so that it begins after now. Fails with the reason if that is
    /// impossible.
    pub fn move_past(&mut self, case: &Scenario, zone: &Zone, now: Time) -> Result<(), String> {
        let (begin, end) = (case.account_effective_at.time, case.ends_at().time);
        let mut times = 0;
        while begin.plus_micros(times * REPEATS_AFTER_DAYS * DAY_MICROS) <= now.plus_micros(DAY_MICROS) {
            times += 1;
        }
        if times == 0 {
            return Ok(());
        }
        let by = times * REPEATS_AFTER_DAYS * DAY_MICROS;
        self.years = times as i32 * REPEATS_AFTER_YEARS;
        let last_year = zone.day_at(end.plus_micros(by)).ymd().0;
        if end.plus_micros(by) > now.plus_micros(HORIZON_DAYS * DAY_MICROS) || last_year + 1 >= REPEATS_UNTIL {
            return Err(format!(
                "against a server, a live case runs {} years later, and this one would end too far in the future",
                self.years
            ));
        }
        let days = (end.seconds() - begin.seconds()) / 86_400 + 366;
        let is_same = |day: i64| {
            let then = begin.plus_micros(day * DAY_MICROS);
            zone.offset_at(then) == zone.offset_at(then.plus_micros(by))
        };
        if (0..=days).all(is_same) {
            return Ok(());
        }
        Err(format!(
            "against a server, a live case runs {} years later, and the UTC offsets of {} will not be the same then",
            self.years,
            zone.name()
        ))
    }

    /// The id on the server for an id of the file.
    pub fn id(&mut self, id: &str) -> String {
        if let Some((_, ours)) = self.ids.iter().find(|(theirs, _)| theirs == id) {
            return ours.clone();
        }
        let room = LONGEST_ID.saturating_sub(self.suffix.len() + 1);
        let kept: String = id.chars().take(room).collect();
        let ours = format!("{kept}-{}", self.suffix);
        self.ids.push((id.to_owned(), ours.clone()));
        ours
    }

    /// Replaces the id in a field of a body, if the field has one.
    pub fn rename(&mut self, body: &mut Value, field: &str) {
        if let Some(id) = body[field].as_str() {
            let ours = self.id(id);
            body[field] = Value::from(ours);
        }
    }

    /// A time or date of the case, shifted.
    pub fn moment(&self, text: &str) -> String {
        moved(text, self.years).unwrap_or_else(|| text.to_owned())
    }

    /// A time of the case, shifted.
    pub fn time(&self, time: Time) -> Time {
        time.plus_micros(i64::from(self.years / REPEATS_AFTER_YEARS) * REPEATS_AFTER_DAYS * DAY_MICROS)
    }

    /// Shifts every time and date of a body, except in `external_fields`.
    pub fn move_all(&self, body: &mut Value) {
        walk(body, &|text| moved(text, self.years));
    }

    /// Maps the server's response back, as if the case had been played as written.
    pub fn take_off(&self, mut shown: Value) -> Value {
        walk(&mut shown, &|text| {
            let named = self.ids.iter().find(|(_, ours)| ours == text).map(|(theirs, _)| theirs.clone());
            named.or_else(|| moved(text, -self.years))
        });
        shown
    }

    /// Maps the ids in a sentence of the server back to those of the file.
    pub fn sentence(&self, sentence: &str) -> String {
        self.ids.iter().fold(sentence.to_owned(), |text, (theirs, ours)| text.replace(ours, theirs))
    }
}

/// The time zone of a product.
pub fn zone_of(product: &Value) -> Option<Zone> {
    let named = &product["product_lifecycle_policies"]["billing_cycle_policies"]["product_time_zone"];
    Zone::named(named.as_str().unwrap_or(DEFAULT_ZONE))
}

fn walk(value: &mut Value, change: &impl Fn(&str) -> Option<String>) {
    match value {
        Value::String(text) => {
            if let Some(changed) = change(text) {
                *text = changed;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| walk(value, change)),
        Value::Object(fields) => {
            for (_, value) in fields.iter_mut().filter(|(name, _)| *name != "external_fields") {
                walk(value, change);
            }
        }
        _ => {}
    }
}

/// A date or time some years later; `None` if the text is neither.
fn moved(text: &str, years: i32) -> Option<String> {
    let (date, rest) = (text.get(..10)?, text.get(10..)?);
    let is_moment = if rest.is_empty() { Day::parse(date).is_some() } else { Time::parse(text).is_some() };
    if years == 0 || !is_moment {
        return None;
    }
    let year: i32 = date.get(..4)?.parse().ok()?;
    Some(format!("{:04}{}", year + years, text.get(4..)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_goes_in_disguised_comes_out_as_it_was() {
        let mut mapping = CaseMapping { years: 28, ..CaseMapping::new("x7-1") };
        let mut body = json!({
            "account_id": "loan-1", "effective_at": "2024-02-29T00:00:00-05:00", "first": "2025-03-01",
            "note": "2025-03", "external_fields": [{ "key": "a", "value": "2025-03-01" }], "amount": 2025,
        });
        let before = body.clone();
        mapping.rename(&mut body, "account_id");
        mapping.rename(&mut body, "missing");
        mapping.move_all(&mut body);
        assert_eq!(body["account_id"], "loan-1-x7-1");
        assert_eq!(
            (&body["effective_at"], &body["first"]),
            (&json!("2052-02-29T00:00:00-05:00"), &json!("2053-03-01"))
        );
        assert_eq!((&body["note"], &body["external_fields"]), (&before["note"], &before["external_fields"]));
        assert_eq!(mapping.take_off(body), before);
        assert_eq!(mapping.sentence("account \"loan-1-x7-1\" is closed"), "account \"loan-1\" is closed");
    }

    #[test]
    fn the_calendar_repeats_itself() {
        for (year, month, day) in [(2025, 1, 15), (2024, 2, 29), (2071, 12, 31)] {
            let later = Day::from_ymd(year + REPEATS_AFTER_YEARS, month, day);
            assert_eq!(i64::from(later.days_since(Day::from_ymd(year, month, day))), REPEATS_AFTER_DAYS);
        }
        assert_eq!(REPEATS_AFTER_DAYS % 7, 0, "the same day of the week");
    }

    #[test]
    fn an_id_has_room_for_what_makes_it_its_own() {
        let mut mapping = CaseMapping::new("suffix");
        assert_eq!(mapping.id(&"a".repeat(128)).len(), 128);
    }
}
