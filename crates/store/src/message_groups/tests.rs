use super::codec::MessageContent;
use super::reading::mark_of;
use super::writing::rows_of;
use super::*;
use bytes::Bytes;
use daybook_engine::time::Time;
use std::collections::BTreeMap;
use std::sync::Arc;

mod turning_over;

const ORG: OrgId = 7;
/// After all that happened.
const NOW: Time = Time::from_seconds(10_000);

/// A message as the service writes it: its data begins with the event id.
fn message(account: Option<&str>, sequence: i64) -> MessageRow {
    let event_id = format!("dbk_evt_3f9a0c2b71.{}.{sequence}", account.unwrap_or("c"));
    let data = format!("{{\"event_id\":\"{event_id}\",\"changed_at\":\"2026-01-01\",\"account_sequence\":{sequence}}}");
    MessageRow {
        position: None,
        due_at: None,
        cancelled_at: None,
        account: account.map(Arc::from),
        sequence,
        event: "line_item_create".to_owned(),
        event_id,
        cause: format!("input:{sequence}"),
        subject: format!("p{sequence}"),
        effective_at: Time::from_seconds(sequence),
        recorded_at: NOW,
        data: Bytes::from(data),
        signature: signature(sequence),
    }
}

/// A signature of 32 bytes, different for each message.
fn signature(number: i64) -> String {
    format!("sig{}{:038}o=", number % 10, number)
}

fn with_org(messages: &[MessageRow]) -> Vec<(OrgId, MessageRow)> {
    messages.iter().map(|message| (ORG, message.clone())).collect()
}

/// The rows of messages as they are stored: those of the log, from this position on, and the waiting ones.
fn stored(messages: &[MessageRow], first_position: i64) -> (Vec<StoredRow>, Vec<MessageRow>) {
    let (mut log, mut waiting) = (Vec::new(), Vec::new());
    let mut head = first_position - 1;
    for (_, NewRow { size, columns, .. }) in rows_of(&with_org(messages)).expect("rows are made") {
        if columns.due_at.is_some() {
            waiting.push(columns);
        } else {
            head += size;
            log.push(StoredRow { size, columns: MessageRow { position: Some(head), ..columns } });
        }
    }
    (log, waiting)
}

fn read(rows: &[StoredRow]) -> Vec<MessageRow> {
    let expanded = expand(rows.to_vec(), []);
    assert!(expanded.damaged.is_empty() && expanded.lost.is_empty(), "{expanded:?}");
    expanded.messages
}

fn without_position(mut rows: Vec<MessageRow>) -> Vec<MessageRow> {
    rows.iter_mut().for_each(|row| row.position = None);
    rows
}

fn many(count: i64) -> Vec<MessageRow> {
    (1..=count).map(|sequence| message(Some("loan-1"), sequence)).collect()
}

fn sizes(rows: &[StoredRow]) -> Vec<i64> {
    rows.iter().map(|row| row.size).collect()
}

/// The rows that the build of schema 16 wrote: one for each message, with groups that extend over several.
fn of_schema_16(messages: &[MessageRow], first_position: i64) -> Vec<StoredRow> {
    let mut rows = Vec::new();
    for group in messages.chunks(MOST_IN_GROUP) {
        let contents: Vec<MessageContent> = group.iter().map(MessageContent::with_texts).collect();
        let mut holder = vec![HOLDS_GROUP];
        codec::write(&contents, &mut holder).expect("it is compressed");
        for (message, distance) in group.iter().zip((0..group.len() as u8).rev()) {
            let data = match distance {
                0 => Bytes::from(holder.clone()),
                _ => Bytes::from([&[HELD_BY_LATER, distance][..], &mark_of(&message.signature)].concat()),
            };
            let (event_id, subject, signature) = Default::default();
            let position = Some(first_position + rows.len() as i64);
            let columns = MessageRow { position, data, event_id, subject, signature, ..message.clone() };
            rows.push(StoredRow { size: 1, columns });
        }
    }
    rows
}

