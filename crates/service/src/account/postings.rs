//! Postings: the amounts that each step of a fold posted, derived from the line items it made.
//!
//! A step may post a debt and pay it at once (interest that a payment covers before its period ends), and the change of
//! the balances hides both. The postings of a step show each amount, and add up to that change for each component.

use daybook_engine::fold::{ObservedStep, Revision};
use daybook_engine::item::{Component, ItemId, ItemKind, ItemStatus, LineItem};
use daybook_engine::money::Cents;
use daybook_engine::outcome::EventKind;
use daybook_engine::time::Time;
use std::collections::HashMap;

/// The part of an account that a posting changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BalancePart {
    /// A debt.
    Owed(Component),
    /// Surplus money kept for the borrower.
    Surplus,
}

/// One amount that a step added (positive) or subtracted (negative).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posting {
    /// The line item that the amount belongs to.
    pub item: ItemId,
    /// Its kind.
    pub kind: ItemKind,
    /// The part it changed.
    pub part: BalancePart,
    /// The signed amount.
    pub cents: Cents,
    /// For a split: the line item that it paid down.
    pub paid_down: Option<ItemId>,
}

/// Interest of a period that became a line item before the period ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EarlyInterest {
    /// The amount.
    pub cents: Cents,
    /// When it was charged; `None` if it was charged in several parts.
    pub charged_at: Option<Time>,
}

/// Derives the postings of each step from a fold that is watched from its beginning.
#[derive(Debug, Default)]
pub struct Recorder {
    /// The number of line items that earlier steps made.
    items_before: usize,
    /// Postings of pending payments, which may still become invalid.
    pending: HashMap<ItemId, Vec<Posting>>,
    /// Interest items that were paid before their period ended.
    early: HashMap<u32, EarlyInterest>,
}

impl Recorder {
    /// Interest of a period that became a line item before the period ended.
    pub fn early_interest(&self, period: u32) -> EarlyInterest {
        self.early.get(&period).copied().unwrap_or_default()
    }

    /// The postings of the step that was just taken.
    pub fn step(&mut self, seen: &ObservedStep<'_>) -> Vec<Posting> {
        let items = &seen.out.items;
        let (earlier, new) = items.split_at(self.items_before.min(items.len()));
        self.items_before = items.len();
        let mut postings = Vec::new();
        for item in new {
            let from = postings.len();
            add_item(item, seen.revised, &mut postings);
            if item.status == ItemStatus::Pending {
                self.pending.insert(item.id.clone(), postings[from..].to_vec());
            }
        }
        for event in &seen.out.events[seen.events_before..] {
            let EventKind::ItemUpdated(id) = &event.what else { continue };
            if new.iter().any(|item| item.id == *id) {
                continue;
            }
            if let Some(item) = earlier.iter().rfind(|item| item.id == *id) {
                self.change_item(item, &mut postings);
            }
        }
        for posting in &postings {
            self.note_early_interest(posting, seen.at);
        }
        postings
    }

    /// Handles an item of an earlier step that became valid or invalid.
    fn change_item(&mut self, item: &LineItem, postings: &mut Vec<Posting>) {
        if let Some(posted) = self.pending.remove(&item.id) {
            if item.status == ItemStatus::Invalid {
                let taken_back = posted.into_iter().map(|posting| Posting { cents: -posting.cents, ..posting });
                postings.extend(taken_back);
            }
        } else if item.status == ItemStatus::Invalid && item.kind == ItemKind::Interest {
            // Interest that was paid in advance is not owed once the payment bounces.
            let part = BalancePart::Owed(Component::Interest);
            let (id, kind, cents) = (item.id.clone(), item.kind, -item.amount);
            postings.push(Posting { item: id, kind, part, cents, paid_down: None });
        }
    }

    fn note_early_interest(&mut self, posting: &Posting, at: Time) {
        let ItemId::Interest { period, part: 1.. } = posting.item else { return };
        let early = self.early.entry(period).or_default();
        early.charged_at = early.cents.is_zero().then_some(at);
        early.cents += posting.cents;
    }
}

