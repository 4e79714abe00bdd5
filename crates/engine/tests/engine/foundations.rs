//! Money, dates, zones, names and snapshots, each on its own.

use daybook_engine::calendar::{Day, Interval, MonthEnd, TimeOfDay, is_leap_year};
use daybook_engine::installment::{Bucket, Due, Owed};
use daybook_engine::item::{Component, ItemId, ItemKind, ItemStatus};
use daybook_engine::money::{Cents, Overflow, Percent, Rounding, round_ratio};
use daybook_engine::snapshot::{self, NoSnapshot};
use daybook_engine::state::State;
use daybook_engine::status::{AccountStanding, Reason, Status};
use daybook_engine::time::Time;
use daybook_engine::zone::Zone;
use daybook_testkit::history::ZONES;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use proptest::prelude::*;

#[test]
fn half_a_cent_goes_where_the_product_says() {
    let even = |numerator| round_ratio(numerator, 10, Rounding::HalfEven).unwrap().0;
    let up = |numerator| round_ratio(numerator, 10, Rounding::HalfUp).unwrap().0;
    //                      0.0  0.4  0.5  0.6  1.0  1.4  1.5  1.6  2.5  3.5
    let numerators = [0, 4, 5, 6, 10, 14, 15, 16, 25, 35];
    assert_eq!(numerators.map(even), [0, 0, 0, 1, 1, 1, 2, 2, 2, 4]);
    assert_eq!(numerators.map(up), [0, 0, 1, 1, 1, 1, 2, 2, 3, 4]);
}

/// Numbers that need more than 64 bits.
#[test]
fn large_ratios_are_rounded_like_small_ones() {
    let million_times =
        |rest: i128| round_ratio(100_000_000_000_000_000_000 + rest, 1_000_000_000_000, Rounding::HalfUp);
    assert_eq!(million_times(0), Ok(Cents(100_000_000)));
    assert_eq!(million_times(499_999_999_999), Ok(Cents(100_000_000)));
    assert_eq!(million_times(500_000_000_000), Ok(Cents(100_000_001)));
    let wide = 1_i128 << 70;
    assert_eq!(round_ratio(wide * 7 + wide / 2, wide, Rounding::HalfEven), Ok(Cents(8)));
    assert_eq!(round_ratio(wide * 6 + wide / 2, wide, Rounding::HalfEven), Ok(Cents(6)));
    assert_eq!(round_ratio(5, wide, Rounding::HalfUp), Ok(Cents(0)));
}

#[test]
fn a_ratio_beyond_counting_is_an_error() {
    let limit = i128::from(Cents::LIMIT.0);
    assert_eq!(round_ratio(limit, 1, Rounding::HalfEven), Ok(Cents::LIMIT));
    assert_eq!(round_ratio(limit * 2 + 1, 2, Rounding::HalfUp), Err(Overflow), "rounded up beyond it");
    assert_eq!(round_ratio(limit + 1, 1, Rounding::HalfEven), Err(Overflow));
    assert_eq!(round_ratio(i128::MAX, 1, Rounding::HalfEven), Err(Overflow));
    assert_eq!(Cents::LIMIT, Cents(1_152_921_504_606_846_975), "an eighth of the type");
}

#[test]
#[should_panic(expected = "no sign")]
fn a_ratio_of_money_has_no_sign() {
    let _ = round_ratio(-1, 10, Rounding::HalfEven);
}

#[test]
#[should_panic(expected = "no sign")]
fn nothing_is_divided_by_nothing() {
    let _ = round_ratio(1, 0, Rounding::HalfEven);
}