#[test]
fn what_was_written_is_read_again() {
    let waiting = MessageRow { due_at: Some(Time::from_seconds(99)), ..message(Some("loan-1"), 90) };
    let odd = MessageRow {
        data: Bytes::from_static(&[2, 1]),
        signature: "none".to_owned(),
        event_id: String::new(),
        subject: String::new(),
        effective_at: Time::from_micros(-7_000_001),
        recorded_at: Time::from_micros(1),
        ..message(Some("loan-2"), 5)
    };
    let odds = [odd.clone(), MessageRow { sequence: 6, event: "é".to_owned(), ..odd.clone() }];
    for extra in [vec![], vec![waiting.clone()], odds.to_vec(), vec![odd.clone(), message(None, 3), waiting, odd]] {
        for count in [1, 2, 15, 16, 17, 40] {
            let given: Vec<MessageRow> = many(count).into_iter().chain(extra.clone()).chain(many(3)).collect();
            let (log, waiting) = stored(&given, 100);
            let (given_waiting, given_log): (Vec<_>, Vec<_>) = given.into_iter().partition(|one| one.due_at.is_some());
            let read = read(&log);
            let positions: Vec<Option<i64>> = (100..).take(given_log.len()).map(Some).collect();
            assert_eq!(read.iter().map(|message| message.position).collect::<Vec<_>>(), positions);
            assert_eq!(without_position(read), given_log);
            assert_eq!(waiting.into_iter().map(expand_waiting).collect::<Vec<_>>(), given_waiting);
        }
    }
}

#[test]
fn messages_of_one_account_in_a_row_share_a_row() {
    let with = |change: fn(&mut MessageRow)| {
        let mut given = many(6);
        change(&mut given[3]);
        sizes(&stored(&given, 1).0)
    };
    assert_eq!(sizes(&stored(&many(40), 1).0), [16, 16, 8]);
    assert_eq!(with(|_| ()), [6]);
    assert_eq!(with(|message| message.account = Some(Arc::from("loan-2"))), [3, 1, 2]);
    assert_eq!(with(|message| message.account = None), [3, 1, 2]);
    assert_eq!(with(|message| message.sequence = 90), [3, 1, 2], "consecutive numbers");
    assert_eq!(with(|message| message.recorded_at = Time::from_seconds(20_000)), [3, 1, 2], "recorded at once");
    let earlier = |message: &mut MessageRow| {
        message.recorded_at = Time::from_seconds(9_000);
        message.effective_at = NOW;
    };
    assert_eq!(with(earlier), [3, 1, 2], "recorded at once");
    assert_eq!(with(|message| message.effective_at = Time::from_seconds(20_000)), [3, 1, 2], "not before its time");
    assert_eq!(with(|message| message.event = "test_event".to_owned()), [3, 1, 2]);
    assert_eq!(with(|message| message.event = "subscription_paused".to_owned()), [3, 1, 2]);
    assert_eq!(with(|message| message.cause = "two words".to_owned()), [3, 1, 2]);
    assert_eq!(with(|message| message.cause = String::new()), [3, 1, 2]);
    assert_eq!(with(|message| message.cause = "x".repeat(999)), [3, 1, 2], "causes are in an index");
    // A message that waits leaves a hole in the numbers.
    assert_eq!(with(|message| message.due_at = Some(NOW)), [3, 2]);
    // All at one later moment.
    let later = |mut one: MessageRow| {
        one.effective_at = Time::from_seconds(20_000);
        one
    };
    assert_eq!(sizes(&stored(&many(5).into_iter().map(later).collect::<Vec<_>>(), 1).0), [5]);
}

