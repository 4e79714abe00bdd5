//! Arithmetic on ranges of positions: removing single positions, and building ranges from them. A range `(after, last)`
//! begins after the first position and ends with the second.

use std::collections::BTreeSet;

/// The parts of a range that remain without some positions; `None` if none of these is in it.
pub(crate) fn pieces(after: i64, last: i64, without: &BTreeSet<i64>) -> Option<Vec<(i64, i64)>> {
    let mut inside = without.range(after + 1..).take_while(|position| **position <= last).peekable();
    inside.peek()?;
    let mut pieces = Vec::new();
    let mut begin = after;
    for &position in inside {
        pieces.push((begin, position - 1));
        begin = position;
    }
    pieces.push((begin, last));
    pieces.retain(|(after, last)| after < last);
    Some(pieces)
}

/// Ranges that contain every wanted member and no other member. Members are in order; positions that are not members
/// may lie within a range.
pub(crate) fn runs(members: impl IntoIterator<Item = i64>, wanted: &BTreeSet<i64>) -> Vec<(i64, i64)> {
    let mut runs: Vec<(i64, i64)> = Vec::new();
    let mut is_open = false;
    for member in members {
        match (wanted.contains(&member), runs.last_mut().filter(|_| is_open)) {
            (true, Some((_, last))) => *last = member,
            (true, None) => {
                runs.push((member - 1, member));
                is_open = true;
            }
            (false, _) => is_open = false,
        }
    }
    runs
}

/// Ranges that contain exactly these positions.
pub(crate) fn without_gaps(positions: impl IntoIterator<Item = i64>) -> Vec<(i64, i64)> {
    let mut stretches: Vec<(i64, i64)> = Vec::new();
    for position in positions {
        match stretches.last_mut().filter(|(_, last)| *last == position - 1) {
            Some((_, last)) => *last = position,
            None => stretches.push((position - 1, position)),
        }
    }
    stretches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_that_follow_each_other_are_one_stretch() {
        assert_eq!(without_gaps([3, 4, 5, 8, 10, 11]), [(2, 5), (7, 8), (9, 11)]);
        assert_eq!(without_gaps([]), []);
    }

    fn check(after: i64, last: i64, without: &[i64], expected: Option<&[(i64, i64)]>) {
        let without = without.iter().copied().collect();
        assert_eq!(pieces(after, last, &without).as_deref(), expected, "{after} to {last} without {without:?}");
    }

    #[test]
    fn a_stretch_is_cut_around_what_is_taken_out() {
        check(4, 9, &[], None);
        check(4, 9, &[3, 4, 10], None);
        check(4, 9, &[7], Some(&[(4, 6), (7, 9)]));
        check(4, 9, &[5, 9, 12], Some(&[(5, 8)]));
        check(4, 9, &[6, 7], Some(&[(4, 5), (7, 9)]));
        check(4, 5, &[5], Some(&[]));
        check(4, 6, &[5, 6], Some(&[]));
    }

    #[test]
    fn runs_go_over_what_is_no_member() {
        let wanted = [2, 5, 9].into_iter().collect();
        assert_eq!(runs([2, 5, 9], &wanted), [(1, 9)]);
        assert_eq!(runs([2, 4, 5, 9, 11], &wanted), [(1, 2), (4, 9)]);
        assert_eq!(runs([1, 3], &wanted), []);
    }
}