proptest! {
    /// Rounding yields the nearest whole number; ties go to the even one or up.
    #[test]
    fn rounding_is_nearest(numerator in 0..1_000_000_i128, denominator in 1..1_000_i128) {
        for rounding in [Rounding::HalfEven, Rounding::HalfUp, Rounding::Down] {
            let rounded = i128::from(round_ratio(numerator, denominator, rounding).unwrap().0);
            let twice_off = 2 * (rounded * denominator - numerator);
            if rounding == Rounding::Down {
                prop_assert!(twice_off <= 0 && -twice_off < 2 * denominator);
                continue;
            }
            prop_assert!(twice_off.abs() <= denominator);
            if twice_off.abs() == denominator {
                match rounding {
                    Rounding::HalfEven => prop_assert_eq!(rounded % 2, 0),
                    Rounding::HalfUp | Rounding::Down => prop_assert!(twice_off > 0),
                }
            }
        }
    }
}

#[test]
fn cents_add_up() {
    let mut sum = Cents(5) + Cents(7) - Cents(2);
    sum += Cents(10);
    sum -= Cents(1);
    assert_eq!(sum, Cents(19));
    assert_eq!(-sum, Cents(-19));
    assert_eq!([Cents(1), Cents(2), Cents(4)].into_iter().sum::<Cents>(), Cents(7));
    assert_eq!((Cents(-3).or_zero(), Cents(0).or_zero(), Cents(3).or_zero()), (Cents(0), Cents(0), Cents(3)));
    assert_eq!([-1, 0, 1].map(|cents| Cents(cents).is_positive()), [false, false, true]);
    assert_eq!([-1, 0, 1].map(|cents| Cents(cents).is_zero()), [false, true, false]);
    assert_eq!(
        [123_456, 5, 0, -7, -12_300].map(|cents| Cents(cents).to_string()),
        ["1234.56", "0.05", "0.00", "-0.07", "-123.00"]
    );
}

#[test]
fn percentages_are_read_exactly() {
    for (text, millionths) in [
        ("12", 12_000_000),
        ("12.0", 12_000_000),
        ("6.2", 6_200_000),
        ("0", 0),
        ("0.000001", 1),
        ("99.999999", 99_999_999),
        ("10000", 10_000_000_000),
        ("1.50000000", 1_500_000),
    ] {
        assert_eq!(Percent::parse(text), Some(Percent::from_millionths(millionths)), "{text}");
    }
    for text in [
        "",
        ".",
        "1.",
        ".5",
        "-1",
        "+1",
        "1e2",
        "0.0000001",
        "10000.000001",
        "10001",
        "12,5",
        "NaN",
        " 1",
        "1000000000",
    ] {
        assert_eq!(Percent::parse(text), None, "{text:?}");
    }
    let shortest = |millionths| Percent::from_millionths(millionths).to_string();
    assert_eq!(shortest(12_000_000), "12");
    assert_eq!(shortest(6_200_000), "6.2");
    assert_eq!(shortest(1), "0.000001");
    assert_eq!(shortest(10_050_000), "10.05");
    assert_eq!(Percent::from_millionths(7).millionths(), 7);
}

#[test]
fn a_percentage_of_an_amount_is_rounded_once() {
    let five = Percent::parse("5").unwrap();
    assert_eq!(five.of(Cents(10_662), Rounding::HalfEven), Ok(Cents(533)), "533.10");
    assert_eq!(five.of(Cents(10), Rounding::HalfEven), Ok(Cents(0)), "half a cent, to even");
    assert_eq!(five.of(Cents(10), Rounding::HalfUp), Ok(Cents(1)), "half a cent, up");
    assert_eq!(Percent::LARGEST.of(Cents(100), Rounding::HalfUp), Ok(Cents(10_000)));
}