#[test]
fn organizations_have_logs_of_their_own() {
    let given: Vec<(OrgId, MessageRow)> =
        many(4).into_iter().zip([7, 8].into_iter().cycle()).map(|(message, org)| (org, message)).collect();
    let numbered: Vec<(OrgId, MessageRow)> = given
        .into_iter()
        .map(|(org, message)| (org, MessageRow { sequence: (message.sequence + 1) / 2, ..message }))
        .collect();
    let rows: BTreeMap<OrgId, i64> =
        rows_of(&numbered).expect("rows are made").into_iter().map(|(org, row)| (org, row.size)).collect();
    assert_eq!(rows, BTreeMap::from([(7, 2), (8, 2)]));
}

#[test]
fn the_columns_of_a_row_are_those_of_all_its_messages() {
    let mut given = many(4);
    given[1].event = "account_update".to_owned();
    given[2].cause = "input:1".to_owned();
    let row = rows_of(&with_org(&given)).expect("a row is made").remove(0).1;
    let MessageRow { account, sequence, event, event_id, cause, subject, effective_at, recorded_at, .. } = row.columns;
    assert_eq!((row.size, account.as_deref(), sequence), (4, Some("loan-1"), 4));
    assert_eq!([event, event_id, subject, row.columns.signature], [""; 4]);
    assert_eq!(cause, "input:1 input:2 input:4");
    assert_eq!((effective_at, recorded_at), (Time::from_seconds(1), NOW));
    assert_eq!(row.events, [("line_item_create".to_owned(), 0b1011), ("account_update".to_owned(), 0b0100)]);
}

#[test]
fn a_row_of_one_message_keeps_its_columns() {
    let own = &stored(&[message(None, 1)], 1).0[0].columns;
    assert_eq!((own.event_id.as_str(), own.subject.as_str()), ("dbk_evt_3f9a0c2b71.c.1", "p1"));
    let of_account = &stored(&many(1), 1).0[0].columns;
    assert_eq!((of_account.event_id.as_str(), of_account.subject.as_str()), ("", ""));
    assert_eq!((of_account.event.as_str(), of_account.cause.as_str()), ("line_item_create", "input:1"));
}

#[test]
fn a_column_that_is_not_empty_is_valid() {
    let mut rows = of_schema_16(&many(2), 1);
    rows[0].columns.signature = "another".to_owned();
    rows[0].columns.event_id = "another".to_owned();
    let read = read(&rows);
    assert_eq!((read[0].signature.as_str(), read[0].event_id.as_str()), ("another", "another"));
    assert_eq!(read[0].subject, "p1");
}

#[test]
fn a_row_of_schema_16_is_read_with_the_row_that_holds_its_group() {
    let given = many(40);
    let rows = of_schema_16(&given, 100);
    assert_eq!(without_position(read(&rows)), given);
    for (index, expected) in given.iter().enumerate() {
        let alone = vec![rows[index].clone()];
        let missing = missing_rows(&alone);
        let holder = (index / MOST_IN_GROUP * MOST_IN_GROUP + MOST_IN_GROUP - 1).min(given.len() - 1);
        let expected_missing = if index == holder { vec![] } else { vec![100 + holder as i64] };
        assert_eq!(missing, expected_missing, "{index}");
        let further = missing.iter().map(|at| (*at, rows[(*at - 100) as usize].columns.data.clone()));
        assert_eq!(&without_position(expand(alone, further).messages)[0], expected, "{index}");
    }
    let lost = expand(vec![rows[0].clone()], []);
    assert!(lost.messages[0].data.is_empty() && lost.lost == [100], "{lost:?}");
}

/// Whatever bit of a row is damaged: none of its messages is read, and each is still known by its row.
#[test]
fn a_damaged_row_is_noticed() {
    let rows = stored(&many(5), 1).0;
    let content = rows[0].columns.data.clone();
    for at in 0..content.len() {
        for bit in 0..8 {
            let mut damaged = content.to_vec();
            damaged[at] ^= 1 << bit;
            let mut row = rows[0].clone();
            row.columns.data = Bytes::from(damaged);
            let mut read = expand(vec![row], []);
            assert_eq!(read.damaged, [5], "bit {bit} of byte {at}");
            read.name_events(5, &[("one".to_owned(), 0b10101), ("other".to_owned(), 0b01010)]);
            for (message, sequence) in read.messages.iter().zip(1..) {
                assert_eq!((message.position, message.sequence), (Some(sequence), sequence));
                assert_eq!(message.event, if sequence % 2 == 1 { "one" } else { "other" });
                assert!(message.data.is_empty() && message.event_id.is_empty(), "bit {bit} of byte {at}");
            }
        }
    }
}

