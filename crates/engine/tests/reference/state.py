"""The state of an account: rows, interest, fees, items. Derived values are computed on each access."""

import copy
from fractions import Fraction

from reading import projected

WITHOUT_LIMIT = 10**30
CLOSED_BY_ITSELF = [("CLOSED", "PAID_OFF"), ("CLOSED", "SURPLUS_BALANCE")]


class Row:
    """An instalment. It has a fixed total (LEVEL), a fixed principal (the other methods, interest-only rows), or
    neither (the last row, which takes the rest)."""

    def __init__(self):
        self.total = None
        self.fixed_principal = None
        self.written = []  # earlier amounts: (the input that changed it, total, fixed principal)
        self.interest = 0  # of this row, paid or not
        self.carried = 0  # the part of it that other periods earned
        self.interest_paid = 0
        self.principal_paid = 0
        self.principal = None  # known once the row has fallen due
        self.from_end = 0  # the part of it already paid into the end of the loan by then
        self.extra = 0  # principal paid in addition, which lowered later rows
        self.fell_due_closed = False
        self.judged = None  # at its fee moment: PAID, LATE, SPARED, STOPPED
        self.counts = True  # towards delinquency, if it is late now or after a bounce

    @property
    def paid_into(self):
        return self.interest_paid + self.principal_paid

    @property
    def unpaid_principal(self):
        """For a row that has fallen due."""
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
        # The row after the last is for interest that accrues after maturity.
        self.rows = [None] + [Row() for _ in range(terms.count + 1)]
        self.tail = terms.count + 1
        self.rows[self.tail].principal = 0
        self.tail_postings = []  # [date, cents]
        self.fees, self.items, self.notices, self.refused = [], [], [], []
        self.surplus = 0
        self.lots = []  # [source, cents]: the origin of the surplus, oldest first
        self.sources = []  # all sources of surplus ever, in order
        self.applications = []  # of surplus
        self.end_paid = 0  # principal paid from the end backwards
        self.passed = 0  # due moments that have passed, those after maturity too
        self.fee_moments = 0  # that have passed
        self.accrued = Fraction(0)  # DAILY: exact interest of the open period up to `through`
        self.through = terms.calendar.start
        self.begun = False  # A period begins after everything at the instant at which the previous one ends.
        self.base = 0  # PERIODIC: the principal at the open period's beginning
        self.fixed = 0  # PERIODIC and FLAT: the open period's interest
        self.stops = []  # [date, date or None]: dates without interest
        self.recognised = {}  # by period: interest that has become items
        self.status = self.left = ("ACTIVE", None)  # `left`: the last ACTIVE pair
        self.late_count = 0
        self.settings, self.announced = {}, set()
        self.payments = {}
        self.receipts = []  # {payment, cents, after: due moments passed, parts}
        self.net = terms.principal  # the sum of everything added and subtracted
        self.make_plan()
        self.add_item("LOAN", terms.principal)
        if terms.origination_fee:
            self.add_fee("dbk_orig_fee", "ORIG_FEE", False, terms.origination_fee)
        if "interest" in terms.effects["ACTIVE"]:
            self.stop_interest(True)
        self.begin_period()

    def move_to(self, now):
        self.now = now
        if not self.begun and now > self.terms.calendar.due_moment(self.passed):
            self.begin_period()

    # --- The plan ---

    def make_plan(self):
        terms, rows = self.terms, list(range(1, self.terms.count + 1))
        paying = rows[terms.interest_only :]
        asked = terms.spread(terms.principal, paying)
        if terms.method == "LEVEL" and terms.smooth:
            asked = terms.smoothed(asked, paying)
        for k in rows[:-1]:
            if k <= terms.interest_only:
                self.rows[k].fixed_principal = 0
            elif terms.method == "LEVEL":
                self.rows[k].total = asked
            else:
                self.rows[k].fixed_principal = asked

    def recalculate(self, rows, by):
        """Spreads the unpaid principal again over these rows, which end with the loan's last row."""
        terms = self.terms
        rows = [k for k in rows if k > terms.interest_only]
        if not rows:
            return
        paying = [k for k in rows if not self.paid_in_full(k)]
        base = self.principal - self.asked_before(rows[0])
        base = max(0, base + sum(self.rows[k].principal_paid for k in paying))
        if not paying:
            return
        if terms.method == "LEVEL":
            base += sum(self.rows[k].carried for k in paying)
            asked = terms.level(base, [(terms.rate * self.earning_share(k), k in paying) for k in rows])
        else:
            asked = terms.spread(base, paying)
        for k in paying:
            row = self.rows[k]
            row.written.append((by, row.total, row.fixed_principal))
            if k == terms.count:
                continue
            if terms.method == "LEVEL":
                row.total = max(asked, row.paid_into)
            else:
                row.fixed_principal = max(asked, row.principal_paid)

    def asked_before(self, first):
        """The unpaid principal of the rows before `first`: past rows as they are, future rows as the schedule projects
        them. An account that closed automatically and has a payment undone is about to reopen."""
        now, end = self.rows, projected(self, opening=self.status in CLOSED_BY_ITSELF).rows
        behind = [now[k].unpaid_principal for k in range(1, first) if k <= self.passed]
        coming = [k for k in range(1, first) if k > self.passed]
        return sum(behind) + sum(end[k].principal - end[k].from_end - now[k].principal_paid for k in coming)

    def paid_in_full(self, k):
        """Whether a future row has its whole fixed total paid in advance."""
        row = self.rows[k]
        return bool(row.total) and row.paid_into >= row.total

    def unwrite(self, by, undone_by):
        """Undoes a payment's change to the plan: future rows get their earlier amounts back; rows that another input
        has changed since are recalculated."""
        today, again = self.terms.zone.date_of(self.now), []
        for k in range(self.passed + 1, self.terms.count + 1):
            row = self.rows[k]
            if self.terms.calendar.due_date(k) <= today or not any(entry[0] == by for entry in row.written):
                continue
            if row.written[-1][0] == by:
                _, row.total, row.fixed_principal = row.written.pop()
            else:
                again.append(k)
        if again:
            self.recalculate(again, undone_by)

    # --- Items ---

    def add_item(self, kind, amount, at=None, of=None):
        self.items.append({"kind": kind, "at": at or self.now, "amount": amount, "of": of})

    def add_fee(self, name, kind, penalty, amount):
        """A fee belongs to the row whose period contains it; after the last period to none."""
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
        """The row of the open period's interest."""
        return min(self.period, self.tail)

    def earns(self):
        return not self.closed and (self.period <= self.terms.count or self.terms.earns_after_maturity)

    def end_period(self):
        self.passed += 1
        self.begun, self.accrued, self.base, self.fixed = False, Fraction(0), 0, 0
        self.through = max(self.through, self.terms.calendar.due_date(self.passed))

    def begin_period(self):
        """Fixes principal and interest at the beginning of a period."""
        self.begun = True
        self.base = self.principal if self.earns() else 0
        self.fix_interest()

    def fix_interest(self):
        terms = self.terms
        if not self.begun or terms.daily:
            return
        if terms.method == "FLAT":
            self.fixed = terms.flat_interest if self.base else 0
        else:
            self.fixed = terms.cents(self.base * terms.rate * self.earning_share(self.period))

    def earning_share(self, k, start=None, end=None):
        """The fraction of a year of the dates of period k that earn interest."""
        terms = self.terms
        start = start or terms.calendar.due_date(k - 1)
        end = end or terms.calendar.due_date(k)
        share = terms.part(k, start, end)
        for stop, until in self.stops:
            first, last = max(start, stop), min(end, until or end)
            if first < last:
                share -= terms.part(k, first, last)
        return share

    def stop_interest(self, stopped):
        """Stops interest from today on, or ends the stop (today excluded)."""
        today, running = self.terms.zone.date_of(self.now), bool(self.stops) and self.stops[-1][1] is None
        if stopped and not running:
            self.stops.append([today, None])
        elif running and not stopped:
            self.stops[-1][1] = today
        else:
            return
        if self.terms.method != "FLAT":
            before = self.fixed
            self.fix_interest()
            if not self.principal:  # A paid-off loan earns no more interest.
                self.fixed = min(self.fixed, before)

    def accrued_to(self, day):
        """DAILY: exact interest of the open period up to a date (excluded)."""
        terms = self.terms
        day = min(day, terms.calendar.due_date(self.period))
        if day <= self.through or not self.earns() or not terms.daily:
            return self.accrued
        return self.accrued + self.principal * terms.rate * self.earning_share(self.period, self.through, day)

    def accrue(self, day=None):
        """Call it before the principal or the status changes. A counted day stays counted, even if the clock is set
        back across midnight."""
        day = min(day or self.terms.zone.date_of(self.now), self.terms.calendar.due_date(self.period))
        self.accrued = self.accrued_to(day)
        self.through = max(self.through, day)

    def open_interest(self):
        """Interest of the open period in cents that is owed so far and is not an item yet."""
        terms = self.terms
        if self.closed:
            return 0
        if terms.daily:
            whole = terms.cents(self.accrued_to(terms.zone.date_of(self.now)))
        elif not self.begun:
            return 0
        else:
            whole = self.fixed
        return max(0, whole - self.recognised.get(self.period, 0))

    def room(self, k):
        """How much more interest a row may take."""
        row = self.rows[k]
        if row.total is None:
            return WITHOUT_LIMIT
        return max(0, row.total - row.principal_paid - row.interest)

    def assign(self, k, amount):
        """Assigns interest to row k up to its room, and the rest to the next rows: [(row, cents)]."""
        parts, first = [], k
        while amount > 0:
            part = min(amount, self.room(k))
            if part > 0:
                self.rows[k].interest += part
                self.rows[k].carried += part if k != first else 0
                if k == self.tail:
                    self.tail_postings.append((self.terms.zone.date_of(self.now), part))
                parts.append((k, part))
                amount -= part
            k += 1
        return parts

    def post_open(self):
        """Makes the interest of the open period an item."""
        amount = self.open_interest()
        if amount > 0:
            self.recognised[self.period] = self.recognised.get(self.period, 0) + amount
            self.assign(self.owner, amount)
            self.add_item("INTEREST", amount)
            self.net += amount

    # --- What is unpaid ---

    def payable_unposted(self, k):
        """Interest of a row that can be paid and is not an item yet."""
        if self.closed:
            return 0
        if k == self.owner:
            return min(self.open_interest(), self.room(k))
        if self.terms.method == "FLAT" and k > self.period and self.principal:
            return max(0, self.terms.flat_interest - self.recognised.get(k, 0))
        return 0

    def unpaid_principals(self):
        """By row: the instalment less its interest, as long as principal is left; the last row takes the rest. For the
        open row, the interest accrued so far counts."""
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
        """A row falls due: its principal is as planned, at most the rest of the loan. The part of it that is not owed
        was paid from the end of the loan."""
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
        """After maturity, principal that belongs to no row is added to the last."""
        if self.passed >= self.terms.count:
            asked = sum(row.unpaid_principal for row in self.rows[1:])
            self.rows[self.terms.count].principal += self.principal - asked

    def is_paid(self, k):
        row = self.rows[k]
        if k <= self.passed:
            return row.unpaid_interest + row.unpaid_principal == 0
        flat = self.terms.method == "FLAT"
        open_ended = k <= self.terms.interest_only or self.terms.method == "EQUAL_PRINCIPAL"
        if open_ended and not flat and self.principal > 0:
            return False  # Without a fixed total the row cannot be paid before its interest is known.
        coming = self.payable_unposted(k)
        if flat and k == self.period and not self.begun and self.principal:
            coming = self.terms.flat_interest - self.recognised.get(k, 0)  # The period is about to begin.
        return row.unpaid_interest + coming + self.unpaid_principals()[k] == 0

    def past_due_rows(self):
        """Includes the row of interest after maturity, once some of it is posted."""
        rows = [k for k in range(1, min(self.passed, self.terms.count) + 1) if not self.is_paid(k)]
        return rows + [self.tail] if self.rows[self.tail].unpaid_interest else rows

    def past_due_since(self, k):
        if k != self.tail:
            return self.terms.calendar.due_date(k)
        paid = self.rows[k].interest_paid
        for day, cents in self.tail_postings:
            paid -= cents
            if paid < 0:
                return day

    def past_due_fees(self):
        return sum(fee.unpaid for fee in self.fees if fee.row is None or fee.row <= self.passed)

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
        """Checks that every cent is accounted for and nothing is negative."""
        rows = self.rows[1:]
        assert self.net == self.balance() - self.surplus
        assert self.surplus == sum(cents for _, cents in self.lots)
        assert self.lent - self.principal == self.end_paid + sum(row.principal_paid + row.extra for row in rows)
        assert min(self.principal, self.surplus, self.end_paid) >= 0
        assert all(min(row.unpaid_interest, row.interest_paid, row.principal_paid, row.extra) >= 0 for row in rows)
        assert all(fee.unpaid >= 0 for fee in self.fees)

    def scratch(self):
        """A copy for projections, of which only the rows and the principal are used."""
        state = copy.copy(self)
        state.rows = [None] + [copy.copy(row) for row in self.rows[1:]]
        state.recognised, state.tail_postings = dict(self.recognised), list(self.tail_postings)
        state.items, state.notices = [], []
        return state