#[test]
fn days_agree_with_another_calendar() {
    let mut date = Date::new(1899, 12, 1).unwrap();
    let mut day = Day::from_ymd(1899, 12, 1);
    while date.year() < 2201 {
        let expected = (i32::from(date.year()), date.month() as u32, date.day() as u32);
        assert_eq!(day.ymd(), expected);
        assert_eq!(Day::from_ymd(expected.0, expected.1, expected.2), day);
        assert_eq!(is_leap_year(expected.0), date.in_leap_year());
        date = date.tomorrow().unwrap();
        day = day.plus_days(1);
    }
    assert_eq!(Day::from_ymd(1970, 1, 1).number(), 0);
    assert_eq!(Day::from_number(1).to_string(), "1970-01-02");
    assert_eq!(Day::parse("2024-02-29"), Some(Day::from_ymd(2024, 2, 29)));
    assert_eq!(["2023-02-29", "2024-2-9", "20240229", ""].map(Day::parse), [None; 4]);
    assert_eq!(Day::from_ymd(2024, 3, 1).days_since(Day::from_ymd(2024, 2, 1)), 29);
}

#[test]
fn a_month_without_the_day_is_settled_by_the_policy() {
    let from = |day: &str, months, month_end| Day::parse(day).unwrap().plus_months(months, month_end).to_string();
    for (day, months, clamp, roll) in [
        ("2025-01-31", 1, "2025-02-28", "2025-03-01"),
        ("2024-01-31", 1, "2024-02-29", "2024-03-01"),
        ("2025-01-29", 1, "2025-02-28", "2025-03-01"),
        ("2025-01-31", 2, "2025-03-31", "2025-03-31"),
        ("2025-01-31", 3, "2025-04-30", "2025-05-01"),
        ("2025-10-31", 4, "2026-02-28", "2026-03-01"),
        ("2025-03-31", -1, "2025-02-28", "2025-03-01"),
        ("2025-01-15", -1, "2024-12-15", "2024-12-15"),
        ("2025-12-15", 1, "2026-01-15", "2026-01-15"),
        ("2025-05-31", 1, "2025-06-30", "2025-07-01"),
        ("2025-08-31", 1, "2025-09-30", "2025-10-01"),
        ("2025-10-31", 1, "2025-11-30", "2025-12-01"),
    ] {
        assert_eq!(from(day, months, MonthEnd::Clamp), clamp, "{day} and {months} months");
        assert_eq!(from(day, months, MonthEnd::Roll), roll, "{day} and {months} months");
    }
    let interval = Interval { months: 1, days: -10 };
    assert_eq!(Day::parse("2025-01-31").unwrap().plus(interval, 2, MonthEnd::Clamp).to_string(), "2025-03-11");
}

#[test]
fn intervals_are_read_and_written() {
    let interval = |months, days| Some(Interval { months, days });
    for (text, expected, written) in [
        ("1 month", interval(1, 0), "1 month"),
        ("3 months", interval(3, 0), "3 months"),
        ("7 days", interval(0, 7), "7 days"),
        ("1 day", interval(0, 1), "1 day"),
        ("-5 days", interval(0, -5), "-5 days"),
        ("0 days", interval(0, 0), "0 days"),
        ("1 month - 10 days", interval(1, -10), "1 month - 10 days"),
        ("2 months + 1 days", interval(2, 1), "2 months + 1 day"),
        ("10000 days", interval(0, 10_000), "10000 days"),
    ] {
        assert_eq!(Interval::parse(text), expected, "{text}");
        assert_eq!(expected.unwrap().to_string(), written);
    }
    for text in [
        "",
        "month",
        "1",
        "1 week",
        "1.5 days",
        "one day",
        "1 month 10 days",
        "1 month -",
        "+1 day",
        "--1 days",
        "10001 days",
        "99999999999 days",
        "1 month x 10 days",
        "5000 days + 5001 days",
    ] {
        assert_eq!(Interval::parse(text), None, "{text:?}");
    }
    let both = Interval { months: 1, days: 2 }.and(Interval { months: 3, days: 4 });
    assert_eq!(both, Interval { months: 4, days: 6 });
    let one = Interval::months(1).and(Interval::days(-10));
    assert_eq!((one, one.thirty_day_count()), (Interval { months: 1, days: -10 }, 20));
    assert!(Interval::ZERO.is_zero() && !Interval::days(1).is_zero() && !Interval::months(1).is_zero());
}

