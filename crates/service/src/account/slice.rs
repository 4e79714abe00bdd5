//! Slices: an account with very much to work through is folded in several transactions.
//!
//! Each slice ends between two instants and moves `processed_through` on, so what is written after it is right by itself.
//! The first fold of an account, or its release, is *under way* between two slices: its records are held still, and those
//! up to `processed_through` are folded ([`Book::is_under_way`]). Whatever is asked of it next goes on with that first.

use super::book::{Book, Halt, Rolled};
use super::journal::{Journal, Record};
use daybook_engine::time::Time;
use daybook_engine::timeline::Input;

/// How much of an account is folded in one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// So many steps.
    pub steps: u64,
    /// Or so many bytes of messages.
    pub bytes: usize,
}

/// How full a slice is.
pub(super) struct Meter {
    slice: Slice,
    /// No slice ends here or later.
    firm_until: Time,
    /// The last step's time.
    pub at: Time,
    /// Bytes of messages so far.
    pub bytes: usize,
}

impl Meter {
    pub(super) fn new(slice: Slice, firm_until: Time) -> Meter {
        Meter { slice, firm_until, at: Time::BEGINNING, bytes: 0 }
    }

    pub(super) fn is_full(&self, steps: u64) -> bool {
        (steps >= self.slice.steps || self.bytes >= self.slice.bytes) && self.at < self.firm_until
    }
}

impl Book {
    /// [`Book::settle`], but no more than a slice of it; gives whether nothing is left to do.
    pub fn settle_some(&mut self, now: Time, slice: Slice) -> Result<bool, Halt> {
        self.slice = Some(slice);
        let settled = self.settle(now);
        self.slice = None;
        settled.map(|_| !self.is_behind(now))
    }

    /// [`Book::roll`], but no more than a slice of it: then the clock is moved less far.
    pub fn roll_some(&mut self, to: Time, webhooks: bool, now: Time, slice: Slice) -> Result<Rolled, Halt> {
        self.slice = Some(slice);
        let rolled = self.roll(to, webhooks, now);
        self.slice = None;
        rolled
    }

    /// Whether something is left to do before the account stands at its clock.
    fn is_behind(&self, now: Time) -> bool {
        if self.is_under_way() {
            return true;
        }
        let is_let_go = !self.product.mode.holding && self.now.held_events == 0;
        is_let_go && self.now.processed_through.is_some_and(|through| through < self.clock(now))
    }

    /// Whether its first fold, or its release, has begun and is not done.
    pub fn is_under_way(&self) -> bool {
        self.now.settled_seq == 0 && self.now.processed_through.is_some()
    }

    /// A first fold folds a payment as what becomes of it later. So no slice ends where such a payment is folded and what
    /// becomes of it is not.
    pub(super) fn firm_until(&self) -> Time {
        let revised = |record: &Journal| match &record.record {
            Record::Input(Input::Reversal { payment } | Input::PaymentStatus { payment, .. }) => {
                self.named(payment).map(|payment| payment.place.at)
            }
            _ => None,
        };
        self.journal.iter().filter(|record| self.is_held(record)).filter_map(revised).min().unwrap_or(Time::NEVER)
    }
}