/// A wrong number of messages hides none of them and damages none.
#[test]
fn a_row_of_another_size_is_read_as_its_content_says() {
    let single =
        |data: Bytes| StoredRow { size: 1, columns: MessageRow { position: Some(3), data, ..message(None, 3) } };
    let (of_one, of_16) = (stored(&many(1), 100).0, of_schema_16(&many(3), 1));
    let plain = single(message(None, 3).data);
    let several = stored(&many(5), 100).0.remove(0);
    for (given, others) in
        [(several.clone(), &of_one), (of_one[0].clone(), &of_one), (plain, &of_one), (of_16[1].clone(), &of_16)]
    {
        let further = || others.iter().map(|row| (row.last(), row.columns.data.clone()));
        let expected = expand(vec![given.clone()], further());
        assert!(expected.messages.iter().all(|message| !message.data.is_empty()));
        for size in [-1, 0, 1, 2, 4, 5, 6, 1_000_000] {
            let row = StoredRow { size, ..given.clone() };
            assert_eq!(row.before(), given.before(), "{size}");
            assert_eq!(expand(vec![row], further()).messages, expected.messages, "{size}");
        }
    }
    // If neither can be believed, there are at most as many as a row may have.
    let unreadable = Bytes::from_static(&[HOLDS_SEVERAL, 1, 5]);
    let row = StoredRow { size: 1_000_000, columns: MessageRow { data: unreadable, ..several.columns } };
    assert_eq!(expand(vec![row], []).messages.len(), MOST_IN_GROUP);
}

/// Content of several messages that is damaged is never taken for that of one: the other messages would be removed.
#[test]
fn damaged_content_says_nothing_about_its_row() {
    let row = stored(&many(5), 100).0.remove(0);
    let events = [("line_item_create".to_owned(), 0b11111)];
    let mut damaged: Vec<Vec<u8>> = vec![vec![], vec![HOLDS_SEVERAL], vec![HELD_BY_LATER, 3, 1], vec![b'{']];
    for first in (0..=u8::MAX).filter(|first| *first != HOLDS_SEVERAL) {
        let mut content = row.columns.data.to_vec();
        content[0] = first;
        damaged.push(content);
    }
    for content in damaged {
        let columns = MessageRow { data: Bytes::from(content), ..row.columns.clone() };
        let row = StoredRow { size: 5, columns };
        let first = row.columns.data.first();
        assert_eq!(check(&row, &events), None, "{first:?}");
        assert_eq!(expand(vec![row.clone()], []).messages.len(), 5, "{first:?}");
    }
}

/// Whatever bit of a row of schema 16 is damaged: its message is not read, and no other one in its place.
#[test]
fn a_damaged_distance_is_noticed() {
    let given = many(5);
    let rows = of_schema_16(&given, 1);
    for at in 0..rows[1].columns.data.len() {
        for bit in 0..8 {
            let mut damaged = rows[1].columns.data.to_vec();
            damaged[at] ^= 1 << bit;
            let mut read = rows.clone();
            read[1].columns.data = Bytes::from(damaged);
            for (index, (row, given)) in expand(read, []).messages.iter().zip(&given).enumerate() {
                let expected = if index == 1 { &Bytes::new() } else { &given.data };
                assert_eq!(&row.data, expected, "bit {bit} of byte {at}, message {index}");
            }
        }
    }
}

#[test]
fn a_large_message_has_a_row_of_its_own() {
    let mut given = many(5);
    given[2].data = Bytes::from(format!("{{\"a\":\"{}\"}}", "x".repeat(GROUP_BYTES_MAX)));
    let rows = stored(&given, 1).0;
    assert_eq!(sizes(&rows), [2, 1, 2]);
    assert_eq!(without_position(read(&rows)), given);
}