#[test]
fn times_of_day_are_read_and_written() {
    assert_eq!(TimeOfDay::parse("23:59:59"), Some(TimeOfDay::END_OF_DAY));
    assert_eq!(TimeOfDay::parse("01:02:03").map(TimeOfDay::seconds), Some(3_723));
    assert_eq!(TimeOfDay::new(17, 5, 9).unwrap().to_string(), "17:05:09");
    for text in ["24:00:00", "23:60:00", "23:59:60", "1:02:03", "01:02", "01:02:03:04", "aa:bb:cc", "+1:00:00", ""] {
        assert_eq!(TimeOfDay::parse(text), None, "{text:?}");
    }
}

#[test]
fn points_in_time_are_read_and_written() {
    let time = Time::parse("2025-02-15T09:00:00.5-05:00").unwrap();
    assert_eq!(time.micros(), 1_739_628_000_500_000);
    assert_eq!((time.seconds(), time.subsecond_micros()), (1_739_628_000, 500_000));
    assert_eq!(time.to_string(), "2025-02-15T14:00:00.5Z");
    assert_eq!((Time::from_micros(-1).seconds(), Time::from_micros(-1).subsecond_micros()), (-1, 999_999));
    assert_eq!(Time::from_seconds(2).plus_micros(-1), Time::from_micros(1_999_999));
    assert_eq!(Time::NEVER.plus_micros(1), Time::NEVER);
    assert_eq!(Time::parse("2025-02-15T09:00:00"), None, "without an offset");
    assert_eq!((Time::NEVER.to_string(), Time::BEGINNING.to_string()), ("never".into(), "the beginning".into()));
}

proptest! {
    /// The zone tables agree with another library's zones, for every kind of clock change.
    #[test]
    fn zones_agree_with_another_library(zone in 0..ZONES.len(), seconds in -2_000_000_000..4_000_000_000_i64, around in 0..400_usize, off in -90_000..90_000_i64) {
        let theirs = TimeZone::get(ZONES[zone]).unwrap();
        let ours = Zone::named(ZONES[zone]).unwrap();
        // Any time, and one close to a clock change.
        let change = theirs.following(jiff::Timestamp::from_second(-2_000_000_000).unwrap()).nth(around);
        let close = change.map_or(seconds, |change| change.timestamp().as_second() + off);
        for seconds in [seconds, close] {
            let timestamp = jiff::Timestamp::from_second(seconds).unwrap();
            let local = theirs.to_datetime(timestamp);
            let (day, time) = ours.local(Time::from_seconds(seconds));
            prop_assert_eq!(format!("{day}T{time}"), local.to_string());
            prop_assert_eq!(ours.offset_at(Time::from_seconds(seconds)), i64::from(theirs.to_offset(timestamp).seconds()));
            // Local times taken from another zone's clock: some of these do not exist, some exist twice.
            let shown: DateTime = jiff::tz::Offset::UTC.to_datetime(timestamp);
            let point = theirs.to_ambiguous_timestamp(shown).compatible().unwrap();
            let (day, time) = Zone::named("UTC").unwrap().local(Time::from_seconds(seconds));
            prop_assert_eq!(ours.at(day, time).seconds(), point.as_second());
        }
    }
}

#[test]
fn zones_know_their_names_and_the_day_they_skipped() {
    assert_eq!(Zone::named("Nowhere/Special"), None);
    assert_eq!(Zone::named("america/new_york").unwrap().name(), "America/New_York");
    assert_eq!(Zone::named("America/New_York").unwrap().name(), "America/New_York");
    assert_eq!(Zone::named("America/New_York").unwrap().missing_day(), None);
    assert_eq!(Zone::named("Pacific/Apia").unwrap().missing_day(), Day::parse("2011-12-30"));
    assert_ne!(Zone::named("Europe/London"), Zone::named("UTC"));
    assert_eq!(format!("{:?}", Zone::named("UTC").unwrap()), "UTC");
}

