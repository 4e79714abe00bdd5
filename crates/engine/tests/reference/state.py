"""The state of an account: rows, interest, fees, items. Derived values are computed on each access."""

import copy
from fractions import Fraction

import plan
from accrual import Accrual, Interest
from rates import Rates, Window
from rows import Fee, Row

WITHOUT_LIMIT = 10**30
CLOSED_BY_ITSELF = [("CLOSED", "PAID_OFF"), ("CLOSED", "SURPLUS_BALANCE")]


class State(Interest):
    def __init__(self, terms):
        self.terms = terms
        self.now = terms.effective_at
        self.lent = self.principal = terms.principal
        self.rates = Rates(terms.rate)
        self.moved = {}  # by id of a row that was taken out: the id of the row that took over what was paid into it
        self.semi_days = terms.semi_days
        self.balloon, self.amortization_cycles = terms.balloon, terms.amortization_cycles
        self.tail_postings = []  # [date, cents]
        self.tail_start = None  # of the period after maturity that is running, if it was moved
        self.fees, self.items, self.notices, self.refused = [], [], [], []
        self.surplus = 0
        self.lots = []  # [source, cents]: the origin of the surplus, oldest first
        self.sources = []  # all sources of surplus ever, in order
        self.applications = []  # of surplus
        self.refunds = {}
        self.waiting_surplus = False  # that of an opening, until the next due moment
        self.judging = None  # the row that falls due, while surplus is used for it
        self.end_paid = 0  # principal paid from the end backwards
        self.passed = 0  # due moments that have passed, those after maturity too
        self.accrual = Accrual()  # DAILY: interest of the open period up to `through`
        self.through = terms.calendar.start
        self.history = []  # [(from, to, principal, share of a day)]: what earned interest
        self.begun = False  # A period begins after everything at the instant at which the previous one ends.
        self.bases = []  # PERIODIC: principal of the open period, and from when; the first is that of its beginning
        self.given = 0  # PERIODIC: interest of the open period from before the opening
        self.fixed = 0  # PERIODIC and kept: the open period's interest
        self.to_spread = []  # (row id, cents): rows that share the open period's interest
        self.status = self.left = ("ACTIVE", None)  # `left`: the last ACTIVE pair
        self.late_count = self.opening_count = 0
        self.settings, self.announced = {}, set()
        self.payments = {}
        self.receipts = []  # {payment, cents, after: due moments passed, parts}
        self.received = {}  # by row id: what was received before the opening for rows in grace
        self.late_fees = []  # [fee]: all that were charged
        self.late_fees_before = 0  # the opening
        self.promos = []  # Windows with another late fee
        self.write_offs = []  # {source, amount, parts, payment}
        self.next_id = 1
        self.net = 0  # the sum of everything added and subtracted

    def begin(self):
        """A new loan."""
        terms = self.terms
        plan.make(self)
        self.net = terms.principal
        self.add_item("LOAN", terms.principal)
        if terms.origination_fee:
            self.add_fee("dbk_orig_fee", "ORIG_FEE", False, terms.origination_fee)
        if "interest" in terms.effects["ACTIVE"]:
            self.stop_interest(True)
        self.begin_period()

    def move_to(self, now):
        self.now = now
        if not self.begun and now > self.end_moment(self.passed):
            self.begin_period()

    @property
    def today(self):
        return self.terms.zone.date_of(self.now)

    # --- Rows and their dates ---

    def new_row(self, index=None):
        self.next_id += 1
        return Row(self.next_id - 1, index)

    @property
    def count(self):
        """The number of instalments. The row after the last is for interest that accrues after maturity."""
        return len(self.rows) - 2

    @property
    def tail(self):
        return len(self.rows) - 1

    def row(self, name):
        """The row with an id, or the one that took its place."""
        while name in self.moved:
            name = self.moved[name]
        return next(row for row in self.rows[1:] if row.id == name)

    def number(self, name):
        return self.rows.index(self.row(name))

    def end_of(self, k):
        """The last date of period k: its due date; 0 is the account's date."""
        if k <= 0:
            return self.terms.calendar.start
        if k <= self.count:
            return self.rows[k].due
        nominal = self.series.nth(self.rows[self.count].index + k - self.count)
        return self.terms.business_days.moved(nominal, self.end_of(k - 1))

    def start_of(self, k):
        return self.rows[k].start if k <= self.count else self.end_of(k - 1)

    def years_of(self, k):
        return self.rows[k].years if k <= self.count else self.series.years

    def end_moment(self, k):
        return self.terms.calendar.close_of(self.end_of(k))

    def ahead(self, today=None):
        """Numbers of the rows that are due after a date."""
        today = today or self.today
        return [k for k in range(1, self.count + 1) if self.rows[k].due > today and not self.rows[k].retired]

    # --- Items ---

    def add_item(self, kind, amount, at=None, of=None, reason=None):
        self.items.append({"kind": kind, "at": at or self.now, "amount": amount, "of": of, "reason": reason})

    def add_fee(self, name, kind, penalty, amount):
        """A fee belongs to the row whose period contains it; after the last period to none."""
        rows = (row for row in self.rows[1 : self.count + 1] if not row.silent)
        holding = (row.id for row in rows if self.now <= self.terms.calendar.close_of(row.due))
        fee = Fee(name, penalty, amount, next(holding, None))
        self.fees.append(fee)
        self.net += amount
        self.add_item(kind, amount)
        return fee

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
        return not self.closed and (self.period <= self.count or self.terms.earns_after_maturity)

    def end_period(self):
        self.accrual = Accrual(self.left_over())
        self.passed += 1
        self.begun, self.bases, self.fixed, self.given = False, [], 0, 0
        self.through = max(self.through, self.end_of(self.passed))
        self.to_spread = []
        if self.passed >= self.count:
            self.rows[self.tail].recognised = 0

    def stop_interest(self, stopped):
        """A status stops interest from today on, or ends the stop (today excluded)."""
        stops = self.rates.stops
        running = bool(stops) and stops[-1].end is None
        if stopped == running:
            return
        if stopped:
            stops.append(Window(self.today, None, Fraction(0)))
        else:
            stops[-1] = Window(stops[-1].start, self.today, Fraction(0))
        self.refix_interest()

    def asks(self, k):
        """The fixed total of a row, without what it asks on top. A cap may lower that of the open row."""
        row = self.rows[k]
        if row.total is None or k != self.period:
            return row.total
        if row.settled is not None:
            return row.settled
        return min(row.total, max(row.total - self.forgiven(), row.paid_into - row.top_interest - row.held))

    def room(self, k):
        """How much more interest a row may take."""
        row = self.rows[k]
        if row.retired:
            return 0
        if row.total is None:
            return WITHOUT_LIMIT
        principal = max(0, row.principal_paid - row.held)
        return max(0, self.asks(k) - principal - (row.interest - row.top_interest))

    def assign(self, k, amount, carried=False):
        """Assigns interest to row k up to its room, and the rest to the next rows: [(row id, cents)]."""
        parts, first = [], None if carried else k
        while amount > 0:
            part, row = min(amount, self.room(k)), self.rows[k]
            if part > 0:
                row.interest += part
                row.carried += part if k != first else 0
                if k == self.tail:
                    self.tail_postings.append((self.today, part))
                parts.append((row.id, part))
                amount -= part
            k += 1
        return parts

    def post_open(self):
        """Makes the interest of the open period an item."""
        amount = self.open_interest()
        if amount <= 0:
            return
        self.rows[self.owner].recognised += amount
        self.add_item("INTEREST", amount)
        self.net += amount
        for name, cents in self.to_spread:
            row, part = self.row(name), min(cents, amount)
            row.interest += part
            row.top_interest += part
            amount -= part
        self.assign(self.owner, amount)

    def post_rest(self):
        """Interest of periods that have not begun, which a payoff owes."""
        for row in self.rows[self.period + 1 : self.count + 1]:
            amount = (row.kept or 0) - row.recognised
            if amount > 0:
                row.recognised += amount
                row.interest += amount
                self.add_item("INTEREST", amount)
                self.net += amount

    # --- What is unpaid ---

    def payable_unposted(self, k):
        """Interest of a row that can be paid and is not an item yet."""
        if self.closed:
            return 0
        if k == self.owner:
            return min(self.open_interest(), self.room(k))
        row = self.rows[k]
        if row.kept is not None and k > self.period and (self.principal or self.terms.keeps_refund):
            return max(0, row.kept - row.recognised)
        return 0

    def unpaid_held(self, row):
        """Unpaid principal of a coming row that was moved to it. What is paid from the end pays that of the last."""
        if row is not self.rows[self.count]:
            return row.unpaid_held
        return max(0, row.unpaid_held - (self.end_paid - sum(one.from_end for one in self.rows[1:])))

    def held_after(self, k, of=None):
        of = of or self.unpaid_held
        return sum(of(row) for row in self.rows[max(k, self.passed) + 1 : -1] if row.held)

    def unpaid_principals(self):
        """By row: the instalment less its interest, as long as principal is left; the last row takes the rest. For the
        open row, the interest accrued so far counts."""
        left, unpaid = self.principal, {}
        for k in range(1, self.count + 1):
            row = self.rows[k]
            if k <= self.passed:
                asked = row.unpaid_principal
            elif row.retired:
                asked = 0
            elif row.takes_rest:
                asked = left
            elif row.total is not None:
                coming = self.payable_unposted(k) if k == self.owner else 0
                asked = self.asks(k) + row.top_interest + row.held - row.interest - coming - row.principal_paid
            else:
                asked = row.fixed_principal + row.held - row.principal_paid
            free = left - self.held_after(k) if k > self.passed else left
            unpaid[k] = max(0, min(asked, free))
            left -= unpaid[k]
        return unpaid

    def is_paid(self, k):
        row = self.rows[k]
        if k <= self.passed:
            return row.unpaid == 0
        if row.retired:
            return True
        kept = row.kept is not None
        open_ended = row.fixed_principal is not None or (k == self.count and self.terms.method == "EQUAL_PRINCIPAL")
        if open_ended and not kept and self.principal > 0:
            return False  # Without a fixed total the row cannot be paid before its interest is known.
        coming = self.payable_unposted(k)
        if kept and k == self.period and not self.begun and (self.principal or self.terms.keeps_refund):
            coming = row.kept - row.recognised  # The period is about to begin.
        return row.unpaid_interest + coming + self.unpaid_principals()[k] == 0

    def past_due_rows(self):
        """Includes the row of interest after maturity, once some of it is posted."""
        rows = [k for k in range(1, min(self.passed, self.count) + 1) if not self.is_paid(k)]
        return rows + [self.tail] if self.rows[self.tail].unpaid_interest else rows

    def past_due_since(self, k):
        if k != self.tail:
            return self.rows[k].due
        paid = self.rows[k].interest_paid
        for day, cents in self.tail_postings:
            paid -= cents
            if paid < 0:
                return day

    def past_due_fees(self):
        due = {row.id for row in self.rows[1 : min(self.passed, self.count) + 1]}
        return sum(fee.unpaid for fee in self.fees if fee.row is None or self.row(fee.row).id in due)

    # --- Balances ---

    def interest_balance(self):
        return sum(row.unpaid_interest for row in self.rows[1:])

    def fees_balance(self):
        return sum(fee.unpaid for fee in self.fees)

    def balance(self):
        return self.principal + self.interest_balance() + self.fees_balance()

    def unbegun_interest(self):
        """Interest of periods that have not begun, if a payoff owes it."""
        if not self.terms.keeps_refund or self.closed:
            return 0
        later = self.rows[self.period + 1 : self.count + 1]
        if not self.begun and self.period <= self.count:
            later = [self.rows[self.period], *later]
        return sum(max(0, row.kept - row.recognised) for row in later if row.kept is not None)

    def payoff(self):
        return self.balance() + self.open_interest() + self.unbegun_interest()

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
        state.tail_postings = list(self.tail_postings)
        state.items, state.notices, state.fees = [], [], [copy.copy(fee) for fee in self.fees]
        return state
