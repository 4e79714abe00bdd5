//! New rows replace all that are unpaid, and nothing is past due any more.

use crate::calendar::Day;
use crate::calendar::MonthEnd;
use crate::change::{Arrears, Change, ReAge, Restructure};
use crate::installment::Adjust;
use crate::installment::loan::InstalmentRow;
use crate::installment::rates::{Effect, Source, Window};
use crate::installment::rewriting::NewRows;
use crate::installment::row_amounts::Ask;
use crate::installment::terms::Method;
use crate::item::{ChangeItem, Component, ItemId, ItemReason, Name};
use crate::money::Cents;
use crate::outcome::Refusal;
use crate::status::Status;
use crate::step::{FoldError, StepContext};
use crate::terms::LATEST;

impl StepContext<'_> {
    pub(super) fn examine_re_age(&self, re_age: &ReAge) -> Result<(), Refusal> {
        let wrong = |field, rule| Err(Refusal::Field { field, rule });
        let first = self.first_new_due_day(re_age);
        if first < self.today {
            return wrong("first_due_date", "must not be before the change's date");
        }
        let interval = re_age.frequency.unwrap_or_else(|| self.present_interval());
        let longest = i64::from((interval.months * 31 + interval.days).max(0)) * i64::from(re_age.instalments);
        if longest > i64::from(LATEST.days_since(first)) {
            return wrong("installments", "puts the last due date beyond the year 2199");
        }
        Ok(())
    }

    /// How often an account may be re-aged. Only a live arrival is refused.
    pub(super) fn check_limits(&self, change: &Change) -> Result<(), Refusal> {
        if !matches!(change, Change::ReAge(_) | Change::Restructure(_)) {
            return Ok(());
        }
        let limits = self.plan.policy.re_age_limits;
        let ago = |months: u32| self.today.plus_months(-(months as i32), MonthEnd::Clamp);
        let re_ages = &self.state.loan().changes.re_ages;
        let since = |months| re_ages.iter().filter(|day| **day > ago(months)).count();
        let is_full = |limit: Option<u32>, months| limit.is_some_and(|limit| since(months) >= limit as usize);
        let is_young = limits.min_age_months.is_some_and(|months| self.plan.dates.start > ago(months));
        if is_young || is_full(limits.per_12_months, 12) || is_full(limits.per_60_months, 60) {
            return Err(Refusal::LimitReached);
        }
        Ok(())
    }

    fn present_interval(&self) -> crate::calendar::Interval {
        self.state.loan().plan.interval(&self.plan.dates, self.last_row())
    }

    /// The first new due date: the one given, that of the first row ahead, or one interval after the change.
    fn first_new_due_day(&self, re_age: &ReAge) -> Day {
        let interval = re_age.frequency.unwrap_or_else(|| self.present_interval());
        re_age.first_due_date.unwrap_or_else(|| match self.first_ahead() {
            Some(row) => self.due_day(row),
            None => self.plan.dates.after(self.today, interval, 1),
        })
    }

    /// A re-age under other terms.
    pub(super) fn restructure(&mut self, name: &Name, change: &Restructure) -> Result<(), FoldError> {
        if change.principal_forgiven.is_positive() {
            let id = ItemId::OfChange { change: name.clone(), item: ChangeItem::Forgiven };
            let amount = change.principal_forgiven.min(self.state.loan().principal);
            self.offset(id, amount, Component::Principal, ItemReason::PrincipalForgiven)?;
        }
        if let Some(rate) = change.rate {
            let (source, effect, from) = (Source::Change(name.clone()), Effect::Plain(rate), self.today);
            self.loan().add_window(Window { source, effect, named_from: from, from, to: None });
            self.fix_interest()?;
        }
        self.re_age(name, &change.re_age, change.interest_only)
    }

    pub(super) fn re_age(&mut self, name: &Name, re_age: &ReAge, interest_only: u32) -> Result<(), FoldError> {
        let (due_day, today) = (self.first_new_due_day(re_age), self.today);
        let interval = re_age.frequency.unwrap_or_else(|| self.present_interval());
        let waived = self.settle_arrears(name, re_age)?;
        let behind = self.unpaid_behind();
        self.post_today_if_spread(re_age.interest, &behind)?;
        let (mut floating, to_come) = self.retire(&behind)?;
        let loan = self.loan();
        let (current, was_matured) = (loan.current(), loan.current() > loan.plan.count());
        let open_day = loan.period.end;
        let is_due_today = !was_matured && open_day <= today;
        let removed = if was_matured { loan.plan.count() + 1 } else { current + u32::from(is_due_today) };
        let start = if is_due_today { open_day } else { loan.period.start };
        let (paid, unpaid_interest) = self.remove_rows(removed);
        floating += unpaid_interest;
        let first = self.keep_paid(paid, removed, is_due_today.then_some(current));
        let new = NewRows { first, count: re_age.instalments, due_day, interval, start, interest_only };
        let is_adjusted = self.plan.policy.business_days.adjust != Adjust::None;
        let plan = &mut self.loan().plan;
        plan.replace_from((first > removed).then_some(today), &new);
        if first > removed && is_adjusted {
            // The row that shows what was paid does not move to a business day.
            plan.adjusted.push(today);
        }
        self.renumber_to_new(removed, first, if first > removed { removed } else { removed.min(current) });
        if !is_due_today {
            self.reopen_period(first, was_matured);
        }
        self.follow_plan()?;
        self.set_new_amounts(re_age, &new, floating, to_come)?;
        if re_age.fees == Arrears::Spread {
            self.spread_fees(name, first, waived)?;
        }
        let loan = self.loan();
        loan.late_count = 0;
        let oldest = today.plus_months(-60, MonthEnd::Clamp);
        loan.changes.re_ages.retain(|day| *day > oldest);
        loan.changes.re_ages.push(today);
        if self.state.status == Status::DELINQUENT {
            self.move_to(self.state.active_pair)?;
        }
        Ok(())
    }

    /// Waives or capitalizes interest and fees. Returns the fees that are to be charged anew.
    fn settle_arrears(&mut self, name: &Name, re_age: &ReAge) -> Result<Cents, FoldError> {
        match re_age.interest {
            Arrears::Waive => {
                self.offset_interest(name, true, ItemReason::InterestWaived)?;
            }
            Arrears::Capitalize => self.capitalize_interest(name, true)?,
            Arrears::First | Arrears::Spread => {}
        }
        match re_age.fees {
            Arrears::Waive | Arrears::Spread => return Ok(self.waive_fees(name)),
            Arrears::Capitalize => self.capitalize_fees(name)?,
            Arrears::First => {}
        }
        Ok(Cents::ZERO)
    }

    /// Removes the rows from `first` on, interest after maturity included. Returns a row with what was paid into them,
    /// and their unpaid interest.
    fn remove_rows(&mut self, first: u32) -> (InstalmentRow, Cents) {
        let loan = self.loan();
        let prepaid = loan.prepaid_from_end();
        let mut paid = InstalmentRow { posted: true, retired: true, on_time: true, ..InstalmentRow::default() };
        let mut unpaid_interest = Cents::ZERO;
        let kept = (first.saturating_sub(loan.first_row) as usize).min(loan.rows.len());
        for row in loan.rows.drain(kept..) {
            paid.interest_paid += row.interest_paid;
            paid.principal_paid += row.principal_paid;
            paid.extra += row.extra;
            unpaid_interest += row.unpaid_interest();
            loan.interest_free -= row.interest_free;
        }
        paid.extra += prepaid;
        (paid.interest, paid.principal) = (paid.interest_paid, paid.principal_paid);
        loan.posted_principal += prepaid;
        loan.deferrals.clear();
        loan.tail.clear();
        if let Some(past) = &mut loan.past {
            past.tail.clear();
        }
        (paid, unpaid_interest)
    }

    /// Shows what was paid into removed rows in one retired row: that of today, or one before the new rows. Returns the
    /// number of the first new row.
    fn keep_paid(&mut self, paid: InstalmentRow, removed: u32, today: Option<u32>) -> u32 {
        let loan = self.loan();
        if (paid.interest + paid.principal + paid.extra).is_zero() {
            return removed;
        }
        match today {
            // The row of today asks for nothing more either: it is retired or paid in full.
            Some(row) => {
                let row = loan.row_mut(row);
                row.retired = true;
                row.merge(&paid);
                removed
            }
            None => {
                loan.posted_principal += paid.principal;
                *loan.row_mut(removed) = paid;
                removed + 1
            }
        }
    }

    /// Payments into removed rows now refer to the row that shows them, fees and notices to the first new row.
    fn renumber_to_new(&mut self, removed: u32, first: u32, shown_in: u32) {
        self.renumber(|old| if old < removed { old } else { shown_in }, |old| if old < removed { old } else { first });
        self.loan().fees.iter_mut().for_each(|fee| fee.instalment = first);
        self.state.notices.iter_mut().for_each(|notice| notice.renumber(|fired| fired.min(removed - 1)));
    }

    fn set_new_amounts(
        &mut self,
        re_age: &ReAge,
        new: &NewRows,
        floating: Cents,
        to_come: Cents,
    ) -> Result<(), FoldError> {
        let repays_from = new.first + new.interest_only;
        if new.interest_only > 0 {
            self.loan().plan.rewrite(new.first, Ask::Principal(Cents::ZERO));
        }
        if self.plan.policy.method == Method::Level {
            // What the removed rows asked for counts no more.
            self.loan().plan.rewrite(repays_from, Ask::Total(Cents::ZERO));
        }
        let is_spread = re_age.interest == Arrears::Spread;
        match re_age.payment_amount {
            Some(amount) => {
                self.loan().plan.rewrite(repays_from, Ask::Total(amount));
            }
            None => {
                let covered = if is_spread { Cents::ZERO } else { floating + to_come };
                self.recalculate(repays_from, Cents::ZERO, covered)?;
            }
        }
        if is_spread {
            self.spread_interest(new.first, floating);
        } else {
            self.place_interest(new.first, floating);
        }
        Ok(())
    }
}
