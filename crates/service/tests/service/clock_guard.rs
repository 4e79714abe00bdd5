//! A watched clock: what is done, and what is not, while it cannot be trusted. On PostgreSQL the reference is the
//! server's own clock, so these tests start at the real time; the asserted differences are far larger than the duration
//! of a test.

use crate::support::{Home, Trial, code_of, json_of, on_both, time};
use daybook_clock::{Clock, ClockLimits, Manual, System, Trouble, Watched};
use daybook_engine::time::Time;
use daybook_service::{Service, clockwatch};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

const HOUR: i64 = 3_600_000_000;
const DAY: i64 = 24 * HOUR;
const LIMITS: ClockLimits =
    ClockLimits { most_skew: Duration::from_secs(5), most_jump: Duration::from_secs(7 * 86_400) };

/// The start time of a database in these tests.
fn beginning(home: Home) -> Time {
    match home {
        Home::Sqlite => time("2026-04-10T12:00:00Z"),
        Home::Postgres => System.now(),
    }
}

/// A service with a watched clock on a new database, and the clock below.
async fn watched(home: Home) -> (Trial, Arc<Watched>) {
    let plain = Trial::at(home, &beginning(home).to_string()).await;
    let watched = Arc::new(Watched::new(plain.clock.clone(), LIMITS));
    clockwatch::begin(&*plain.store, &watched, false).await.expect("a new database knows no moment");
    let service = Service::start(plain.store.clone(), watched.clone(), &[7; 32]).await.expect("it starts");
    (Trial { service, ..plain }, watched)
}

async fn compare(trial: &Trial, watched: &Watched) {
    clockwatch::compare(&*trial.store, watched).await.expect("the database answers");
}

/// An account whose first instalment falls due this long after the start.
async fn account_due_in(trial: &Trial, home: Home, micros: i64) {
    trial.product("auto-12", json!({})).await;
    let opening = beginning(home).plus_micros(-28 * DAY);
    let dates = json!({ "product_id": "auto-12", "account_id": "a1", "effective_at": opening.to_string() });
    trial.account_with(dates).await;
    let want =
        daybook_store::AccountToLoad { key: trial.key("a1"), inputs: daybook_store::Inputs::None, names: Vec::new() };
    let loaded = trial.store.load(&[want]).await.expect("it can be loaded").remove(0).expect("it is there");
    let due = loaded.row.now.next_moment.expect("an instalment falls due");
    assert!(due < beginning(home).plus_micros(micros), "it falls due within the step");
}

async fn nothing_is_processed_by_a_clock_that_is_far_off(home: Home) {
    let (trial, watched) = watched(home).await;
    account_due_in(&trial, home, 5 * DAY).await;
    let before = trial.announced("a1").await.len();
    // Set ahead by five days, past the due moment: it is noticed both before and after the next comparison.
    let now = trial.clock_now();
    trial.clock.set(now.plus_micros(5 * DAY));
    for _ in 0..2 {
        trial.settle().await;
        assert_eq!(trial.announced("a1").await.len(), before, "nothing falls due by a clock that is wrong");
        let body = json!({ "line_item_id": "p1", "original_amount_cents": 700 });
        let refused = trial.pay_with("a1", &body).await.expect_err("it is refused");
        assert_eq!(refused.code, "unavailable");
        assert!(refused.message.contains("clock"), "{}", refused.message);
        let product = crate::support::form_of(&crate::support::product("auto-13", &json!({})));
        assert_eq!(code_of(trial.service.create_product(&trial.who, None, product).await), "unavailable");
        assert_eq!(trial.service.ping().await.expect_err("it is not ready").code, "unavailable");
        assert!(trial.service.metrics_text().await.contains("\ndaybook_clock_trusted 0\n"));
        assert_eq!(trial.read("a1").await["account_id"], "a1", "reading goes on");
        compare(&trial, &watched).await;
    }
    // Once the clock is corrected, work continues automatically.
    trial.clock.set(now);
    compare(&trial, &watched).await;
    json_of(trial.pay_with("a1", &json!({ "line_item_id": "p1", "original_amount_cents": 700 })).await);
    trial.service.ping().await.expect("it is ready");
    assert!(trial.service.metrics_text().await.contains("\ndaybook_clock_trusted 1\n"));
    trial.verify().await;
}

