//! A stretch of the log on its way through: which positions were read, and which of them are finished with.

use std::collections::VecDeque;

/// Positions that were read, in order, with what is before them.
#[derive(Debug)]
pub(super) struct Window {
    /// Everything up to here was read, or passed over.
    read_to: i64,
    /// Positions that were read and, from the first that is not, whether they are finished with.
    positions: VecDeque<(i64, bool)>,
}

impl Window {
    /// Nothing is read yet after a position.
    pub(super) fn after(position: i64) -> Window {
        Window { read_to: position, positions: VecDeque::new() }
    }

    /// Up to where it was read.
    pub(super) fn read_to(&self) -> i64 {
        self.read_to
    }

    /// A position was read.
    pub(super) fn read(&mut self, position: i64) {
        debug_assert!(position > self.read_to, "the log is read in order");
        self.read_to = position;
        self.positions.push_back((position, false));
    }

    /// There is nothing more up to a position.
    pub(super) fn pass_over(&mut self, through: i64) {
        self.read_to = self.read_to.max(through);
    }

    /// A position is finished with.
    pub(super) fn finish(&mut self, position: i64) {
        if let Ok(index) = self.positions.binary_search_by_key(&position, |(position, _)| *position) {
            self.positions[index].1 = true;
        }
        while self.positions.front().is_some_and(|(_, finished)| *finished) {
            self.positions.pop_front();
        }
    }

    /// Everything up to here is finished with.
    pub(super) fn finished_through(&self) -> i64 {
        self.positions.front().map_or(self.read_to, |(position, _)| position - 1)
    }

    /// How many positions there are from the first that is not finished with.
    pub(super) fn len(&self) -> usize {
        self.positions.len()
    }

    /// Positions that are not finished with while later ones are.
    pub(super) fn holes(&self) -> Vec<i64> {
        let last = self.last_finished();
        let holes = self.positions.iter().filter(|(position, finished)| !finished && *position < last);
        holes.map(|(position, _)| *position).collect()
    }

    /// The last position that is finished with: beyond it nothing was.
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
        let mut window = Window::after(10);
        [11, 14, 15].into_iter().for_each(|position| window.read(position));
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
        let mut window = Window::after(5);
        window.finish(3);
        window.pass_over(4);
        assert_eq!((window.finished_through(), window.last_finished(), window.read_to()), (5, 5, 5));
    }
}
