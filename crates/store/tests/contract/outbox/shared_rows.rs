//! Messages in rows of several are the same to every reader as messages in rows of their own.
//!
//! Two organizations have the same log. In one, a unit of work adds several messages of an account; in the other, each
//! message comes alone.

use super::*;
use daybook_store::outbox::MessageFilter;
use daybook_store::upkeep::{Correction, LogStanding, MessageFacts};

const EVENTS: [&str; 3] = ["paid", "closed", "late"];

/// The units that are written together.
fn units() -> Vec<Vec<MessageRow>> {
    let about = |account: &str, sequence: i64, recorded_at: i64| MessageRow {
        event: EVENTS[(sequence as usize * 7 / 3) % 3].into(),
        cause: format!("input:{}", sequence / 2),
        effective_at: at(sequence),
        recorded_at: at(recorded_at),
        data: format!("{{\"event_id\":\"{account}.{sequence}\",\"n\":{sequence}}}").into(),
        signature: format!("signature of {account} {sequence}"),
        ..message(Some(account), sequence, &format!("{account}.{sequence}"))
    };
    let all = |account: &'static str, sequences: std::ops::RangeInclusive<i64>, recorded_at| {
        sequences.map(move |sequence| about(account, sequence, recorded_at))
    };
    vec![
        all("a", 1..=20, 100).collect(),
        vec![event("paid", 100)],
        all("b", 1..=3, 110).chain(all("a", 21..=25, 110)).collect(),
        vec![event("test_event", 115), event("closed", 116)],
        all("b", 4..=9, 120).chain([waiting("b", 10, "b.10", at(130))]).chain(all("b", 11..=12, 120)).collect(),
        all("a", 26..=42, 140).collect(),
    ]
}

const HEAD: i64 = 20 + 1 + 8 + 2 + 8 + 17;

/// Writes the log of both organizations: one with rows of several messages, one without.
async fn both(store: &Arc<dyn Store>) -> [OrgId; 2] {
    let orgs = [organization(store, "together").await, organization(store, "alone").await];
    write_both(store, orgs, units()).await;
    assert_eq!(same(store, orgs, async |org| log(store, org).await).await.len() as i64, HEAD);
    orgs
}

async fn write_both(store: &Arc<dyn Store>, [together, alone]: [OrgId; 2], units: Vec<Vec<MessageRow>>) {
    for messages in units {
        written(store, vec![message_unit(messages.iter().cloned().map(|one| (together, one)).collect())]).await;
        for one in messages {
            written(store, vec![message_unit(vec![(alone, one)])]).await;
        }
    }
}

/// What is read of both organizations, which must be the same.
async fn same<T: PartialEq + std::fmt::Debug>(
    _store: &Arc<dyn Store>,
    [together, alone]: [OrgId; 2],
    read: impl AsyncFn(OrgId) -> T,
) -> T {
    let (found, expected) = (read(together).await, read(alone).await);
    assert_eq!(found, expected);
    found
}

pub async fn the_log_is_the_same(store: Arc<dyn Store>) {
    let orgs = both(&store).await;
    for after in 0..=HEAD {
        for limit in [0, 1, 2, 5, 17, 100] {
            let read = same(&store, orgs, async |org| store.messages(org, after, limit).await.unwrap()).await;
            assert_eq!(read.len() as i64, (HEAD - after).min(limit as i64), "after {after}");
        }
    }
    for account in ["a", "b", "none"] {
        for after in 0..=45 {
            for limit in [1, 4, 50] {
                let key = |org| account_key(org, account);
                same(&store, orgs, async |org| store.messages_of(&key(org), after, limit).await.unwrap()).await;
            }
            let id = format!("{account}.{after}");
            let of = Some((account, after));
            same(&store, orgs, async |org| store.message(org, &id, of).await.unwrap()).await;
        }
    }
    let free = same(&store, orgs, async |org| store.message(org, "closed at 116", None).await.unwrap()).await;
    assert_eq!(free.unwrap().position, Some(31));
}