async fn a_jump_ahead_is_refused_until_it_is_confirmed(home: Home) {
    let (trial, watched) = watched(home).await;
    // The server last ran 400 days before the clock's time.
    trial.store.note_moment(trial.clock_now().plus_micros(-400 * DAY), true).await.expect("it is noted");
    let refused = clockwatch::begin(&*trial.store, &watched, false).await.expect_err("400 days are a jump");
    assert!(refused.message.contains("400 days after"), "{}", refused.message);
    assert!(refused.message.contains("daybook serve --confirm-clock"), "{}", refused.message);
    clockwatch::begin(&*trial.store, &watched, true).await.expect("it is confirmed");
    assert_eq!(watched.standing(), None);
    clockwatch::begin(&*trial.store, &watched, false).await.expect("once is enough");
    // A week without running is not unusual.
    trial.store.note_moment(trial.clock_now().plus_micros(-6 * DAY), true).await.expect("it is noted");
    clockwatch::begin(&*trial.store, &watched, false).await.expect("no jump");
}

async fn a_clock_behind_what_the_database_knows_waits(home: Home) {
    let (trial, watched) = watched(home).await;
    trial.store.note_moment(trial.clock_now().plus_micros(HOUR), false).await.expect("it is noted");
    clockwatch::begin(&*trial.store, &watched, false).await.expect("it starts, and waits");
    assert!(matches!(watched.standing(), Some(Trouble::Behind(_))), "{:?}", watched.standing());
    assert_eq!(trial.service.ping().await.expect_err("it is not ready").code, "unavailable");
    clockwatch::begin(&*trial.store, &watched, true).await.expect("it is confirmed");
    compare(&trial, &watched).await;
    let latest = trial.store.latest_moment().await.expect("it can be read").expect("it is noted");
    assert!(latest < trial.clock_now().plus_micros(HOUR / 2), "what was noted by a clock that was wrong is forgotten");
}

async fn moments_that_are_noted_never_go_back(home: Home) {
    let (trial, _) = watched(home).await;
    let now = trial.clock_now();
    for (noted, even_back, latest) in [(0, false, 0), (HOUR, false, HOUR), (0, false, HOUR), (0, true, 0)] {
        trial.store.note_moment(now.plus_micros(noted), even_back).await.expect("it is noted");
        assert_eq!(trial.store.latest_moment().await.expect("it can be read"), Some(now.plus_micros(latest)));
    }
}

async fn an_account_that_was_rolled_hampers_no_start(home: Home) {
    let (trial, watched) = watched(home).await;
    trial.product("auto-12", json!({})).await;
    let opening = trial.clock_now().to_string();
    trial.account("auto-12", "a1", &opening).await;
    json_of(trial.roll("a1", &trial.clock_now().plus_micros(700 * DAY).to_string(), false).await);
    trial.store.note_moment(watched.now(), false).await.expect("it is noted");
    clockwatch::begin(&*trial.store, &watched, false).await.expect("the clock is where it was");
    assert_eq!(watched.standing(), None);
    json_of(trial.pay_with("a1", &json!({ "line_item_id": "p1", "original_amount_cents": 700 })).await);
    trial.verify().await;
}

/// On PostgreSQL a node whose clock is slightly wrong follows the database's clock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_a_little_off_is_corrected_by_the_database() {
    let (trial, watched) = watched(Home::Postgres).await;
    for skew in [-2_000_000, 2_000_000] {
        // A separate clock that is wrong, and runs like the real one.
        let off = Arc::new(Manual::at(System.now().plus_micros(skew)));
        let other = Watched::new(off.clone(), LIMITS);
        compare(&trial, &other).await;
        assert_eq!(other.standing(), None);
        let offset = other.offset_micros().expect("it is compared");
        assert!((offset - skew).abs() < 1_500_000, "off by {skew}, found {offset}");
        assert_eq!(other.now(), off.now().plus_micros(-offset), "what it shows is corrected by that");
    }
    assert_eq!(watched.standing(), None);
}

on_both!(
    nothing_is_processed_by_a_clock_that_is_far_off,
    a_jump_ahead_is_refused_until_it_is_confirmed,
    a_clock_behind_what_the_database_knows_waits,
    moments_that_are_noted_never_go_back,
    an_account_that_was_rolled_hampers_no_start,
);
