//! Positions that are finished out of order.

/// Positions that are finished after the one up to which all are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutOfOrder {
    /// The last finished position.
    pub reached: i64,
    /// Unfinished positions before it, in order.
    pub holes: Vec<i64>,
}

impl OutOfOrder {
    /// Whether a position is finished.
    pub fn has(&self, position: i64) -> bool {
        position <= self.reached && self.holes.binary_search(&position).is_err()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_the_holes_is_finished_with() {
        let ahead = OutOfOrder { reached: 9, holes: vec![5, 7] };
        let finished: Vec<i64> = (4..12).filter(|position| ahead.has(*position)).collect();
        assert_eq!(finished, [4, 6, 8, 9]);
        assert!(!OutOfOrder::default().has(1));
    }
}
