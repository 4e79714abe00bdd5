"""An account as it stands: rows, interest, fees, items. What can be derived is derived whenever it is asked for."""

import copy
from fractions import Fraction

WITHOUT_LIMIT = 10**30


class Row:
    """An instalment. It has a fixed total (LEVEL), a fixed principal (the other methods, interest-only rows), or
    neither (the last row, which takes the rest)."""

    def __init__(self):
        self.total = None
        self.fixed_principal = None
        self.interest = 0  # that is this row's, paid or not
        self.interest_paid = 0
        self.principal_paid = 0
        self.principal = None  # known once the row has fallen due
        self.from_end = 0  # the part of it that payments into the end of the loan had paid by then
        self.extra = 0  # principal paid on top, which made later rows smaller
        self.fell_due_closed = False

    @property
    def unpaid_principal(self):
        """Of a row that has fallen due."""
        return self.principal - self.from_end - self.principal_paid

    @property
    def unpaid_interest(self):
        return self.interest - self.interest_paid


class Fee:
    def __init__(self, name, penalty, amount, row):
        self.name, self.penalty, self.unpaid, self.row = name, penalty, amount, row


class State:
    def __init__(self, terms):
        self.terms = terms
        self.now = terms.effective_at
        self.lent = self.principal = terms.principal
        self.rows = [None] + [Row() for _ in range(terms.count)]
        self.fees, self.items, self.notices, self.refused = [], [], [], []
        self.surplus = 0
        self.end_paid = 0  # principal paid from the end backwards
        self.passed = 0  # due moments that have passed, those after maturity too
        self.fee_moments = 0  # that have passed
        self.accrued = Fraction(0)  # DAILY: exact interest of the open period up to `through`
        self.through = terms.calendar.start
        self.fixed = 0  # PERIODIC and FLAT: the open period's interest
        self.recognised = {}  # by period: interest that has become items
        self.status = ("ACTIVE", None)
        self.late_count = 0
        self.settings, self.announced = {}, set()
        self.payments = {}
        self.receipts = []  # (when, cents, payment)
        self.net = terms.principal  # everything ever added and taken off
        self.level = 0
        rows = list(range(1, terms.count + 1))
        self.set_plan(rows, terms.principal)
        if terms.method == "LEVEL" and terms.smooth:
            self.level = terms.smoothed(self.level, rows[terms.interest_only :])
            for k in rows[terms.interest_only : -1]:
                self.rows[k].total = self.level
        self.add_item("LOAN", terms.principal)
        if terms.origination_fee:
            self.add_fee("dbk_orig_fee", "ORIG_FEE", False, terms.origination_fee)
        self.begin_period()

    def set_plan(self, rows, principal):
        """Spreads a principal over rows whose period has not begun."""
        terms = self.terms
        paying = [k for k in rows if k > terms.interest_only]
        if not paying:
            return
        self.level = terms.spread(principal, paying)
        for k in rows:
            row = self.rows[k]
            row.total = row.fixed_principal = None
            if k <= terms.interest_only:
                row.fixed_principal = 0
            elif k < terms.count and terms.method == "LEVEL":
                row.total = self.level
            elif k < terms.count:
                row.fixed_principal = self.level

    # --- Items ---

    def add_item(self, kind, amount, at=None, of=None):
        self.items.append({"kind": kind, "at": at or self.now, "amount": amount, "of": of})

    def add_fee(self, name, kind, penalty, amount):
        """A fee belongs to the row whose period holds it; after the last period to none."""
        holding = (k for k in range(1, self.terms.count + 1) if self.now <= self.terms.calendar.due_moment(k))
        self.fees.append(Fee(name, penalty, amount, next(holding, None)))
        self.net += amount
        self.add_item(kind, amount)

    # --- Interest ---

    @property
    def closed(self):
        return self.status[0] == "CLOSED"

    @property
    def period(self):
        return self.passed + 1

    @property
    def owner(self):
        """The row that the open period's interest belongs to."""
        return min(self.period, self.terms.count)

    def earns(self):
        return not self.closed and (self.period <= self.terms.count or self.terms.earns_after_maturity)

    def begin_period(self):
        """Fixes what is fixed at the beginning of a period."""
        terms = self.terms
        self.accrued, self.fixed = Fraction(0), 0
        self.through = max(self.through, terms.calendar.due_date(self.passed))
        if not self.earns() or terms.daily:
            return
        if terms.method == "FLAT":
            self.fixed = terms.flat_interest if self.principal else 0
        else:
            self.fixed = terms.cents(self.principal * terms.rate * terms.share(self.period))

    def accrued_to(self, day):
        """DAILY: exact interest of the open period up to a date (left out)."""
        terms = self.terms
        day = min(day, terms.calendar.due_date(self.period))
        if day <= self.through or not self.earns() or not terms.daily:
            return self.accrued
        return self.accrued + self.principal * terms.rate * terms.part(self.period, self.through, day)

    def accrue(self, day=None):
        """To be called before the principal or the status changes. A day that was counted stays counted, even if the
        clock is set back over midnight."""
        day = min(day or self.terms.zone.date_of(self.now), self.terms.calendar.due_date(self.period))
        self.accrued = self.accrued_to(day)
        self.through = max(self.through, day)

    def open_interest(self):
        """Cents of the open period that are owed by now and are no item yet."""
        terms = self.terms
        if self.closed:
            return 0
        if terms.daily:
            whole = terms.cents(self.accrued_to(terms.zone.date_of(self.now)))
        elif self.passed and self.now <= terms.calendar.due_moment(self.passed):
            return 0  # A period begins strictly after the due moment before it.
        else:
            whole = self.fixed
        return max(0, whole - self.recognised.get(self.period, 0))

    def room(self, k):
        """How much more interest a row may take."""
        row = self.rows[k]
        if k == self.terms.count or row.total is None:
            return WITHOUT_LIMIT
        return max(0, row.total - row.principal_paid - row.interest)

    def assign(self, k, amount):
        """Interest goes to row k up to its room, and on to the next rows: [(row, cents)]."""
        parts = []
        while amount > 0:
            part = min(amount, self.room(k))
            if part > 0:
                self.rows[k].interest += part
                parts.append((k, part))
                amount -= part
            k += 1
        return parts

    def post_open(self):
        """Interest of the open period becomes an item."""
        amount = self.open_interest()
        if amount > 0:
            self.recognised[self.period] = self.recognised.get(self.period, 0) + amount
            self.assign(self.owner, amount)
            self.add_item("INTEREST", amount)
            self.net += amount

    # --- What is unpaid ---

    def payable_unposted(self, k):
        """Interest of a row that can be paid and is no item yet."""
        if self.closed:
            return 0
        if k == self.owner:
            return min(self.open_interest(), self.room(k))
        if self.terms.method == "FLAT" and k > self.period and self.principal:
            return max(0, self.terms.flat_interest - self.recognised.get(k, 0))
        return 0

    def unpaid_principals(self):
        """By row: what its instalment leaves, as far as there is principal; the last takes all."""
        left, unpaid = self.principal, {}
        for k in range(1, self.terms.count + 1):
            row = self.rows[k]
            if k <= self.passed:
                asked = row.unpaid_principal
            elif k == self.terms.count:
                asked = left
            elif row.total is not None:
                coming = self.payable_unposted(k) if k == self.owner else 0
                asked = row.total - row.interest - coming - row.principal_paid
            else:
                asked = row.fixed_principal - row.principal_paid
            unpaid[k] = max(0, min(asked, left))
            left -= unpaid[k]
        return unpaid

    def fix_row(self, k):
        """A row falls due: its principal is what the plan says, as far as the loan has it; what is not owed of it was
        paid from the end of the loan."""
        row, rows = self.rows[k], self.rows[1:]
        left = self.lent - sum(row.extra for row in rows)
        left -= sum(row.principal for row in rows[: k - 1]) + sum(row.principal_paid for row in rows[k:])
        if k == self.terms.count:
            planned = left
        elif row.total is not None:
            planned = max(0, row.total - row.interest)
        else:
            planned = row.fixed_principal
        principal = max(min(planned, left), row.principal_paid)
        not_asked_for = self.principal - sum(row.unpaid_principal for row in rows[: k - 1])
        row.from_end = max(0, principal - row.principal_paid - not_asked_for)
        row.principal = principal

    def rest_to_last_row(self):
        """After maturity, principal that no row asks for belongs to the last."""
        if self.passed >= self.terms.count:
            asked = sum(row.unpaid_principal for row in self.rows[1:])
            self.rows[-1].principal += self.principal - asked

    def is_paid(self, k):
        row = self.rows[k]
        if k <= self.passed:
            return row.unpaid_interest + row.unpaid_principal == 0
        open_ended = k <= self.terms.interest_only or self.terms.method == "EQUAL_PRINCIPAL"
        if open_ended and self.principal > 0:
            return False  # There is no fixed total that could be reached before the interest is known.
        return row.unpaid_interest + self.payable_unposted(k) + self.unpaid_principals()[k] == 0

    def past_due_rows(self):
        return [k for k in range(1, min(self.passed, self.terms.count) + 1) if not self.is_paid(k)]

    # --- Balances ---

    def interest_balance(self):
        return sum(row.unpaid_interest for row in self.rows[1:])

    def fees_balance(self):
        return sum(fee.unpaid for fee in self.fees)

    def balance(self):
        return self.principal + self.interest_balance() + self.fees_balance()

    def payoff(self):
        return self.balance() + self.open_interest()

    def check(self):
        """Every cent is somewhere, and nothing is negative."""
        rows = self.rows[1:]
        assert self.net == self.balance() - self.surplus
        assert self.lent - self.principal == self.end_paid + sum(row.principal_paid + row.extra for row in rows)
        assert min(self.principal, self.surplus, self.end_paid) >= 0
        assert all(min(row.unpaid_interest, row.interest_paid, row.principal_paid, row.extra) >= 0 for row in rows)
        assert all(fee.unpaid >= 0 for fee in self.fees)

    def scratch(self):
        """A copy to go on with, of which only the rows and the principal matter."""
        state = copy.copy(self)
        state.rows = [None] + [copy.copy(row) for row in self.rows[1:]]
        state.recognised = dict(self.recognised)
        state.items, state.notices = [], []
        return state