pub async fn messages_by_cause_are_the_same(store: Arc<dyn Store>) {
    let orgs = both(&store).await;
    let mut found = 0;
    for account in ["a", "b"] {
        for causes in [&["input:3"][..], &["input:0", "input:8", "input:12"], &["input:1", "input:5", "none"], &[]] {
            for before in [None, Some("input:4"), Some("input:6"), Some("input:12"), Some("none")] {
                let read =
                    async |org| store.messages_by_cause(&account_key(org, account), causes, before).await.unwrap();
                found += same(&store, orgs, read).await.len();
            }
        }
    }
    assert!(found > 50, "{found}");
}

pub async fn feeds_are_the_same(store: Arc<dyn Store>) {
    let orgs = both(&store).await;
    let filters: [Option<&[&str]>; 5] =
        [None, Some(&["paid"]), Some(&["closed", "late"]), Some(&["none"]), Some(&["paid", "closed", "late"])];
    for filter in filters {
        let filter: Option<Vec<String>> = filter.map(|events| events.iter().map(|one| (*one).to_owned()).collect());
        for missed in [false, true] {
            for after in 0..=HEAD {
                for (through, limit) in [(HEAD, 1), (HEAD, 7), (HEAD, 100), (after + 3, 100), (after + 20, 4)] {
                    let filter = filter.as_deref();
                    let read = async |org| {
                        let reader = SubscriptionFilter { org, filter, uuid: "one", missed };
                        store.feed(reader, after, through, limit).await.unwrap()
                    };
                    let fed = same(&store, orgs, read).await;
                    assert!(fed.iter().all(|one| after < one.position && one.position <= through), "{after} {through}");
                }
            }
        }
    }
}

pub async fn searches_are_the_same(store: Arc<dyn Store>) {
    let orgs = both(&store).await;
    for account in [None, Some("a"), Some("b")] {
        for event in [None, Some("paid"), Some("late"), Some("none")] {
            for (since, until) in [(None, None), (Some(105), None), (None, Some(116)), (Some(110), Some(120))] {
                let filter = MessageFilter {
                    account: account.map(Arc::from),
                    event: event.map(str::to_owned),
                    since: since.map(at),
                    until: until.map(at),
                };
                for (before, limit) in [(i64::MAX, 3), (i64::MAX, 100), (30, 5), (18, 2), (17, 100), (9, 100), (1, 9)] {
                    let read = async |org| store.search_log(org, &filter, before, limit).await.unwrap();
                    same(&store, orgs, read).await;
                }
            }
        }
    }
}

/// Subscriptions of both organizations: to all events, and to some.
async fn subscribed(store: &Arc<dyn Store>, orgs: [OrgId; 2]) -> [[Subscription; 3]; 2] {
    let mut made = Vec::new();
    for org in orgs {
        made.push([
            subscribe(store, org, "https://all", None).await,
            subscribe(store, org, "https://paid", Some(&["paid"])).await,
            subscribe(store, org, "https://others", Some(&["closed", "late"])).await,
        ]);
    }
    made.try_into().unwrap()
}

