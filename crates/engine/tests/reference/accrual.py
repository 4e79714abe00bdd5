"""How interest of the open period accrues."""

from datetime import timedelta
from fractions import Fraction

WITH, WITHOUT = 0, 1  # the caps that lower instalments


class Accrual:
    """Exact interest of the open period. Under THIRTY_360, interest is kept per day of the period and multiplied by the
    period's present length, so that another end restates it."""

    def __init__(self, carried=Fraction(0)):
        self.fixed = [carried, carried]  # interest that no other end restates
        self.by_days = [Fraction(0), Fraction(0)]  # principal x rate x days

    def copy(self):
        other = Accrual()
        other.fixed, other.by_days = list(self.fixed), list(self.by_days)
        return other


class Interest:
    """The part of the state that concerns interest."""

    def day_length(self, k):
        """THIRTY_360: the fraction of a year that one day of period k earns."""
        days = (self.end_of(k) - self.start_of(k)).days
        return self.years_of(k) / days if days > 0 else Fraction(0)

    def part(self, k, start, end):
        """The fraction of a year of the dates from start to end (excluded), which lie in period k."""
        if self.terms.agreed_periods:
            return max(0, (end - start).days) * self.day_length(k)
        return self.terms.real_days(start, end)

    def weight(self, k, start=None, end=None, unreduced=False):
        """The sum of the rate times the fraction of a year over these dates of period k."""
        start, end = start or self.start_of(k), end or self.end_of(k)
        pieces = self.rates.pieces(start, end) if start < end else []
        return sum((self.rates.on(a, unreduced) * self.part(k, a, b) for a, b in pieces), Fraction(0))

    # --- Accruing ---

    @property
    def earning_principal(self):
        """Principal that a deferral keeps free of interest does not earn."""
        ahead = self.rows[self.passed + 1 : self.count + 1]
        free = sum(min(row.held_free, self.unpaid_held(row)) for row in ahead if row.held_free)
        return self.principal - min(self.principal, free)

    def accrued_to(self, day):
        """The accrual up to a date (excluded)."""
        accrual, k = self.accrual.copy(), self.period
        day = min(day, self.end_of(k))
        if day <= self.through or not self.earns() or not self.terms.daily:
            return accrual
        principal = self.earning_principal
        for start, end in self.rates.pieces(self.through, day):
            for which in (WITH, WITHOUT):
                rate = principal * self.rates.on(start, which == WITHOUT)
                if self.terms.rounding_at == "DAILY":
                    accrual.fixed[which] += self.rounded_days(k, rate, start, end)
                elif self.terms.agreed_periods:
                    accrual.by_days[which] += rate * (end - start).days
                else:
                    accrual.fixed[which] += rate * self.terms.real_days(start, end)
        return accrual

    def rounded_days(self, k, rate, start, end):
        cents, day = 0, start
        while day < end:
            cents += self.terms.interest_cents(rate * self.part(k, day, day + timedelta(days=1)))
            day += timedelta(days=1)
        return cents

    def exact(self, accrual, which=WITH):
        return accrual.fixed[which] + accrual.by_days[which] * self.day_length(self.period)

    def accrue(self, day=None):
        """Call it before the principal or the status changes. A counted day stays counted, even if the clock is set
        back across midnight."""
        day = min(day or self.today, self.end_of(self.period))
        self.remember(day)
        self.accrual = self.accrued_to(day)
        self.through = max(self.through, day)

    def remember(self, day):
        """What earned from when to when, for rates that are known late."""
        if day > self.through and self.earns():
            principal = self.earning_principal if self.terms.daily else sum(base for _, base in self.bases)
            each = self.day_length(self.period) if self.terms.agreed_periods else None
            self.history = [*self.history, (self.through, day, principal, each)]

    def saved_by(self, start, others):
        """What other rates would have saved from a date up to today."""
        saved = Fraction(0)
        for first, last, principal, each in self.history:
            day = max(first, start)
            while day < min(last, self.today):
                share = self.terms.real_days(day, day + timedelta(days=1)) if each is None else each
                saved += principal * (self.rates.on(day) - others.on(day)) * share
                day += timedelta(days=1)
        return self.terms.interest_cents(saved)

    def round_off(self):
        """PAYMENT: fractions fall away when money comes in."""
        if self.terms.rounding_at == "PAYMENT":
            self.accrual = self.accrual.copy()
            for which in (WITH, WITHOUT):
                exact = self.exact(self.accrual, which)
                self.accrual.fixed[which] += self.terms.interest_cents(exact) - exact

    def left_over(self):
        """The fraction of a cent that the next period begins with."""
        if self.terms.rounding_at not in ("CARRY", "PAYMENT"):
            return Fraction(0)
        exact = self.exact(self.accrual)
        return exact - self.terms.interest_cents(exact)

    # --- Interest that is fixed at the beginning of a period ---

    def begin_period(self):
        """Fixes principal and interest at the beginning of a period."""
        self.begun = True
        self.bases = [(self.start_of(self.period), self.earning_principal if self.earns() else 0)]
        self.fix_interest()

    def fix_interest(self):
        terms, k = self.terms, self.period
        if not self.begun or terms.daily:
            return
        if terms.kept:
            row = self.rows[min(k, self.tail)]
            owed = self.bases[0][1] or (terms.keeps_refund and self.earns())
            self.fixed = row.kept if owed and row.kept else 0
        else:
            self.fixed = terms.interest_cents(self.given + self.periodic())

    def periodic(self, unreduced=False):
        weights = ((base, self.weight(self.period, start, unreduced=unreduced)) for start, base in self.bases)
        return sum((base * weight for base, weight in weights), Fraction(0))

    def refix_interest(self):
        """After a rate or the period's end has changed."""
        if self.terms.kept:
            return
        before = self.fixed
        self.fix_interest()
        if not self.principal:  # A paid-off loan earns no more interest.
            self.fixed = min(self.fixed, before)

    # --- In cents ---

    def open_interest(self):
        """Interest of the open period in cents that is owed so far and is not an item yet."""
        if self.closed:
            return 0
        if self.terms.daily:
            whole = self.terms.interest_cents(self.exact(self.accrued_to(self.today)))
        elif not self.begun:
            return 0
        else:
            whole = self.fixed
        return max(0, whole - self.rows[self.owner].recognised)

    def forgiven(self):
        """What the caps that lower instalments forgive of the open period's interest; for dates to come, with the
        present principal."""
        k, terms = self.period, self.terms
        if k > self.count or not self.rates.reduces(self.start_of(k), self.end_of(k)) or terms.kept:
            return 0
        if not self.earns():
            return 0
        if terms.daily:
            accrual = self.accrued_to(self.end_of(k))
            amounts = self.exact(accrual, WITHOUT), self.exact(accrual, WITH)
        else:
            bases = self.bases if self.begun else [(self.start_of(k), self.earning_principal)]
            weigh = lambda start, unreduced: self.weight(k, start, unreduced=unreduced)
            amounts = [self.given + sum(base * weigh(start, one) for start, base in bases) for one in (True, False)]
        return max(0, terms.interest_cents(amounts[0]) - terms.interest_cents(amounts[1]))
