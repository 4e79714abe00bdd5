//! Searches in the audit trail.

use super::fixtures::*;
use daybook_store::Store;
use daybook_store::audit::{AuditFilter, AuditRecord, AuditRow, NewAuditRecord, Origin};
use daybook_store::records::OrgId;
use std::sync::Arc;

const RECORDS: i64 = 25;
/// How many records a search examines.
const MOST: usize = 4;

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// Every third record is by `b`, every fourth creates a key, every fifth is about `s1`. The clock is set back once.
async fn trail(store: &Arc<dyn Store>, org: OrgId) -> Vec<AuditRow> {
    for number in 1..=RECORDS {
        let actor = if number % 3 == 0 { "b" } else { "a" };
        let origin = Origin { actor: actor.into(), request_id: format!("r{number}"), ..Origin::default() };
        let record = AuditRecord {
            org,
            at: at(if number > 20 { number - 10 } else { number }),
            origin: Arc::new(origin),
            action: if number % 4 == 0 { "create_key" } else { "record_payment" }.into(),
            subject_type: "account".into(),
            subject_id: if number % 5 == 0 { "s1" } else { "s2" }.into(),
            details: "{}".into(),
        };
        store.append_audit(&NewAuditRecord { record, digest: vec![number as u8; 32] }).await.unwrap();
    }
    let mut rows = store.audit_chain(org, 0, 100).await.unwrap();
    rows.reverse();
    rows
}

fn fits(row: &AuditRow, filter: &AuditFilter) -> bool {
    let AuditRow { record, .. } = row;
    let is = |asked: &Option<String>, given: &str| asked.as_deref().is_none_or(|asked| asked == given);
    is(&filter.actor, &record.origin.actor)
        && is(&filter.action, &record.action)
        && is(&filter.subject_id, &record.subject_id)
        && is(&filter.request_id, &record.origin.request_id)
        && filter.since.is_none_or(|since| record.at >= since)
        && filter.until.is_none_or(|until| record.at < until)
}

/// All pages of a search: the records, and where each page ends.
async fn pages(store: &Arc<dyn Store>, org: OrgId, filter: &AuditFilter, limit: usize) -> (Vec<AuditRow>, Vec<i64>) {
    let (mut found, mut ends): (Vec<AuditRow>, Vec<i64>) = (Vec::new(), Vec::new());
    loop {
        let page = store.audit_records(org, filter, ends.last().copied(), limit, MOST).await.unwrap();
        assert!(page.records.len() <= limit, "{filter:?}");
        found.extend(page.records);
        let Some(next) = page.next else { return (found, ends) };
        assert!(ends.last().is_none_or(|last| next < *last), "the search goes on: {filter:?} {ends:?} {next}");
        ends.push(next);
    }
}

pub async fn every_search_finds_what_fits(store: Arc<dyn Store>) {
    let (org, other) = (organization(&store, "one").await, organization(&store, "two").await);
    let rows = trail(&store, org).await;
    trail(&store, other).await;
    for actor in [None, text("b"), text("nobody")] {
        for action in [None, text("record_payment"), text("create_key")] {
            for subject_id in [None, text("s1")] {
                for request_id in [None, text("r5")] {
                    for (since, until) in [(None, None), (Some(12), None), (None, Some(13)), (Some(12), Some(18))] {
                        let (since, until) = (since.map(at), until.map(at));
                        let (actor, action) = (actor.clone(), action.clone());
                        let (subject_id, request_id) = (subject_id.clone(), request_id.clone());
                        let filter = AuditFilter { actor, action, subject_id, request_id, since, until };
                        let expected: Vec<AuditRow> = rows.iter().filter(|row| fits(row, &filter)).cloned().collect();
                        assert_eq!(pages(&store, org, &filter, 3).await.0, expected, "{filter:?}");
                    }
                }
            }
        }
    }
}

pub async fn a_search_without_an_index_examines_so_many_records(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    trail(&store, org).await;
    let none = AuditFilter::default;
    let cases = [
        // Of 25 records, 22 to 25 are examined first.
        (AuditFilter { request_id: text("none"), ..none() }, vec![22, 18, 14, 10, 6, 2]),
        (AuditFilter { request_id: text("r7"), ..none() }, vec![22, 18, 14, 10, 6, 2]),
        (AuditFilter { until: Some(at(0)), ..none() }, vec![22, 18, 14, 10, 6, 2]),
        // Those by `b` are 24, 21, 18, 15, 12, 9, 6 and 3.
        (AuditFilter { actor: text("b"), request_id: text("none"), ..none() }, vec![13]),
        // Those that create a key are 24, 20, 16, 12, 8 and 4.
        (AuditFilter { action: text("create_key"), actor: text("nobody"), ..none() }, vec![9]),
        // Those about `s1` are 25, 20, 15, 10 and 5.
        (AuditFilter { subject_id: text("s1"), action: text("create_key"), actor: text("nobody"), ..none() }, vec![6]),
        // An index finds these.
        (none(), vec![]),
        (AuditFilter { actor: text("b"), ..none() }, vec![]),
        (AuditFilter { action: text("create_key"), ..none() }, vec![]),
        (AuditFilter { subject_id: text("s1"), ..none() }, vec![]),
    ];
    for (filter, ends) in cases {
        assert_eq!(pages(&store, org, &filter, 50).await.1, ends, "{filter:?}");
    }
}

/// The records about one object are few and far apart.
pub async fn a_search_for_one_object_reaches_all_its_records(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let (rare, last) = ([1, 511, 512, 513, 1_023, 1_024, 1_600], 1_700);
    for number in 1..=last {
        let record = AuditRecord {
            org,
            at: at(number),
            origin: Arc::new(Origin { actor: "a".into(), ..Origin::default() }),
            action: if number == 512 { "create_key" } else { "record_payment" }.into(),
            subject_type: "account".into(),
            subject_id: if rare.contains(&number) { "rare" } else { "common" }.into(),
            details: "{}".into(),
        };
        store.append_audit(&NewAuditRecord { record, digest: vec![7; 32] }).await.unwrap();
    }
    let numbers = |rows: &[AuditRow]| rows.iter().rev().map(|row| row.seq).collect::<Vec<i64>>();
    let of_rare = AuditFilter { subject_id: text("rare"), ..AuditFilter::default() };
    for limit in [1, 2, 3, 100] {
        let (found, ends) = pages(&store, org, &of_rare, limit).await;
        assert_eq!(numbers(&found), rare, "{limit} to a page");
        assert_eq!(ends.len(), (rare.len() - 1) / limit, "no page is short: {ends:?}");
        let recent = AuditFilter { since: Some(at(512)), ..of_rare.clone() };
        assert_eq!(numbers(&pages(&store, org, &recent, limit).await.0), rare[2..], "{limit} to a page");
        let keys = AuditFilter { action: text("create_key"), ..of_rare.clone() };
        assert_eq!(numbers(&pages(&store, org, &keys, limit).await.0), [512], "{limit} to a page");
    }
}
