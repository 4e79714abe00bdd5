//! Rows of earlier builds become rows of several messages.

use super::*;
use crate::message_groups::earlier::{Conversion, ROWS_BEFORE, convert, end_of_group};

/// The rows of a log after a conversion.
fn converted(rows: &[StoredRow]) -> (Vec<StoredRow>, Conversion) {
    let conversion = convert((ORG, 0), rows.iter().map(|row| (ORG, row.clone())).collect()).expect("it is converted");
    let removed: Vec<i64> = conversion.removed.iter().map(|(_, position)| *position).collect();
    let mut left: Vec<StoredRow> = rows.iter().filter(|row| !removed.contains(&row.last())).cloned().collect();
    left.extend(conversion.added.iter().map(|(_, row)| StoredRow { size: row.size, columns: row.columns.clone() }));
    left.sort_by_key(StoredRow::last);
    (left, conversion)
}

#[test]
fn rows_of_earlier_builds_become_rows_of_several_messages() {
    let given = many(40);
    let plain = |from: usize, to: usize, position: i64| {
        let row = |(message, at): (&MessageRow, i64)| StoredRow {
            size: 1,
            columns: MessageRow { position: Some(at), ..message.clone() },
        };
        given[from..to].iter().zip(position..).map(row).collect::<Vec<StoredRow>>()
    };
    let mut rows = plain(0, 5, 1);
    rows.extend(of_schema_16(&given[5..25], 6));
    rows.extend(stored(&given[25..35], 26).0);
    rows.extend(plain(35, 40, 36));
    let before = read(&rows);
    let (after, conversion) = converted(&rows);
    assert_eq!(read(&after), before);
    assert_eq!(sizes(&after), [16, 9, 10, 5], "rows of this build stay");
    assert_eq!(conversion.removed.len(), 30);
    assert_eq!(converted(&after).1.removed, [], "once");
}

#[test]
fn a_damaged_group_of_schema_16_stays_as_it_is() {
    let rows = of_schema_16(&many(48), 1);
    // Another distance, another mark, another form, a damaged group.
    for (at, content) in [
        (20, vec![HELD_BY_LATER, 9, 1, 2, 3, 4]),
        (20, vec![HELD_BY_LATER, 11, 1, 2, 3, 4]),
        (20, vec![9]),
        (31, vec![HOLDS_GROUP, 1, 16, 7]),
    ] {
        let mut rows = rows.clone();
        rows[at].columns.data = Bytes::from(content);
        let (after, _) = converted(&rows);
        assert_eq!(sizes(&after[..1]), [16]);
        assert!(after[1..17] == rows[16..32], "byte for byte");
        assert_eq!(sizes(&after[17..]), [16]);
    }
}

/// Turns a log over in steps of so many rows.
fn turned_over(mut log: Vec<StoredRow>, limit: usize) -> Vec<StoredRow> {
    let mut after = 0;
    let between = |log: &[StoredRow], after: i64, through: i64| -> Vec<(OrgId, StoredRow)> {
        let is_in = |row: &&StoredRow| after < row.last() && row.last() <= through;
        log.iter().filter(is_in).map(|row| (ORG, row.clone())).collect()
    };
    while let Some(last) = log.iter().filter(|row| row.last() > after).take(limit).last().map(StoredRow::last) {
        let mut through = last;
        let mut read = between(&log, after - ROWS_BEFORE, last);
        while let Some((_, end)) = end_of_group(&read) {
            let further = between(&log, through, end);
            if further.is_empty() {
                break;
            }
            through = end;
            read.extend(further);
        }
        let begin = std::mem::replace(&mut after, read.last().map_or(last, |(_, row)| row.last()));
        let conversion = convert((ORG, begin), read).expect("it is converted");
        log.retain(|row| !conversion.removed.contains(&(ORG, row.last())));
        log.extend(conversion.added.into_iter().map(|(_, row)| StoredRow { size: row.size, columns: row.columns }));
        log.sort_by_key(StoredRow::last);
    }
    log
}

/// Whatever one row of a group is damaged to, wherever steps end: no other message is lost.
#[test]
fn one_damaged_row_loses_no_other_message() {
    let messages = many(40);
    let groups = of_schema_16(&messages, 1);
    // Rows of one message each between the groups.
    let mut apart = of_schema_16(&messages[..16], 1);
    apart.extend((16..32).flat_map(|at| of_schema_16(&messages[at..=at], at as i64 + 1)));
    apart.extend(of_schema_16(&messages[32..], 33));
    for given in [&groups, &apart] {
        one_damaged_row_of(given);
    }
    let intact = read(&groups);
    for limit in [1, 7, 16, 100] {
        let after = turned_over(groups.clone(), limit);
        assert_eq!((sizes(&after), read(&after)), (vec![16, 16, 8], intact.clone()), "steps of {limit}");
        // The beginning of the first group has expired.
        let after = turned_over(groups[3..].to_vec(), limit);
        assert_eq!(read(&after), intact[3..], "steps of {limit}");
        assert!(after.len() < 5, "all groups are turned over: {:?}", sizes(&after));
    }
}

fn one_damaged_row_of(given: &[StoredRow]) {
    for at in 0..given.len() {
        let content = &given[at].columns.data;
        let mut damages: Vec<Vec<u8>> = vec![vec![], vec![9]];
        if content.first() == Some(&HELD_BY_LATER) {
            let with_distance = |distance: u8| [&[HELD_BY_LATER, distance][..], &content[2..]].concat();
            damages.extend([0, 1, 2, 5, 9, 15, 16, 200].map(with_distance));
        }
        for damage in damages.into_iter().filter(|damage| damage != content) {
            let mut rows = given.to_vec();
            rows[at].columns.data = Bytes::from(damage.clone());
            let before = expand(rows.clone(), []).messages;
            let damaged = before.iter().filter(|message| message.data.is_empty()).count();
            assert!(damaged == 1 || content.first() == Some(&HOLDS_GROUP), "row {at}, {damage:?}");
            for limit in [1, 2, 7, 16, 18, 20, 22, 100] {
                let after = turned_over(rows.clone(), limit);
                assert!(expand(after, []).messages == before, "row {at}, {damage:?}, steps of {limit}");
            }
        }
    }
}

#[test]
fn a_step_ends_with_a_group() {
    let rows: Vec<(OrgId, StoredRow)> = of_schema_16(&many(20), 1).into_iter().map(|row| (ORG, row)).collect();
    assert_eq!(end_of_group(&rows[..3]), Some((ORG, 16)));
    assert_eq!(end_of_group(&rows[..17]), Some((ORG, 20)));
    assert_eq!(end_of_group(&rows[..16]), None);
}