#[test]
fn a_cause_is_found_among_several() {
    let has = |column: &str, cause: &str| has_cause(column, |one| one == cause);
    assert!(has("input:1 input:12", "input:12") && has("input:1", "input:1") && has("two words", "two words"));
    assert!(!has("input:1 input:12", "input:2") && !has("input:12", "input:1") && !has("input:1", ""));
}

#[test]
fn columns_that_are_not_those_of_the_content_are_found() {
    let new = rows_of(&with_org(&many(5))).expect("a row is made").remove(0).1;
    let row = StoredRow { size: 5, columns: MessageRow { position: Some(9), ..new.columns } };
    let wrong = |change: fn(&mut StoredRow), events: &[(String, i64)]| {
        let mut changed = row.clone();
        change(&mut changed);
        let checked = check(&changed, events).expect("the content can be read");
        let columns = checked.columns.expect("there are several messages");
        assert_eq!((checked.size, checked.events, &columns.cause), (5, new.events.clone(), &row.columns.cause));
        checked.wrong
    };
    assert_eq!(wrong(|_| (), &new.events), [""; 0]);
    assert_eq!(wrong(|row| row.size = 4, &new.events).len(), 1);
    assert_eq!(wrong(|row| row.columns.cause.push('1'), &new.events), ["its cause"]);
    assert_eq!(wrong(|row| row.columns.effective_at = NOW, &new.events), ["its times"]);
    assert_eq!(wrong(|row| row.columns.recorded_at = Time::from_seconds(1), &new.events), ["its times"]);
    assert_eq!(wrong(|row| row.columns.event.push('1'), &new.events).len(), 1);
    assert_eq!(wrong(|row| row.columns.event_id.push('1'), &new.events).len(), 1);
    assert_eq!(wrong(|row| row.columns.subject.push('1'), &new.events).len(), 1);
    assert_eq!(wrong(|row| row.columns.signature.push('1'), &new.events).len(), 1);
    assert_eq!(wrong(|_| (), &[]), ["the list of its events"]);
    assert_eq!(wrong(|_| (), &[("line_item_create".to_owned(), 1)]), ["the list of its events"]);
    let single = StoredRow { size: 2, columns: stored(&many(1), 1).0.remove(0).columns };
    assert_eq!(check(&single, &[]).expect("it is one message").wrong, ["its number of messages"]);
}

#[test]
fn a_corrected_message_keeps_its_position() {
    let given = many(5);
    let messages = read(&stored(&given, 11).0);
    let facts = |effective_at, recorded_at| MessageFacts {
        sequence: 3,
        event: "account_update".to_owned(),
        event_id: "another".to_owned(),
        cause: "period:1".to_owned(),
        subject: "other".to_owned(),
        effective_at,
        recorded_at,
        waits: None,
    };
    for (recorded_at, expected) in
        [(NOW, vec![(5, Some(15))]), (Time::from_seconds(9_999), vec![(2, Some(12)), (1, Some(13)), (2, Some(15))])]
    {
        let facts = facts(Time::from_seconds(7), recorded_at);
        let rows = rows_with(ORG, messages.clone(), &facts).expect("rows are made");
        assert_eq!(rows.iter().map(|row| (row.size, row.columns.position)).collect::<Vec<_>>(), expected);
        let rows: Vec<StoredRow> =
            rows.into_iter().map(|row| StoredRow { size: row.size, columns: row.columns }).collect();
        let mut changed = messages.clone();
        changed[2].event = "account_update".to_owned();
        changed[2].event_id = "another".to_owned();
        changed[2].cause = "period:1".to_owned();
        changed[2].subject = "other".to_owned();
        (changed[2].effective_at, changed[2].recorded_at) = (facts.effective_at, facts.recorded_at);
        assert_eq!(read(&rows), changed);
    }
}
