//! What is left of a stretch when single positions are taken out of it.

use std::collections::BTreeSet;

/// The pieces of a stretch, each beginning after one position and ending with another, without some positions; nothing if
/// none of these is in it.
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