#[test]
fn item_ids_are_read_as_they_are_written() {
    let name = || "r:1".into();
    for (id, text) in [
        (ItemId::Loan, "dbk_loan"),
        (ItemId::OriginationFee, "dbk_orig_fee"),
        (ItemId::Interest { period: 3, part: 0 }, "dbk_interest_3"),
        (ItemId::Interest { period: 3, part: 2 }, "dbk_interest_3.2"),
        (ItemId::LateFee { instalment: 12 }, "dbk_late_fee_12"),
        (ItemId::ChargeOff { number: 1 }, "dbk_charge_off_1"),
        (ItemId::ReversalFee { reversal: name() }, "dbk_return_check_fee:r:1"),
        (ItemId::ReversalPart { reversal: name(), component: Component::Principal }, "dbk_reversed_principal:r:1"),
        (ItemId::ReversalPart { reversal: name(), component: Component::Interest }, "dbk_reversed_interest:r:1"),
        (ItemId::ReversalPart { reversal: name(), component: Component::Fee }, "dbk_reversed_fee:r:1"),
        (ItemId::Input("p1".into()), "p1"),
        (ItemId::Input("dbk_other".into()), "dbk_other"),
    ] {
        assert_eq!(id.to_string(), text);
        assert_eq!(ItemId::parse(text), id);
    }
}

#[test]
fn names_are_those_of_the_interface() {
    assert_eq!(ItemKind::ReversalPart(Component::Fee).name(), "PAYMENT_REVERSAL_FEE");
    assert_eq!(ItemKind::OriginationFee.name(), "ORIG_FEE");
    assert_eq!(ItemKind::ReturnCheckFee.name(), "RETURN_CHECK_FEE");
    assert_eq!(ItemStatus::Authorized.name(), "AUTHORIZED");
    assert_eq!(Status::DELINQUENT.to_string(), "SUSPENDED/DELINQUENT");
    assert_eq!(Status::ACTIVE.to_string(), "ACTIVE");
    assert_eq!(Bucket::parse("PAST_DUE_FEE"), Some(Bucket::new(Due::Past, Owed::Fee)));
    assert_eq!(Bucket::parse("DUE_PENALTY"), Some(Bucket::new(Due::Now, Owed::Penalty)));
    assert_eq!(Bucket::parse("IN_ADVANCE_INTEREST"), Some(Bucket::new(Due::Ahead, Owed::Interest)));
    assert_eq!(Bucket::parse("DUE_PRINCIPAL"), Some(Bucket::new(Due::Now, Owed::Principal)));
    assert_eq!(["DUE_", "LATE_FEE", "DUE_TAX", ""].map(Bucket::parse), [None; 4]);
}

#[test]
fn only_the_pairs_of_the_table_are_statuses() {
    let pairs: usize = [AccountStanding::Active, AccountStanding::Suspended, AccountStanding::Closed]
        .map(|s| s.reasons().len())
        .iter()
        .sum();
    assert_eq!(pairs, 5 + 7 + 14);
    assert_eq!(Status::parse("CLOSED", Some("CHARGE_OFF")), Some(Status::CHARGED_OFF));
    assert_eq!(Status::parse("ACTIVE", None), Some(Status::ACTIVE));
    let hardship = Status::parse("ACTIVE", Some("HARDSHIP/EXEMPTIONS")).unwrap();
    assert_eq!((hardship.standing(), hardship.reason()), (AccountStanding::Active, Some(Reason::HardshipExemptions)));
    for (standing, reason) in [
        ("ACTIVE", Some("DELINQUENT")),
        ("SUSPENDED", None),
        ("CLOSED", None),
        ("SUSPENDED", Some("PAID_OFF")),
        ("OPEN", None),
        ("CLOSED", Some("NO_REASON")),
    ] {
        assert_eq!(Status::parse(standing, reason), None, "{standing} {reason:?}");
    }
    assert!(hardship.moves_by_itself() && Status::DELINQUENT.moves_by_itself());
    assert!(!Status::parse("SUSPENDED", Some("FRAUD")).unwrap().moves_by_itself());
    assert!(Status::PAID_OFF.closed_by_itself() && Status::SURPLUS_BALANCE.closed_by_itself());
    assert!(!Status::CHARGED_OFF.closed_by_itself() && Status::CHARGED_OFF.is_closed());
}

