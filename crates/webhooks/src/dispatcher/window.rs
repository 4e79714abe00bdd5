//! A range of the log in progress: which positions were read, and which of them are finished.

use daybook_store::outbox::OutOfOrder;
use std::collections::VecDeque;

/// Positions that were read, in order.
#[derive(Debug)]
pub(super) struct Window {
    /// Every position up to this one was read or skipped.
    read_to: i64,
    /// Positions that were read, from the first unfinished one on, and whether each is finished.
    positions: VecDeque<(i64, bool)>,
    /// Positions that were finished out of order before this was created.
    before: OutOfOrder,
}

impl Window {
    /// Nothing is read yet after a position; `before` holds later positions that were finished earlier.
    pub(super) fn after(position: i64, before: OutOfOrder) -> Window {
        Window { read_to: position, positions: VecDeque::new(), before }
    }

    /// The last position that was read.
    pub(super) fn read_to(&self) -> i64 {
        self.read_to
    }

    /// Adds a position that was read; returns whether it is still to be sent.
    pub(super) fn read(&mut self, position: i64) -> bool {
        debug_assert!(position > self.read_to, "the log is read in order");
        self.read_to = position;
        self.positions.push_back((position, false));
        let is_finished = self.before.has(position);
        if is_finished {
            self.finish(position);
        }
        !is_finished
    }

    /// There are no more messages up to a position.
    pub(super) fn pass_over(&mut self, through: i64) {
        self.read_to = self.read_to.max(through);
    }

    /// Marks a position as finished.
    pub(super) fn finish(&mut self, position: i64) {
        if let Ok(index) = self.positions.binary_search_by_key(&position, |(position, _)| *position) {
            self.positions[index].1 = true;
        }
        while self.positions.front().is_some_and(|(_, finished)| *finished) {
            self.positions.pop_front();
        }
    }

    /// Every position up to this one is finished.
    pub(super) fn finished_through(&self) -> i64 {
        self.positions.front().map_or(self.read_to, |(position, _)| position - 1)
    }

    /// Positions that are finished out of order.
    pub(super) fn ahead(&self) -> OutOfOrder {
        let reached = self.last_finished();
        if self.read_to >= self.before.reached {
            return OutOfOrder { reached, holes: self.holes() };
        }
        // Positions that were finished before are still ahead, unless they were read again.
        let reached = reached.max(self.before.reached);
        let unfinished = self.positions.iter().filter(|(_, finished)| !finished).map(|(position, _)| *position);
        let not_read = self.before.holes.iter().copied().filter(|position| *position > self.read_to);
        OutOfOrder { reached, holes: unfinished.chain(not_read).collect() }
    }

    /// How many positions there are from the first unfinished one on.
    pub(super) fn len(&self) -> usize {
        self.positions.len()
    }

    /// Unfinished positions with later ones finished.
    pub(super) fn holes(&self) -> Vec<i64> {
        let last = self.last_finished();
        let holes = self.positions.iter().filter(|(position, finished)| !finished && *position < last);
        holes.map(|(position, _)| *position).collect()
    }

    /// The last finished position: none after it is finished.
    pub(super) fn last_finished(&self) -> i64 {
        let last = self.positions.iter().rev().find(|(_, finished)| *finished);
        last.map_or(self.finished_through(), |(position, _)| *position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_finished_up_to_the_first_position_that_is_not() {
        let mut window = Window::after(10, OutOfOrder::default());
        assert!([11, 14, 15].into_iter().all(|position| window.read(position)));
        window.pass_over(20);
        assert_eq!(window.finished_through(), 10);
        window.finish(14);
        assert_eq!((window.finished_through(), window.last_finished(), window.holes()), (10, 14, vec![11]));
        assert_eq!(window.len(), 3);
        window.finish(11);
        assert_eq!(window.finished_through(), 14);
        window.finish(15);
        assert_eq!((window.finished_through(), window.last_finished(), window.read_to()), (20, 20, 20));
    }

    #[test]
    fn what_was_not_read_counts_for_nothing() {
        let mut window = Window::after(5, OutOfOrder::default());
        window.finish(3);
        window.pass_over(4);
        assert_eq!((window.finished_through(), window.last_finished(), window.read_to()), (5, 5, 5));
    }

    #[test]
    fn what_was_finished_with_before_is_not_sent_again_and_not_forgotten() {
        let mut first = Window::after(10, OutOfOrder::default());
        (11..=20).for_each(|position| {
            first.read(position);
        });
        [12, 13, 15, 18].into_iter().for_each(|position| first.finish(position));
        let ahead = first.ahead();
        assert_eq!(ahead, OutOfOrder { reached: 18, holes: vec![11, 14, 16, 17] });
        let mut second = Window::after(10, ahead.clone());
        assert_eq!(second.ahead(), ahead, "before anything is read");
        let to_send = |window: &mut Window, last: i64| -> Vec<i64> {
            (window.read_to() + 1..=last).filter(|position| window.read(*position)).collect()
        };
        assert_eq!(to_send(&mut second, 14), [11, 14]);
        second.finish(11);
        assert_eq!(
            (second.finished_through(), second.ahead()),
            (13, OutOfOrder { reached: 18, holes: vec![14, 16, 17] })
        );
        assert_eq!(to_send(&mut second, 20), [16, 17, 19, 20]);
        [14, 16, 17].into_iter().for_each(|position| second.finish(position));
        assert_eq!((second.finished_through(), second.ahead().holes), (18, vec![]));
    }
}
