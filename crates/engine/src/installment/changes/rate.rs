//! Rates, caps, pauses and promotions.

use crate::change::{LevelPayment, RateChange, RateKind};
use crate::installment::rates::{Effect, Source, Window};
use crate::installment::terms::Method;
use crate::item::{ChangeItem, Component, ItemId, ItemReason, Name};
use crate::money::{Cents, Percent};
use crate::outcome::Refusal;
use crate::step::{FoldError, StepContext};
use crate::timeline::Rank;

impl RateChange {
    /// Whether interest that the change would have saved is given back if it is recorded late.
    fn gives_back(&self) -> bool {
        self.retroactive || matches!(self.kind, RateKind::Cap { .. })
    }

    fn effects(&self) -> impl Iterator<Item = Effect> {
        let reduces = self.level_payment == LevelPayment::Reduce;
        let (rate, late_fee) = match self.kind {
            RateKind::Plain(rate) => (Some(Effect::Plain(rate)), None),
            RateKind::Cap { tag, rate } => (Some(Effect::Cap { rate, tag: Some(tag), reduces }), None),
            RateKind::Pause => (Some(Effect::Cap { rate: Percent::ZERO, tag: None, reduces: false }), None),
            RateKind::Promo { rate, late_fee } => (rate.map(Effect::Plain), late_fee.map(Effect::LateFee)),
        };
        rate.into_iter().chain(late_fee)
    }

    /// Whether it is a limit, which may leave the rate as it is.
    fn is_cap(&self) -> bool {
        matches!(self.kind, RateKind::Cap { .. } | RateKind::Pause)
    }
}

impl StepContext<'_> {
    /// Whether the change was recorded after its dates had been counted: then it counts from today.
    fn is_late(&self, rate: &RateChange) -> bool {
        self.place.rank == Rank::Late && rate.from < self.today
    }

    pub(super) fn examine_rate(&self, rate: &RateChange) -> Result<(), Refusal> {
        let is_over = rate.to.is_some_and(|to| to <= self.today);
        if !self.is_late(rate) || !is_over {
            return Ok(());
        }
        if !rate.gives_back() {
            return Err(Refusal::NothingToChange);
        }
        match self.saved_by(rate) {
            Ok(Ok(saved)) if saved.is_zero() => Err(Refusal::NothingToChange),
            Ok(Err(refusal)) => Err(refusal),
            _ => Ok(()),
        }
    }

    /// The interest that a late change would have saved.
    fn saved_by(&self, rate: &RateChange) -> Result<Result<Cents, Refusal>, FoldError> {
        let Some(effect) = rate.effects().find(|effect| !matches!(effect, Effect::LateFee(_))) else {
            return Ok(Ok(Cents::ZERO));
        };
        let source = Source::Status;
        self.saving(&Window { source, effect, named_from: rate.from, from: rate.from, to: rate.to })
    }

    pub(super) fn change_rate(&mut self, name: &Name, rate: &RateChange) -> Result<Result<(), Refusal>, FoldError> {
        let saved = if self.is_late(rate) && rate.gives_back() {
            match self.saved_by(rate)? {
                Ok(saved) => saved,
                Err(refusal) => return Ok(Err(refusal)),
            }
        } else {
            Cents::ZERO
        };
        let today = self.today;
        let before = self.state.loan().rates.clone();
        let (from, source) = (rate.from.max(today), Source::Change(name.clone()));
        if rate.to.is_none_or(|to| from < to) {
            for effect in rate.effects() {
                let window = Window { source: source.clone(), effect, named_from: rate.from, from, to: rate.to };
                self.loan().add_window(window);
            }
        }
        if !self.state.status.is_closed() {
            self.fix_interest()?;
        }
        if saved.is_positive() {
            let id = ItemId::OfChange { change: name.clone(), item: ChangeItem::Retroactive };
            self.offset(id, saved, Component::Interest, ItemReason::RetroactiveRate)?;
        }
        let is_other = !rate.is_cap() || self.state.loan().rates.differs_from(&before, today);
        // Equal parts of principal stay as they are.
        let is_level = self.plan.policy.method == Method::Level;
        match self.first_ahead() {
            Some(row) if is_level && rate.level_payment == LevelPayment::Recalculate && is_other && rate.has_rate() => {
                self.recalculate_from(row, Cents::ZERO)?;
            }
            _ => {}
        }
        Ok(Ok(()))
    }
}

impl RateChange {
    /// Whether it is about interest: a promotion may be about late fees only.
    fn has_rate(&self) -> bool {
        !matches!(self.kind, RateKind::Promo { rate: None, .. })
    }
}
