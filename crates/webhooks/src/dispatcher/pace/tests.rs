//! The pace against simulated receivers, with a manual clock.

use super::*;
use std::collections::VecDeque;

fn at(micros: i64) -> Time {
    Time::from_micros(1_000_000_000_000 + micros)
}

/// The limit of a simulated receiver.
#[derive(Clone, Copy, Debug)]
enum SimulatedLimit {
    /// This many in any second.
    PerSecond(usize),
    /// This many at once.
    AtOnce(usize),
    /// One per this many microseconds.
    Spaced(i64),
}

/// The result of sending as much as the pace allows for some time.
#[derive(Debug)]
struct Run {
    taken: usize,
    refused: usize,
    /// How many were accepted in the first minute.
    first_minute: usize,
}

const TICK: i64 = 1_000;

/// A message in flight: when it arrives, when its response is there, and whether it is accepted.
#[derive(Clone, Copy, Debug)]
struct SimulatedMessage {
    sent: i64,
    /// How many were in flight with it.
    with: usize,
    arrives: i64,
    is_taken: Option<bool>,
    /// When the receiver is done with it, and when its response arrives.
    done: i64,
    answered: i64,
}

/// A receiver: its limit, its response time, the delay it requests when it refuses (which it does at once), the longest
/// transit time of a message or a response, and the longest time for which a busy machine keeps us from sending.
#[derive(Clone, Copy, Debug)]
struct SimulatedReceiver {
    limit: SimulatedLimit,
    answer_after: i64,
    retry_after: i64,
    on_the_way: i64,
    busy: i64,
}

impl SimulatedReceiver {
    /// Sends as much as the pace allows for some seconds.
    fn run(self, pace: &mut Pace, seconds: i64) -> Run {
        let mut under_way: Vec<SimulatedMessage> = Vec::new();
        let mut taken_at: VecDeque<i64> = VecDeque::new();
        let mut run = Run { taken: 0, refused: 0, first_minute: 0 };
        let mut chance = 1_u64;
        let mut up_to = |most: i64| {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            i64::try_from(chance >> 33).expect("31 bits") % (most + 1)
        };
        let mut awake_at = 0;
        for now in (0..seconds * SECOND).step_by(usize::try_from(TICK).expect("positive")) {
            for place in 0..under_way.len() {
                let message = under_way[place];
                if message.is_taken.is_some() || message.arrives > now {
                    continue;
                }
                taken_at.retain(|taken| *taken > now - SECOND);
                let busy = under_way.iter().filter(|other| other.is_taken == Some(true) && other.done > now).count();
                let is_taken = match self.limit {
                    SimulatedLimit::PerSecond(most) => taken_at.len() < most,
                    SimulatedLimit::AtOnce(most) => busy < most,
                    SimulatedLimit::Spaced(gap) => taken_at.back().is_none_or(|last| now - last >= gap),
                };
                if is_taken {
                    taken_at.push_back(now);
                }
                let done = now + if is_taken { self.answer_after } else { 2 * TICK };
                let answered = done + up_to(self.on_the_way);
                under_way[place] = SimulatedMessage { is_taken: Some(is_taken), done, answered, ..message };
            }
            if now < awake_at {
                continue;
            }
            if self.busy > 0 && up_to(50) == 0 {
                awake_at = now + up_to(self.busy);
            }
            let ended: Vec<_> = under_way.iter().filter(|message| message.answered <= now).copied().collect();
            under_way.retain(|message| message.answered > now);
            for message in ended {
                if message.is_taken == Some(true) {
                    run.taken += 1;
                    run.first_minute += usize::from(now < 60 * SECOND);
                    pace.taken(at(now), at(message.sent), message.with);
                } else {
                    run.refused += 1;
                    pace.refused(at(now), message.with, at(now + self.retry_after));
                }
            }
            while pace.may_send(at(now), under_way.len()) {
                let with = under_way.len() + 1;
                pace.sent(at(now), with);
                let (arrives, never) = (now + up_to(self.on_the_way), i64::MAX);
                let (done, answered) = (never, never);
                under_way.push(SimulatedMessage { sent: now, with, arrives, is_taken: None, done, answered });
            }
        }
        run
    }
}

fn pace() -> Pace {
    Pace::new(Allowed { at_once: 64, per_second: None })
}

