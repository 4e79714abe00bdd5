//! Turns the form of a change into the engine's change, for one account.

use super::{
    DueDateChange, LoanChange, NewCapitalization, NewDeferral, NewInterestPause, NewInterestRate, NewReAge,
    NewRestructure, NewTempPromo,
};
use crate::form::FieldProblem;
use crate::form::fields::*;
use daybook_engine::calendar::{Day, Interval};
use daybook_engine::change::{
    Arrears, CapTag, Capitalization, CapitalizedInterest, Change, Deferral, DeferredBalance, DeferredRow, Extension,
    LevelPayment, RateChange, RateKind, ReAge, Reamortization, Restructure, Skip,
};
use daybook_engine::installment::Method;
use daybook_engine::money::Cents;
use daybook_engine::terms::Terms;
use daybook_engine::time::Time;

/// A change of one account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// When it takes effect; `None` means at the account clock.
    pub effective_at: Option<Time>,
    /// The change.
    pub change: Change,
}

/// The account that a change is made for, and the rules it breaks.
struct Context<'a> {
    terms: &'a Terms,
    clock: Time,
    broken: Vec<FieldProblem>,
}

impl LoanChange {
    /// The change for an account with these terms and this clock, or all rules that it breaks by itself. The engine
    /// checks it against the plan in force.
    pub fn resolve(&self, terms: &Terms, clock: Time) -> Result<Resolved, Vec<FieldProblem>> {
        let mut context = Context { terms, clock, broken: Vec::new() };
        let mut effective_at = self.effective_at().map(|moment| *moment.get());
        let mut window = None;
        let change = match self {
            LoanChange::InterestRate(form) => context.rate(form, &mut window),
            LoanChange::ReplacedRate(form) => context.rate(&form.into(), &mut window),
            LoanChange::TempPromo(form) => context.promo(form, &mut window),
            LoanChange::InterestPause(form) => context.pause(form, &mut window),
            LoanChange::DueDate(form) => context.due_date(form),
            LoanChange::Skip(form) => Change::Skip(Skip {
                from_due_date: day(&form.from_due_date),
                count: form.count.map_or(1, SkippedCount::get),
                extend_term: form.extend_term.unwrap_or(true),
            }),
            LoanChange::Extension(form) => {
                Change::Extension(Extension { count: form.count.get(), from_due_date: day(&form.from_due_date) })
            }
            LoanChange::Deferral(form) => context.deferral(form),
            LoanChange::ReAmortization(form) => Change::Reamortization(Reamortization {
                interest: match form.interest {
                    Some(SpreadOfInterest::Spread) => Arrears::Spread,
                    Some(SpreadOfInterest::First) | None => Arrears::First,
                },
            }),
            LoanChange::ReAge(form) => Change::ReAge(context.re_age(form)),
            LoanChange::Restructure(form) => context.restructure(form),
            LoanChange::Capitalization(form) => context.capitalization(form),
        };
        if let Some(start) = window {
            effective_at = Some(start);
        }
        context.check_method(&change);
        if context.broken.is_empty() { Ok(Resolved { effective_at, change }) } else { Err(context.broken) }
    }
}

fn day(text: &Option<DateText>) -> Option<Day> {
    text.as_ref().map(|text| *text.get())
}

