//! Rows as columns: the parameters of a statement with `unnest`.

use super::flight::Param;
use daybook_engine::time::Time;
use tokio_postgres::types::ToSql;

/// One column of many rows, as an array.
pub(super) fn column<'a, R, V: ToSql + Sync + Send + 'a>(rows: &[R], of: impl Fn(&R) -> V) -> Param<'a> {
    Box::new(rows.iter().map(of).collect::<Vec<V>>())
}

/// An optional time as it is stored.
pub(super) fn micros(time: Option<Time>) -> Option<i64> {
    time.map(Time::micros)
}

/// The maximum number of rows, as the server's integer type.
pub(super) fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// Splits rows into parts so that no key occurs twice in a part, keeping their order: one statement cannot write the
/// same row twice. Usually there is one part.
pub(super) fn rounds<'k, R: Copy, K: std::hash::Hash + Eq + 'k>(rows: Vec<R>, key: impl Fn(&R) -> K) -> Vec<Vec<R>> {
    let mut seen: std::collections::HashMap<K, usize> = std::collections::HashMap::with_capacity(rows.len());
    let mut parts: Vec<Vec<R>> = Vec::new();
    for row in rows {
        let times = seen.entry(key(&row)).or_default();
        match parts.get_mut(*times) {
            Some(part) => part.push(row),
            None => parts.push(vec![row]),
        }
        *times += 1;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_comes_once_in_a_round() {
        assert_eq!(rounds(vec![('a', 1), ('b', 1), ('a', 2)], |row| row.0), [vec![('a', 1), ('b', 1)], vec![('a', 2)]]);
    }
}
