//! Messages to be sent to one URL: in order, and only one per account at a time.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Items in order. Among those about one account only the first is *ready*; the next becomes ready when that one is
/// done.
#[derive(Debug)]
pub(super) struct Queue<T> {
    ready: VecDeque<T>,
    /// Accounts with an item that is ready or in flight, and the items that wait behind it.
    busy: HashMap<Arc<str>, VecDeque<T>>,
    waiting: usize,
}

impl<T> Queue<T> {
    pub(super) fn new() -> Queue<T> {
        Queue { ready: VecDeque::new(), busy: HashMap::new(), waiting: 0 }
    }

    /// Items that are not in flight.
    pub(super) fn len(&self) -> usize {
        self.ready.len() + self.waiting
    }

    /// Adds an item at the end.
    pub(super) fn put(&mut self, account: Option<&Arc<str>>, item: T) {
        let Some(account) = account else {
            self.ready.push_back(item);
            return;
        };
        match self.busy.get_mut(account) {
            Some(behind) => {
                behind.push_back(item);
                self.waiting += 1;
            }
            None => {
                self.busy.insert(account.clone(), VecDeque::new());
                self.ready.push_back(item);
            }
        }
    }

    /// Takes the first ready item. Its account is busy until it is [done](Queue::done).
    pub(super) fn take(&mut self) -> Option<T> {
        self.ready.pop_front()
    }

    /// A taken item about this account is done.
    pub(super) fn done(&mut self, account: Option<&Arc<str>>) {
        let Some(account) = account else { return };
        match self.busy.get_mut(account).and_then(VecDeque::pop_front) {
            Some(next) => {
                self.waiting -= 1;
                // It has waited longer than items that were read after it.
                self.ready.push_front(next);
            }
            None => {
                self.busy.remove(account);
            }
        }
    }

    /// Removes the items that are not in flight and not to be kept.
    pub(super) fn take_out(
        &mut self,
        account_of: impl Fn(&T) -> Option<Arc<str>>,
        keep: impl Fn(&T) -> bool,
    ) -> Vec<T> {
        let mut out = Vec::new();
        for behind in self.busy.values_mut() {
            let (kept, taken): (VecDeque<T>, VecDeque<T>) = behind.drain(..).partition(&keep);
            self.waiting -= taken.len();
            *behind = kept;
            out.extend(taken);
        }
        let (kept, taken): (VecDeque<T>, VecDeque<T>) = self.ready.drain(..).partition(&keep);
        self.ready = kept;
        for item in taken {
            self.done(account_of(&item).as_ref());
            out.push(item);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_account_one_is_on_its_way_at_a_time() {
        let (a, b) = (Arc::from("a"), Arc::from("b"));
        let mut queue = Queue::new();
        for (account, item) in [(&a, "a1"), (&a, "a2"), (&b, "b1"), (&a, "a3")] {
            queue.put(Some(account), item);
        }
        queue.put(None, "x1");
        queue.put(None, "x2");
        assert_eq!(queue.len(), 6);
        assert_eq!(
            (queue.take(), queue.take(), queue.take(), queue.take()),
            (Some("a1"), Some("b1"), Some("x1"), Some("x2"))
        );
        assert_eq!((queue.take(), queue.len()), (None, 2));
        queue.done(Some(&a));
        assert_eq!((queue.take(), queue.take()), (Some("a2"), None));
        queue.done(Some(&b));
        queue.put(Some(&b), "b2");
        assert_eq!(queue.take(), Some("b2"));
        queue.done(Some(&a));
        assert_eq!(queue.take(), Some("a3"));
        queue.done(Some(&a));
        queue.put(Some(&a), "a4");
        assert_eq!((queue.take(), queue.len()), (Some("a4"), 0));
    }

    #[test]
    fn what_is_taken_out_makes_room_for_what_waits_behind_it() {
        let account_of = |item: &i32| (*item < 10).then(|| Arc::from("a"));
        let mut queue = Queue::new();
        for item in [1, 2, 3, 11, 12] {
            queue.put(account_of(&item).as_ref(), item);
        }
        assert_eq!(queue.take_out(account_of, |item| item % 2 == 1), [2, 12]);
        assert_eq!((queue.len(), queue.take(), queue.take(), queue.take()), (3, Some(1), Some(11), None));
        assert!(queue.take_out(account_of, |item| *item != 3).contains(&3));
        queue.done(account_of(&1).as_ref());
        queue.put(account_of(&4).as_ref(), 4);
        queue.put(account_of(&5).as_ref(), 5);
        assert_eq!(queue.take_out(account_of, |item| *item != 4), [4]);
        assert_eq!((queue.take(), queue.len()), (Some(5), 0));
    }
}