impl Context<'_> {
    fn refuse(&mut self, field: &str, rule: &str) {
        self.broken.push(FieldProblem::new(field, rule));
    }

    /// The place and the date of a window's start. An `effective_at` that is given too must not be after it.
    fn start(&mut self, start: Option<DateOrTime>, effective_at: Option<&Moment>, field: &str) -> (Time, Day) {
        let zone = &self.terms.zone;
        let effective_at = effective_at.map(|moment| *moment.get());
        let Some(start) = start else {
            let at = effective_at.unwrap_or(self.clock);
            return (at, zone.day_at(at));
        };
        let (at, day) = (start.at(zone), start.day(zone));
        if effective_at.is_some_and(|effective_at| effective_at > at) {
            self.refuse("effective_at", &format!("must not be after {field}"));
        }
        // The account's own date begins before the account does.
        let begins_at = self.terms.begins_at();
        let is_own_date = matches!(start, DateOrTime::Date(_)) && day == self.terms.zone.day_at(begins_at);
        (if is_own_date { at.max(begins_at) } else { at }, day)
    }

    /// Keep or recalculate; only a limit with a tag reduces.
    fn keep_or_recalculate(&mut self, rule: Option<LevelPaymentRule>, usual: LevelPayment) -> LevelPayment {
        if rule == Some(LevelPaymentRule::Reduce) {
            self.refuse("level_payment", "must be KEEP or RECALCULATE: REDUCE is for rates with a tag");
        }
        rule.map_or(usual, Into::into)
    }

    fn rate(&mut self, form: &NewInterestRate, window: &mut Option<Time>) -> Change {
        let start = form.effective_at_inclusive_start.as_ref().map(|start| *start.get());
        let (at, from) = self.start(start, form.effective_at.as_ref(), "effective_at_inclusive_start");
        *window = Some(at);
        let to = form.effective_at_exclusive_end.as_ref().map(|end| end.get().day(&self.terms.zone));
        if to.is_some_and(|to| to <= from) {
            self.refuse("effective_at_exclusive_end", "must be a later date than that of the start");
        }
        let tags = form.tags.clone().unwrap_or_default();
        let tag = match (tags.scra.unwrap_or(false), tags.mla.unwrap_or(false)) {
            (true, true) => {
                self.refuse("tags", "must have only one of scra and mla");
                Some(CapTag::Scra)
            }
            (true, false) => Some(CapTag::Scra),
            (false, true) => Some(CapTag::Mla),
            (false, false) => None,
        };
        let given = form.interest_rate.map(YearlyRate::get);
        let (kind, level_payment) = match tag {
            Some(tag) => {
                let usual = if tag == CapTag::Scra { LevelPayment::Reduce } else { LevelPayment::Recalculate };
                let kind = RateKind::Cap { tag, rate: given.unwrap_or(tag.rate()) };
                (kind, form.level_payment.map_or(usual, Into::into))
            }
            None => {
                if given.is_none() {
                    self.refuse("interest_rate", "is required without a tag");
                }
                let level_payment = self.keep_or_recalculate(form.level_payment, LevelPayment::Recalculate);
                (RateKind::Plain(given.unwrap_or_default()), level_payment)
            }
        };
        let retroactive = tag.is_some() || form.retroactive.unwrap_or(false);
        Change::Rate(RateChange { kind, from, to, level_payment, retroactive })
    }

    fn promo(&mut self, form: &NewTempPromo, window: &mut Option<Time>) -> Change {
        let start = *form.temp_promo_inclusive_start.get();
        let (at, from) = self.start(Some(start), form.effective_at.as_ref(), "temp_promo_inclusive_start");
        *window = Some(at);
        let to = form.temp_promo_exclusive_end.get().day(&self.terms.zone);
        if to <= from {
            self.refuse("temp_promo_exclusive_end", "must be a later date than temp_promo_inclusive_start");
        }
        let rate = form.interest_rate_percent.map(YearlyRate::get);
        let late_fee = form.late_fee_cents.map(AmountOrZero::get);
        if rate.is_none() && late_fee.is_none() {
            self.refuse("interest_rate_percent", "or late_fee_cents is required");
        }
        let level_payment = self.keep_or_recalculate(form.level_payment, LevelPayment::Keep);
        let kind = RateKind::Promo { rate, late_fee };
        Change::Rate(RateChange { kind, from, to: Some(to), level_payment, retroactive: false })
    }

    fn pause(&mut self, form: &NewInterestPause, window: &mut Option<Time>) -> Change {
        let start = DateOrTime::Date(*form.start.get());
        let (at, from) = self.start(Some(start), form.effective_at.as_ref(), "start");
        *window = Some(at);
        let to = *form.end.get();
        if to < from {
            self.refuse("end", "must not be before start");
        }
        let level_payment = self.keep_or_recalculate(form.level_payment, LevelPayment::Keep);
        let retroactive = form.retroactive.unwrap_or(false);
        Change::Rate(RateChange { kind: RateKind::Pause, from, to: Some(to), level_payment, retroactive })
    }

    fn due_date(&mut self, form: &DueDateChange) -> Change {
        let semi_monthly_days = form.semi_monthly_days.map(|[first, second]| [first.get(), second.get()]);
        if let Some([first, second]) = semi_monthly_days {
            if self.terms.installment().policy.semi_monthly.is_none() {
                self.refuse("semi_monthly_days", "is allowed only if the cycle_interval is semi-month");
            } else if first == second {
                self.refuse("semi_monthly_days", "must be two different days");
            }
        }
        Change::DueDate(daybook_engine::change::DueDateChange {
            from_due_date: day(&form.from_due_date),
            next_due_date: *form.next_due_date.get(),
            semi_monthly_days,
            level_payment: self.keep_or_recalculate(form.level_payment, LevelPayment::Keep),
            fee: form.fee_cents.map_or(Cents::ZERO, AmountOrZero::get),
        })
    }

    fn deferral(&mut self, form: &NewDeferral) -> Change {
        let mut rows: Vec<DeferredRow> = Vec::with_capacity(form.deferrals.len());
        for (index, row) in form.deferrals.iter().enumerate() {
            let due_date = *row.due_date.get();
            let deferred_to = row.deferred_to.as_ref().and_then(|to| *to.get());
            let balance = row.balance.map_or(DeferredBalance::All, Into::into);
            if rows.iter().any(|earlier| earlier.due_date == due_date && earlier.balance == balance) {
                self.refuse(&format!("deferrals[{index}].due_date"), "is given twice");
            }
            if deferred_to.is_some_and(|to| to <= due_date) {
                self.refuse(&format!("deferrals[{index}].deferred_to"), "must be later than due_date");
            }
            rows.push(DeferredRow { due_date, deferred_to, balance });
        }
        let accrues = form.interest_on_deferred != Some(InterestOnDeferred::None);
        Change::Deferral(Deferral { rows, accrues })
    }

    fn frequency(&mut self, text: &Option<IntervalText>) -> Option<Interval> {
        let interval = text.as_ref().map(|text| *text.get());
        if interval.is_some_and(|interval| interval.thirty_day_count() <= 0) {
            self.refuse("frequency", "must be longer than 0 days");
        }
        interval
    }

    fn re_age(&mut self, form: &NewReAge) -> ReAge {
        ReAge {
            first_due_date: Some(*form.first_due_date.get()),
            instalments: form.installments.get(),
            frequency: self.frequency(&form.frequency),
            interest: form.interest.map_or(Arrears::First, Into::into),
            fees: form.fees.map_or(Arrears::First, Into::into),
            payment_amount: form.payment_amount_cents.map(Amount::get),
        }
    }

    fn restructure(&mut self, form: &NewRestructure) -> Change {
        let interest_only = form.interest_only_cycles.map_or(0, Count::get);
        if interest_only >= form.am_len.get() {
            self.refuse("interest_only_cycles", "must be less than am_len");
        }
        let re_age = ReAge {
            first_due_date: day(&form.first_due_date),
            instalments: form.am_len.get(),
            frequency: self.frequency(&form.frequency),
            interest: form.interest.map_or(Arrears::First, Into::into),
            fees: form.fees.map_or(Arrears::First, Into::into),
            payment_amount: form.payment_amount_cents.map(Amount::get),
        };
        Change::Restructure(Restructure {
            re_age,
            rate: form.interest_rate_percent.map(YearlyRate::get),
            interest_only,
            principal_forgiven: form.principal_forgiven_cents.map_or(Cents::ZERO, AmountOrZero::get),
        })
    }

    fn capitalization(&mut self, form: &NewCapitalization) -> Change {
        Change::Capitalization(Capitalization {
            interest: form.interest.map_or(CapitalizedInterest::All, Into::into),
            fees: form.fees == Some(CapitalizedFees::All),
            level_payment: self.keep_or_recalculate(form.level_payment, LevelPayment::Recalculate),
        })
    }

    /// Loans whose interest is fixed have no rate, and only some of their instalments can be changed.
    fn check_method(&mut self, change: &Change) {
        if !matches!(self.terms.installment().policy.method, Method::Flat | Method::Precomputed) {
            return;
        }
        let is_possible = match change {
            Change::Rate(RateChange { kind: RateKind::Promo { rate: None, .. }, .. }) => true,
            Change::DueDate(change) => change.level_payment == LevelPayment::Keep,
            Change::Skip(skip) => skip.extend_term,
            Change::Deferral(_) => true,
            _ => false,
        };
        if !is_possible {
            let rule = match change {
                Change::Skip(_) => "must be with extend_term: the interest of this loan is fixed",
                Change::DueDate(_) => "must keep the level_payment: the interest of this loan is fixed",
                _ => "is not possible: the interest of this loan is fixed",
            };
            self.refuse(change.kind(), rule);
        }
    }
}