/// Everything that callers see of the deliveries of an organization.
async fn seen(store: &Arc<dyn Store>, org: OrgId) -> String {
    let mut seen = String::new();
    let mut note = |what: &dyn std::fmt::Debug| seen.push_str(&format!("{what:?}\n"));
    for of in store.subscriptions(org).await.unwrap() {
        note(&(&of.url, of.cursor, &of.filter, of.paused.is_some()));
        note(&backlog(store, &of).await);
        note(&sent_again(store, &of, at(LATE)).await);
        let due = store.due_failures(org, of.id, at(LATE), 3).await.unwrap();
        note(&due);
        let ranges = store.replaying(org, of.id).await.unwrap();
        note(&ranges.iter().map(|range| (range.after, range.last, &range.filter)).collect::<Vec<_>>());
        for event in [None, Some("paid"), Some("late")] {
            for account in [None, Some("a"), Some("b")] {
                for (since, until) in [(None, None), (Some(115), Some(200))] {
                    let filter = DeliveryFilter {
                        event: event.map(str::to_owned),
                        account: account.map(Arc::from),
                        since: since.map(at),
                        until: until.map(at),
                        ..only(&of)
                    };
                    for after in [None, Some((10, of.id)), Some((38, of.id))] {
                        let letters = store.dead_letters(org, &filter, at(LATE), after, 7).await.unwrap();
                        for letter in letters {
                            let about = letter.about;
                            note(&(about.position, about.event, about.event_id, about.account, letter.dead_at));
                            note(&(letter.attempts, letter.reason, letter.status));
                        }
                    }
                    for delivered in [None, Some(true)] {
                        let filter = DeliveryFilter { delivered, ..filter.clone() };
                        for line in store.attempts(org, &filter, None, 9).await.unwrap() {
                            note(&(line.about.event, line.about.event_id, line.about.account, line.attempt));
                        }
                    }
                    note(&store.replay(org, &filter, at(LATE), true).await.unwrap());
                    note(&store.replay_delivered(org, &filter, at(LATE), true, 100).await.unwrap());
                }
            }
        }
    }
    let positions: Vec<i64> = (1..=HEAD + 30).collect();
    for (records, position) in store.delivery_records(org, &positions).await.unwrap().iter().zip(1..) {
        for message in store.messages(org, position - 1, 1).await.unwrap() {
            note(&records.iter().map(|records| records.of(&message, at(LATE))).collect::<Vec<_>>());
        }
    }
    for url in store.url_metrics().await.unwrap().into_iter().filter(|url| url.org == org) {
        note(&(url.is_paused, url.pending, url.oldest_pending, url.dead));
    }
    seen
}

async fn seen_the_same(store: &Arc<dyn Store>, orgs: [OrgId; 2], when: &str) {
    let [found, expected] = [seen(store, orgs[0]).await, seen(store, orgs[1]).await];
    for (found, expected) in found.lines().zip(expected.lines()) {
        assert_eq!(found, expected, "{when}");
    }
    assert_eq!(found.len(), expected.len(), "{when}");
}

/// Delivers some of the first messages, and fails to deliver others.
async fn deliver(store: &Arc<dyn Store>, of: &Subscription) {
    let filter = SubscriptionFilter { missed: false, ..of.subscription_filter() };
    let fed = store.feed(filter, 0, 27, 1_000).await.unwrap();
    let failed = fed.iter().skip(1).step_by(3).map(|one| one.position).zip(0..);
    let failed = failed.map(|(position, number)| match number % 3 {
        0 => failure(position, Fate::Retry(at(200 + position))),
        _ => failure(position, Fate::Dead(at(100 + position))),
    });
    let failed: Vec<Failure> = failed.collect();
    let attempts = fed.iter().map(|one| attempt(one.position, 1, 200 + one.position)).collect();
    kept(store, Deliveries { cursor: 27, attempts, failed, ..deliveries(of) }).await;
}