/// The owner of the snapshots below.
const OWNER: &[u8] = b"1:a1";

#[test]
fn a_snapshot_says_what_it_is() {
    let bytes = snapshot::write(&State::new(), OWNER).unwrap();
    assert_eq!(snapshot::read(&bytes, OWNER).map(|state| state.balances()), Ok(State::new().balances()));
    assert_eq!(snapshot::read(&[], OWNER), Err(NoSnapshot::Damaged));
    assert_eq!(snapshot::read(&bytes[..bytes.len() - 1], OWNER), Err(NoSnapshot::Damaged));
    let longer: Vec<u8> = bytes.iter().copied().chain([0]).collect();
    assert_eq!(snapshot::read(&longer, OWNER), Err(NoSnapshot::Damaged), "nothing may follow");
    let other: Vec<u8> = [9].into_iter().chain(bytes[1..].iter().copied()).collect();
    assert_eq!(snapshot::read(&other, OWNER), Err(NoSnapshot::Version(9)));
    assert_eq!(NoSnapshot::Version(9).to_string(), "snapshot version 9 is unknown; this build uses version 8");
    assert_eq!(NoSnapshot::Damaged.to_string(), "the snapshot is damaged");
}

/// Bytes that changed since they were written are never read as another state.
#[test]
fn a_snapshot_with_a_flipped_bit_is_refused() {
    let bytes = snapshot::write(&State::new(), OWNER).unwrap();
    for index in 0..bytes.len() {
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[index] ^= 1 << bit;
            assert!(snapshot::read(&flipped, OWNER).is_err(), "byte {index}, bit {bit}");
        }
    }
}

/// A snapshot written before there was a checksum.
#[test]
fn a_snapshot_of_version_2_is_read() {
    let bytes = snapshot::write(&State::new(), OWNER).unwrap();
    let earlier: Vec<u8> = [2].into_iter().chain(bytes[9..].iter().copied()).collect();
    assert_eq!(snapshot::read(&earlier, OWNER), snapshot::read(&bytes, OWNER));
    assert!(snapshot::read(&earlier, OWNER).is_ok());
}

/// A snapshot written before the checksum covered the owner: the bytes that such a build wrote.
#[test]
fn a_snapshot_of_version_4_is_read() {
    let bytes = snapshot::write(&State::new(), OWNER).unwrap();
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let sum = [4].iter().chain(&bytes[9..]).fold(0xcbf2_9ce4_8422_2325, step);
    let mut earlier: Vec<u8> = [4].into_iter().chain(sum.to_le_bytes()).chain(bytes[9..].iter().copied()).collect();
    assert_eq!(snapshot::read(&earlier, OWNER), snapshot::read(&bytes, OWNER));
    assert!(snapshot::read(&earlier, OWNER).is_ok());
    earlier[1] ^= 1;
    assert_eq!(snapshot::read(&earlier, OWNER), Err(NoSnapshot::Damaged));
}

/// A snapshot of another account is refused like a damaged one.
#[test]
fn a_snapshot_of_another_owner_is_refused() {
    let bytes = snapshot::write(&State::new(), OWNER).unwrap();
    for other in [&b"1:a2"[..], b"2:a1", b"1:a", b"1:a11", b""] {
        assert_eq!(snapshot::read(&bytes, other), Err(NoSnapshot::Damaged), "{other:?}");
    }
}
