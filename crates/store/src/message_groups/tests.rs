use super::*;
use crate::records::MessageRow;
use daybook_engine::time::Time;
use std::sync::Arc;

const ORG: OrgId = 7;

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
        recorded_at: Time::from_seconds(9),
        data: Bytes::from(data),
        signature: signature(sequence),
    }
}

/// A signature of 32 bytes, different for each message.
fn signature(number: i64) -> String {
    format!("sig{}{:038}o=", number % 10, number)
}

/// The messages after they were compressed, written at these positions, and read.
fn stored(messages: &[MessageRow], first_position: i64) -> Vec<MessageRow> {
    let mut given: Vec<(OrgId, MessageRow)> = messages.iter().map(|message| (ORG, message.clone())).collect();
    compress(&mut given).expect("compresses");
    let mut rows: Vec<MessageRow> = given.into_iter().map(|(_, message)| message).collect();
    for (position, row) in (first_position..).zip(rows.iter_mut().filter(|row| row.due_at.is_none())) {
        row.position = Some(position);
    }
    rows
}

fn without_position(mut rows: Vec<MessageRow>) -> Vec<MessageRow> {
    rows.iter_mut().for_each(|row| row.position = None);
    rows
}

fn many(count: i64) -> Vec<MessageRow> {
    (1..=count).map(|sequence| message(Some("loan-1"), sequence)).collect()
}

#[test]
fn what_was_written_is_read_again() {
    let waiting = MessageRow { due_at: Some(Time::from_seconds(99)), ..message(Some("loan-1"), 90) };
    let odd = MessageRow {
        data: Bytes::from_static(&[2, 1]),
        signature: "none".to_owned(),
        event_id: String::new(),
        subject: String::new(),
        ..message(Some("loan-2"), 5)
    };
    for extra in [vec![], vec![waiting.clone()], vec![odd.clone(), message(None, 3), waiting, odd]] {
        for count in [1, 2, 15, 16, 17, 40] {
            let given: Vec<MessageRow> = many(count).into_iter().chain(extra.clone()).chain(many(3)).collect();
            let mut rows = stored(&given, 100);
            assert_eq!(missing_rows(&rows), [0; 0]);
            expand(&mut rows, []);
            assert_eq!(without_position(rows), given);
        }
    }
}

#[test]
fn one_row_is_read_with_the_row_that_holds_its_group() {
    let given = many(40);
    let rows = stored(&given, 100);
    for (index, expected) in given.iter().enumerate() {
        let mut alone = vec![rows[index].clone()];
        let missing = missing_rows(&alone);
        let holder = index / MOST_IN_GROUP * MOST_IN_GROUP + MOST_IN_GROUP - 1;
        let holder = holder.min(given.len() - 1);
        let expected_missing = if index == holder { vec![] } else { vec![100 + holder as i64] };
        assert_eq!(missing, expected_missing, "{index}");
        expand(&mut alone, missing.iter().map(|position| (*position, rows[(*position - 100) as usize].data.clone())));
        assert_eq!(&without_position(alone)[0], expected, "{index}");
    }
}

#[test]
fn columns_that_a_group_holds_are_empty() {
    let rows = stored(&many(3), 1);
    assert!(rows.iter().all(|row| row.event_id.is_empty() && row.subject.is_empty() && row.signature.is_empty()));
    assert_eq!(rows[0].data, Bytes::from_static(&[HELD_BY_LATER, 2, b's', b'i', b'g', b'1']));
    // Without an account, a message is found by these columns.
    let own = &stored(&[message(None, 1)], 1)[0];
    assert_eq!((own.event_id.as_str(), own.subject.as_str()), ("dbk_evt_3f9a0c2b71.c.1", "p1"));
}

#[test]
fn a_column_that_is_not_empty_is_valid() {
    let mut rows = stored(&many(2), 1);
    rows[0].signature = "another".to_owned();
    rows[0].event_id = "another".to_owned();
    expand(&mut rows, []);
    assert_eq!((rows[0].signature.as_str(), rows[0].event_id.as_str()), ("another", "another"));
    assert_eq!(rows[0].subject, "p1");
}

/// Whatever bit of a group's row is damaged: none of its messages is read.
#[test]
fn a_damaged_group_is_noticed() {
    let rows = stored(&many(5), 1);
    let holder = rows[4].data.clone();
    for at in 0..holder.len() {
        for bit in 0..8 {
            let mut damaged = holder.to_vec();
            damaged[at] ^= 1 << bit;
            let mut read = rows.clone();
            read[4].data = Bytes::from(damaged);
            expand(&mut read, []);
            assert!(read.iter().all(|row| row.data.is_empty()), "bit {bit} of byte {at}");
        }
    }
}

/// Whatever bit of another row is damaged: its message is not read, and no other one in its place.
#[test]
fn a_damaged_distance_is_noticed() {
    let given = many(5);
    let rows = stored(&given, 1);
    for at in 0..rows[1].data.len() {
        for bit in 0..8 {
            let mut damaged = rows[1].data.to_vec();
            damaged[at] ^= 1 << bit;
            let mut read = rows.clone();
            read[1].data = Bytes::from(damaged);
            expand(&mut read, []);
            for (index, (row, given)) in read.iter().zip(&given).enumerate() {
                let expected = if index == 1 { &Bytes::new() } else { &given.data };
                assert_eq!(&row.data, expected, "bit {bit} of byte {at}, message {index}");
            }
        }
    }
}

#[test]
fn a_large_message_has_a_group_of_its_own() {
    let mut given = many(5);
    given[2].data = Bytes::from(format!("{{\"a\":\"{}\"}}", "x".repeat(GROUP_BYTES_MAX)));
    let rows = stored(&given, 1);
    assert_eq!(rows.iter().map(|row| row.data[0]).collect::<Vec<_>>(), [2, 1, 1, 2, 1]);
    let mut read = rows;
    expand(&mut read, []);
    assert_eq!(without_position(read), given);
}

#[test]
fn a_message_whose_group_is_gone_is_not_sent() {
    let row = &stored(&many(2), 1)[0];
    let mut outgoing = [Outgoing {
        position: 1,
        account: row.account.clone(),
        event: row.event.clone(),
        event_id: String::new(),
        data: row.data.clone(),
        signature: String::new(),
    }];
    assert_eq!(missing_rows(&outgoing), [2]);
    expand(&mut outgoing, []);
    assert!(outgoing[0].data.is_empty());
}