pub async fn deliveries_are_the_same(store: Arc<dyn Store>) {
    let orgs = [organization(&store, "together").await, organization(&store, "alone").await];
    let all = subscribed(&store, orgs).await;
    write_both(&store, orgs, units()).await;
    seen_the_same(&store, orgs, "before any delivery").await;
    lease(&store, ME).await;
    for of in all.as_flattened() {
        deliver(&store, of).await;
    }
    seen_the_same(&store, orgs, "after some deliveries").await;
    for of in all.as_flattened() {
        pause(&store, of, 300).await;
    }
    let later = |account: &str, sequence: i64, recorded_at| MessageRow {
        event: EVENTS[sequence as usize % 3].into(),
        effective_at: at(recorded_at),
        recorded_at: at(recorded_at),
        ..message(Some(account), sequence, &format!("{account}.{sequence}"))
    };
    let more: Vec<MessageRow> = (50..=70).map(|sequence| later("a", sequence, 310)).collect();
    write_both(&store, orgs, vec![more, (50..=55).map(|sequence| later("b", sequence, 320)).collect()]).await;
    seen_the_same(&store, orgs, "while all are paused").await;
    for of in all.as_flattened() {
        resume(&store, of).await;
    }
    seen_the_same(&store, orgs, "after they are resumed").await;
    let asked = |event: Option<&str>, account: Option<&str>, since: Option<i64>| DeliveryFilter {
        event: event.map(str::to_owned),
        account: account.map(Arc::from),
        since: since.map(at),
        ..DeliveryFilter::default()
    };
    for filter in [
        asked(Some("late"), None, None),
        asked(None, Some("b"), None),
        asked(Some("paid"), Some("a"), Some(305)),
        asked(None, None, Some(315)),
    ] {
        same(&store, orgs, async |org| replay(&store, org, &filter, at(400)).await).await;
        seen_the_same(&store, orgs, &format!("after {filter:?}")).await;
    }
    for filter in [asked(Some("paid"), None, None), asked(None, Some("a"), None)] {
        let again = async |org| store.replay_delivered(org, &filter, at(400), false, 100).await.unwrap();
        assert!(same(&store, orgs, again).await.is_some());
        seen_the_same(&store, orgs, &format!("after delivered {filter:?}")).await;
    }
    for [of, ..] in &all {
        let uuid = &of.uuid;
        for position in [5, 21, 40, 60] {
            store.send_again(of.org, uuid, position, at(500), None).await.unwrap();
        }
    }
    seen_the_same(&store, orgs, "after some are sent again").await;
    for org in orgs {
        subscribe(&store, org, "https://all", Some(&["paid"])).await;
        subscribe(&store, org, "https://others", Some(&["late"])).await;
    }
    seen_the_same(&store, orgs, "with narrower filters").await;
    for (before, limit) in [(at(305), 3), (at(305), 100), (at(LATE), 4)] {
        store.expire_dead_letters(before, limit).await.unwrap();
        store.expire_dead_letters(before, limit).await.unwrap();
    }
    store.expire_dead_letters(at(LATE), 1_000).await.unwrap();
    seen_the_same(&store, orgs, "after dead letters expired").await;
}

/// A row goes when all its messages are old and not needed, with the list of its events.
pub async fn rows_expire_with_their_last_message(store: Arc<dyn Store>) {
    let orgs = [organization(&store, "together").await, organization(&store, "alone").await];
    let all = subscribed(&store, orgs).await;
    write_both(&store, orgs, units()).await;
    lease(&store, ME).await;
    for of in all.as_flattened() {
        kept(&store, Deliveries { cursor: HEAD, ..deliveries(of) }).await;
    }
    let [[of, ..], _] = &all;
    kept(&store, Deliveries { cursor: HEAD, failed: vec![failure(19, Fate::Retry(at(9)))], ..deliveries(of) }).await;
    let first = async |org| store.log_standing(org).await.unwrap().first;
    assert_eq!(store.expire_messages(at(100), 1_000).await.unwrap(), 0);
    assert_eq!(store.expire_messages(at(101), 1).await.unwrap(), 16 + 1, "a row at least");
    assert_eq!([first(orgs[0]).await, first(orgs[1]).await], [17, 2]);
    let gone = store.expire_messages(at(LATE), 1_000).await.unwrap();
    assert_eq!(gone, (HEAD - 1).unsigned_abs(), "the other log; the row with the retry stays");
    assert_eq!(first(orgs[0]).await, 17);
    assert_eq!(log(&store, orgs[0]).await.first().unwrap(), &(17, "a.17".to_owned()));
    kept(&store, Deliveries { cursor: HEAD, recovered: vec![19], ..deliveries(of) }).await;
    assert_eq!(store.expire_messages(at(120), 3).await.unwrap(), 4, "a row at least");
    assert_eq!(store.expire_messages(at(120), 1_000).await.unwrap(), 1 + 8 + 2, "not before all are old");
    let standing = store.log_standing(orgs[0]).await.unwrap();
    assert_eq!(standing, LogStanding { head: HEAD, hurried: 0, first: 32, last: HEAD, count: HEAD - 31 });
    assert_eq!(store.check_message_rows(orgs[0], 0, 100).await.unwrap().off, [], "nor are lists of events left");
    assert_eq!(store.expire_messages(at(LATE), 1_000).await.unwrap(), (HEAD - 31).unsigned_abs());
    assert_eq!(store.check_message_rows(orgs[0], 0, 100).await.unwrap().off, []);
    // The row after an empty log is that of another organization.
    assert_eq!(store.messages(orgs[0], 0, 10).await.unwrap(), []);
}

