//! Time zones: from a local date and time of day to a point in time, and back.
//!
//! A zone is a table of offset changes, read once from the IANA data that is compiled in. A local time that does not
//! exist moves forward by the gap's length; one that exists twice is the first of the two. Both rules are the same
//! rule: until the change is over for both readings of the clock, the offset before it counts.

use crate::calendar::{Day, TimeOfDay};
use crate::time::Time;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use once_cell::race::OnceBox;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const SECONDS_PER_DAY: i64 = 86_400;
/// The table covers the years 1850 to 2300.
const FIRST_SECOND: i64 = -3_786_825_600;
const LAST_SECOND: i64 = 10_413_792_000;

/// 2000-01-01T00:00:00Z: what a zone's clocks did before counts as history.
const OFFSETS_SINCE: i64 = 946_684_800;

/// About half a year: a zone changes its clocks at most a few times in it.
const STRETCH: i64 = 1 << 24;

/// The zones that have been read, by a number made of the name; there are about 600.
static READ: [OnceBox<Zone>; 2048] = [const { OnceBox::new() }; 2048];

/// An IANA time zone. Cloning is cheap.
#[derive(Clone)]
pub struct Zone {
    table: Arc<Table>,
}

struct Table {
    name: String,
    first_offset: i64,
    changes: Vec<Change>,
    /// For each stretch of [`STRETCH`] seconds since [`FIRST_SECOND`], how many changes come before it, in any clock.
    passed: Vec<u16>,
    /// The local date that never was, where clocks went over the date line.
    missing_day: Option<Day>,
}

/// From `at` on, local time is `offset` seconds ahead of UTC.
struct Change {
    at: i64,
    /// The first local second (counted as if it were UTC) for which the new offset is used.
    local: i64,
    offset: i64,
}

impl Zone {
    /// The zone with this IANA name, such as `America/New_York`.
    pub fn named(name: &str) -> Option<Zone> {
        // Reading a zone takes long, and an account's terms name it each time they are loaded: each is read once.
        let first = name.bytes().fold(0, |sum: usize, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        for slot in (first..).map(|slot| &READ[slot % READ.len()]).take(READ.len()) {
            match slot.get() {
                Some(zone) if zone.name() == name => return Some(zone.clone()),
                Some(_) => {}
                None => {
                    let zone = Zone::read(name)?;
                    if zone.name() == name {
                        // Should another thread have taken the slot meanwhile, this one is read again next time.
                        let _ = slot.set(Box::new(zone.clone()));
                    }
                    return Some(zone);
                }
            }
        }
        Zone::read(name)
    }

    fn read(name: &str) -> Option<Zone> {
        let zone = jiff::tz::TimeZone::get(name).ok()?;
        let iana_name = zone.iana_name()?;
        let start = jiff::Timestamp::from_second(FIRST_SECOND).ok()?;
        let first_offset = i64::from(zone.to_offset(start).seconds());
        let mut changes: Vec<Change> = Vec::new();
        let mut before = first_offset;
        let mut missing_day = None;
        for change in zone.following(start) {
            let at = change.timestamp().as_second();
            if at > LAST_SECOND {
                break;
            }
            let offset = i64::from(change.offset().seconds());
            if offset != before {
                changes.push(Change { at, local: at + before.max(offset), offset });
                if offset - before >= SECONDS_PER_DAY {
                    missing_day = Some(Day::from_number((at + before).div_euclid(SECONDS_PER_DAY) as i32));
                }
                before = offset;
            }
        }
        let stretches = (LAST_SECOND - FIRST_SECOND) / STRETCH + 1;
        let before = |stretch: i64| {
            let start = FIRST_SECOND + stretch * STRETCH;
            changes.partition_point(|change| change.at.max(change.local) <= start) as u16
        };
        let passed = (0..stretches).map(before).collect();
        let name = iana_name.into();
        Some(Zone { table: Arc::new(Table { name, first_offset, changes, passed, missing_day }) })
    }

    /// The IANA name.
    pub fn name(&self) -> &str {
        &self.table.name
    }

    /// The local date that never was: the day that was skipped when clocks went over the date line.
    pub fn missing_day(&self) -> Option<Day> {
        self.table.missing_day
    }

    /// The local date at a point in time.
    pub fn day_at(&self, time: Time) -> Day {
        self.local(time).0
    }

    /// The local date and time of day (to the second) at a point in time.
    pub fn local(&self, time: Time) -> (Day, TimeOfDay) {
        let local = time.seconds() + self.offset_at(time);
        let seconds = local.rem_euclid(SECONDS_PER_DAY);
        let day = Day::from_number(local.div_euclid(SECONDS_PER_DAY) as i32);
        let time_of_day = TimeOfDay::new(seconds as u32 / 3600, seconds as u32 / 60 % 60, seconds as u32 % 60);
        (day, time_of_day.unwrap_or(TimeOfDay::END_OF_DAY))
    }

    /// Seconds by which local time is ahead of UTC at a point in time.
    pub fn offset_at(&self, time: Time) -> i64 {
        let seconds = time.seconds();
        self.offset_after(self.changes_before(seconds, |change| change.at))
    }

    /// Every offset from UTC, in seconds, that this zone's clocks have had since 2000 or will have, the smallest first.
    pub fn offsets(&self) -> Vec<i64> {
        let since = self.offset_at(Time::from_seconds(OFFSETS_SINCE));
        let later = self.table.changes.iter().filter(|change| change.at > OFFSETS_SINCE).map(|change| change.offset);
        let mut offsets: Vec<i64> = later.chain([since]).collect();
        offsets.sort_unstable();
        offsets.dedup();
        offsets
    }

    /// The point in time at which this zone's clocks show a date and time of day.
    pub fn at(&self, day: Day, time_of_day: TimeOfDay) -> Time {
        let local = i64::from(day.number()) * SECONDS_PER_DAY + i64::from(time_of_day.seconds());
        Time::from_seconds(local - self.offset_after(self.changes_before(local, |change| change.local)))
    }

    /// How many changes have come by a second, in a clock that reads each change at the second that `of` says.
    fn changes_before(&self, second: i64, of: impl Fn(&Change) -> i64) -> usize {
        let stretch = ((second - FIRST_SECOND) / STRETCH).clamp(0, self.table.passed.len() as i64 - 1);
        let passed = usize::from(self.table.passed[stretch as usize]);
        passed + self.table.changes[passed..].iter().take_while(|change| of(change) <= second).count()
    }

    fn offset_after(&self, changes: usize) -> i64 {
        changes.checked_sub(1).map_or(self.table.first_offset, |last| self.table.changes[last].offset)
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.table.name)
    }
}

/// Zones are equal when their names are.
impl PartialEq for Zone {
    fn eq(&self, other: &Zone) -> bool {
        self.table.name == other.table.name
    }
}

impl Eq for Zone {}

impl Serialize for Zone {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.table.name.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Zone {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Zone, D::Error> {
        let name = String::deserialize(deserializer)?;
        Zone::named(&name).ok_or_else(|| serde::de::Error::custom(alloc::format!("no time zone is named {name}")))
    }
}