/// The postings of a new line item.
fn add_item(item: &LineItem, revised: &[Revision], postings: &mut Vec<Posting>) {
    let components =
        [(Component::Principal, item.principal), (Component::Interest, item.interest), (Component::Fee, item.fees)];
    let mut add = |part: BalancePart, cents: Cents, paid_down: Option<&ItemId>| {
        if !cents.is_zero() {
            let (item, kind) = (item.id.clone(), item.kind);
            postings.push(Posting { item, kind, part, cents, paid_down: paid_down.cloned() });
        }
    };
    match item.kind {
        // A charge-off only informs, and the reversal itself shows the parts of a reversal.
        ItemKind::ChargeOff | ItemKind::ReversalPart(_) => {}
        ItemKind::Payment | ItemKind::DebitOffset | ItemKind::FeeWaiver => {
            if is_undone(&item.id, revised) {
                return;
            }
            for split in &item.splits {
                add(BalancePart::Owed(split.component), -split.cents, Some(&split.item));
            }
            add(BalancePart::Surplus, -item.balance, None);
        }
        ItemKind::SurplusApplied => {
            for split in &item.splits {
                add(BalancePart::Owed(split.component), -split.cents, Some(&split.item));
            }
            // A use of surplus that is undone has no splits.
            for (component, cents) in components.into_iter().filter(|_| item.splits.is_empty()) {
                add(BalancePart::Owed(component), cents, None);
            }
            add(BalancePart::Surplus, item.amount, None);
        }
        ItemKind::PaymentReversal => {
            // A bounced payment that is folded as if it had never been made leaves nothing to undo.
            if revised.iter().any(Revision::is_undone) {
                return;
            }
            let owed_again = components.iter().map(|(_, cents)| *cents).sum::<Cents>();
            for (component, cents) in components {
                add(BalancePart::Owed(component), cents, None);
            }
            add(BalancePart::Surplus, owed_again - item.amount, None);
        }
        ItemKind::Refund | ItemKind::RefundReversal => {
            let counts = item.status != ItemStatus::Invalid;
            add(BalancePart::Surplus, if counts { -item.amount } else { Cents::ZERO }, None);
        }
        _ => {
            for (component, cents) in components {
                add(BalancePart::Owed(component), cents, None);
            }
            // The borrower owes this part of a refund, so it is not taken from the surplus.
            if matches!(item.id, ItemId::RefundExcess { .. }) {
                add(BalancePart::Surplus, item.amount, None);
            }
        }
    }
}

/// Whether an item belongs to a payment that is folded as if it had never been made.
pub fn is_undone(id: &ItemId, revised: &[Revision]) -> bool {
    let undone = |name| revised.iter().any(|revision| revision.is_undone() && revision.payment() == name);
    matches!(id, ItemId::Input(name) if undone(name))
}

/// A sentence that states what a payment paid, with its subject (`It`, `This`); `None` if it moved no money.
pub fn where_it_went(postings: &[Posting], subject: &str) -> Option<String> {
    let splits: Vec<&Posting> = postings.iter().filter(|posting| posting.paid_down.is_some()).collect();
    let kept: Cents =
        postings.iter().filter(|posting| posting.part == BalancePart::Surplus).map(|posting| posting.cents).sum();
    let is_given_back = splits.iter().any(|split| split.cents.is_positive()) || kept < Cents::ZERO;
    let parts = amounts(splits.into_iter());
    if is_given_back {
        return owed_again(postings);
    }
    if kept.is_positive() {
        let kept = format!("{kept} was kept as surplus.");
        return Some(if parts.is_empty() { kept } else { format!("{subject} paid {}; {kept}", listed(&parts)) });
    }
    match parts.as_slice() {
        [] => None,
        parts => Some(format!("{subject} paid {}.", listed(parts))),
    }
}

/// A sentence that states what is owed again after a payment was undone; `None` if nothing is.
pub fn owed_again(postings: &[Posting]) -> Option<String> {
    let taken_back = postings.iter().filter(|posting| posting.cents.is_positive() && is_taken_back(posting));
    let parts = amounts(taken_back);
    let verb = if parts.len() == 1 { "is" } else { "are" };
    (!parts.is_empty()).then(|| format!("{} {verb} owed again.", listed(&parts)))
}

fn is_taken_back(posting: &Posting) -> bool {
    posting.paid_down.is_some() || posting.kind == ItemKind::PaymentReversal
}

/// How much surplus a step used.
pub fn surplus_used(postings: &[Posting]) -> Cents {
    let is_use = |posting: &&Posting| posting.kind == ItemKind::SurplusApplied && posting.part == BalancePart::Surplus;
    let uses = postings.iter().filter(is_use);
    -uses.map(|posting| posting.cents).sum::<Cents>()
}

/// The sum of each component, in words, without signs.
fn amounts<'a>(postings: impl Iterator<Item = &'a Posting> + Clone) -> Vec<String> {
    let components = [(Component::Fee, "fees"), (Component::Interest, "interest"), (Component::Principal, "principal")];
    let sum = |component: Component| -> Cents {
        let owed = postings.clone().filter(|posting| posting.part == BalancePart::Owed(component));
        owed.map(|posting| posting.cents).sum()
    };
    let sums = components.map(|(component, word)| (sum(component), word));
    let sums = sums.into_iter().filter(|(cents, _)| !cents.is_zero());
    sums.map(|(cents, word)| format!("{} of {word}", if cents < Cents::ZERO { -cents } else { cents })).collect()
}

/// Joins parts of a sentence: `a, b and c`.
fn listed(parts: &[String]) -> String {
    match parts {
        [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        parts => parts.concat(),
    }
}