/// A caller goes on as long as a step removes as many messages as its limit, or more.
pub async fn a_step_that_leaves_expired_messages_is_full(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    for first in 0..7 {
        let about = |number: i64| message(Some("a"), first * 3 + number, &format!("a.{first}.{number}"));
        written(&store, vec![message_unit((1..=3).map(|number| (org, about(number))).collect())]).await;
    }
    assert_eq!(store.expire_messages(at(LATE), 10).await.unwrap(), 4 * 3);
    assert_eq!(store.expire_messages(at(LATE), 9).await.unwrap(), 3 * 3);
    assert_eq!(store.expire_messages(at(LATE), 9).await.unwrap(), 0);
    assert_eq!(log(&store, org).await, []);
}

/// The row of another organization's log is never taken for one of this log.
pub async fn logs_end_before_those_of_others(store: Arc<dyn Store>) {
    let (empty, [together, _]) = (organization(&store, "empty").await, both(&store).await);
    let filter = ["paid".to_owned(), "late".to_owned(), "closed".to_owned()];
    for filter in [None, Some(&filter[..])] {
        let reader = SubscriptionFilter { org: empty, filter, uuid: "one", missed: false };
        assert_eq!(store.feed(reader, 0, i64::MAX, 100).await.unwrap(), []);
        let reader = SubscriptionFilter { org: together, ..reader };
        assert_eq!(store.feed(reader, 0, i64::MAX, 1_000).await.unwrap().len() as i64, HEAD);
        let fed = store.feed(reader, HEAD - 2, i64::MAX, 100).await.unwrap();
        assert!(fed.len() <= 2 && fed.iter().all(|one| one.position > HEAD - 2));
    }
    let of = subscribe(&store, empty, "https://a", None).await;
    for position in [1, 2, 16, 20] {
        let sent = store.send_again(empty, &of.uuid, position, at(1), None).await.unwrap();
        assert_eq!(sent, daybook_store::outbox::ResendResult::NotForIt, "{position}");
    }
    lease(&store, ME).await;
    let failed = (1..=20).map(|position| failure(position, Fate::Retry(at(1)))).collect();
    kept(&store, Deliveries { failed, attempts: vec![attempt(7, 1, 1)], ..deliveries(&of) }).await;
    assert_eq!(store.due_failures(empty, of.id, at(2), 100).await.unwrap(), []);
    assert_eq!(store.attempts(empty, &DeliveryFilter::default(), None, 10).await.unwrap(), []);
    assert_eq!(store.messages(empty, 0, 10).await.unwrap(), []);
}

pub async fn one_message_of_a_row_is_corrected(store: Arc<dyn Store>) {
    let orgs = both(&store).await;
    for recorded_at in [100, 99] {
        let facts = MessageFacts {
            sequence: 9,
            event: "closed".into(),
            event_id: "a.9".into(),
            cause: "period:2".into(),
            subject: "li_9".into(),
            effective_at: at(77),
            recorded_at: at(recorded_at),
            waits: None,
        };
        for org in orgs {
            let correction = Correction::Message(account_key(org, "a"), Box::new(facts.clone()));
            store.correct(&[correction]).await.unwrap();
            assert_eq!(store.check_message_rows(org, 0, 100).await.unwrap().off, []);
            assert_eq!(store.log_standing(org).await.unwrap().count, HEAD);
        }
        let read = same(&store, orgs, async |org| store.messages(org, 0, 1_000).await.unwrap()).await;
        let ninth = &read[8];
        assert_eq!(
            (ninth.event.as_str(), ninth.cause.as_str(), ninth.subject.as_str()),
            ("closed", "period:2", "li_9")
        );
        assert_eq!((ninth.effective_at, ninth.recorded_at), (at(77), at(recorded_at)));
        let by_cause =
            async |org| store.messages_by_cause(&account_key(org, "a"), &["period:2"], None).await.unwrap().len();
        assert_eq!(same(&store, orgs, by_cause).await, 1);
        let filter = MessageFilter { event: Some("closed".into()), ..MessageFilter::default() };
        same(&store, orgs, async |org| store.search_log(org, &filter, i64::MAX, 100).await.unwrap()).await;
    }
}