/// With fast and with slow responses, from the first second on.
#[test]
fn a_url_gets_at_least_nine_tenths_of_what_it_takes() {
    let cases = [
        (SimulatedLimit::PerSecond(10), 2_000, 300, 10.0),
        (SimulatedLimit::PerSecond(10), 100_000, 300, 10.0),
        (SimulatedLimit::PerSecond(10), 500_000, 300, 10.0),
        (SimulatedLimit::PerSecond(10), 1_000_000, 300, 10.0),
        (SimulatedLimit::PerSecond(50), 2_000, 60, 50.0),
        (SimulatedLimit::PerSecond(50), 100_000, 60, 50.0),
        (SimulatedLimit::PerSecond(50), 200_000, 60, 50.0),
        (SimulatedLimit::PerSecond(50), 500_000, 60, 50.0),
        (SimulatedLimit::AtOnce(10), 200_000, 60, 50.0),
        (SimulatedLimit::AtOnce(10), 300_000, 90, 33.3),
        (SimulatedLimit::AtOnce(10), 100_000, 60, 100.0),
        (SimulatedLimit::AtOnce(10), 1_000_000, 300, 10.0),
        (SimulatedLimit::AtOnce(30), 200_000, 60, 150.0),
        (SimulatedLimit::AtOnce(30), 500_000, 50, 60.0),
        (SimulatedLimit::AtOnce(30), 1_000_000, 100, 30.0),
    ];
    let mut failed = Vec::new();
    for (limit, answer_after, seconds, per_second) in cases {
        for on_the_way in [0, 2_000, 10_000] {
            let receiver = SimulatedReceiver { limit, answer_after, retry_after: SECOND, on_the_way, busy: 0 };
            let run = receiver.run(&mut pace(), seconds);
            // Messages in transit are not being processed, which lowers the possible rate of a limit at once.
            let per_second = match limit {
                SimulatedLimit::AtOnce(most) => most as f64 * 1_000_000.0 / (answer_after + on_the_way) as f64,
                _ => per_second,
            };
            let possible = per_second * (seconds.min(60)) as f64;
            let got = run.first_minute as f64 / possible;
            let all = run.taken as f64 / (per_second * seconds as f64);
            println!("{receiver:?}: {got:.3} of the first minute, {all:.3} of all, {run:?}");
            if got < 0.9 || all < 0.9 || run.refused * 20 > run.taken {
                failed.push((receiver, got, all));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Messages that are late because the machine is busy do not lower a rate permanently.
#[test]
fn a_busy_machine_sends_nearly_as_many() {
    let cases = [
        (SimulatedLimit::PerSecond(10), 2_000, 10.0, 0.9),
        (SimulatedLimit::PerSecond(10), 20_000, 10.0, 0.9),
        (SimulatedLimit::PerSecond(50), 2_000, 50.0, 0.9),
        (SimulatedLimit::PerSecond(50), 20_000, 50.0, 0.9),
        (SimulatedLimit::Spaced(100_000), 2_000, 10.0, 0.3),
    ];
    for (limit, on_the_way, per_second, least) in cases {
        let receiver = SimulatedReceiver { limit, answer_after: 50_000, retry_after: SECOND, on_the_way, busy: 60_000 };
        let run = receiver.run(&mut pace(), 300);
        let (got, all) = (run.first_minute as f64 / (per_second * 60.0), run.taken as f64 / (per_second * 300.0));
        println!("{receiver:?}: {got:.3} of the first minute, {all:.3} of all, {run:?}");
        assert!(got >= least && all >= least, "{receiver:?}: {got:.3} of the first minute, {all:.3} of all");
    }
}

/// A limit that allows no burst is far from what the first second shows, but is still found.
#[test]
fn a_limit_that_allows_no_burst_is_found() {
    let limit = SimulatedLimit::Spaced(100_000);
    let receiver = SimulatedReceiver { limit, answer_after: 5_000, retry_after: SECOND, on_the_way: 0, busy: 0 };
    let run = receiver.run(&mut pace(), 600);
    assert!(run.taken > 5_000 && run.refused < 60, "{run:?}");
}

#[test]
fn a_url_that_refuses_is_left_alone_for_as_long_as_it_asked() {
    let mut pace = pace();
    assert!(pace.may_send(at(0), 0));
    pace.sent(at(0), 1);
    pace.refused(at(5), 1, at(30 * SECOND));
    assert!(!pace.may_send(at(30 * SECOND - 1), 0));
    assert_eq!(pace.next_at(at(6)), Some(at(30 * SECOND)));
    assert!(pace.is_waiting(at(6)) && pace.may_send(at(30 * SECOND), 0));
}

#[test]
fn without_a_wish_it_is_left_alone_for_a_second_and_for_longer_while_it_takes_nothing() {
    let mut pace = pace();
    let mut now = 0;
    for length in [1, 2, 4, 8, 16, 32, 60, 60] {
        assert!(pace.may_send(at(now), 0));
        pace.sent(at(now), 1);
        pace.refused(at(now), 1, at(now));
        assert_eq!(pace.next_at(at(now)), Some(at(now + length * SECOND)), "{length}");
        now += length * SECOND;
    }
    assert!(pace.may_send(at(now), 0));
    pace.taken(at(now), at(now), 1);
    pace.refused(at(now), 1, at(now));
    assert!(pace.may_send(at(now + SECOND), 0), "it took one in between");
}

#[test]
fn after_a_failure_one_goes_at_a_time_and_after_none_could_connect_none_for_a_second() {
    let mut pace = pace();
    for _ in 0..20 {
        pace.taken(at(0), at(0), 1);
    }
    assert!(pace.may_send(at(0), 20));
    pace.failed();
    assert!(pace.may_send(at(0), 0) && !pace.may_send(at(0), 1));
    pace.unreachable(at(0));
    assert!(!pace.may_send(at(SECOND - 1), 0) && pace.may_send(at(SECOND), 0));
}

#[test]
fn settings_hold_in_any_second() {
    let mut pace = Pace::new(Allowed { at_once: 2, per_second: Some(5) });
    let mut sent: Vec<i64> = Vec::new();
    for tick in 0..10_000 {
        let now = tick * TICK;
        pace.taken(at(now), at(now), 1);
        if pace.may_send(at(now), 0) {
            pace.sent(at(now), 1);
            sent.push(now);
        }
    }
    assert!((45..=50).contains(&sent.len()), "{}", sent.len());
    assert!(sent.windows(6).all(|six| six[5] - six[0] > SECOND), "{sent:?}");
    assert!(!pace.may_send(at(20 * SECOND), 2), "two at once");
    pace.allow(Allowed { at_once: 3, per_second: None });
    assert!(pace.may_send(at(20 * SECOND), 2));
}

#[test]
fn a_clock_that_goes_back_stops_nothing() {
    let mut pace = Pace::new(Allowed { at_once: 2, per_second: Some(5) });
    pace.sent(at(9_000 * SECOND), 1);
    pace.refused(at(9_000 * SECOND), 1, at(9_001 * SECOND));
    assert!(!pace.may_send(at(9_000 * SECOND), 0));
    assert!(pace.may_send(at(10 * SECOND), 0));
}
