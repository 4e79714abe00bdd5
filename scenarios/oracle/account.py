"""An account as a fold over its timeline: inputs and moments in order, and what each does in cents.

`Account(terms).fold(inputs, until)` works through everything up to and including a moment. An input has `at` (its
place), `rank` (0, or 2 if posted late), `group` and `seq`, `effective_at`, `kind`, `target` and `body`.
"""

from changes import Changes
from inputs import Inputs
from interest import Interest
from items import Item
from late import Late
from notices import Notices
from opening import Opening
from plan import contract
from pouring import Pouring
from principal import Principal
from rate_changes import RateChanges
from rates import Rates
from recalculation import Recalculation
from renewal import Renewal
from statuses import Statuses
from surplus import Surplus
from terms import money

class Account(
    Interest, Principal, Pouring, Surplus, Late, Statuses, Inputs, RateChanges, Recalculation, Changes, Renewal,
    Opening, Notices,
):  # fmt: skip
    def __init__(self, terms):
        self.terms, self.rates, self.principal = terms, Rates(terms.rate), terms.principal
        self.balloon, self.amortization_cycles = terms.balloon, terms.amortization_cycles
        self.status, self.subtype, self.left_subtype, self.status_cap = "ACTIVE", None, None, None
        self.items, self.receipts, self.promo_fees, self.late_in_a_row = {}, [], [], 0
        self.announced, self.story, self.steps = [], [], []
        self.history, self.taken = [], []  # what earned interest; carried interest that a row took for a payment
        self.notices, self.fired = {}, set()
        self.without, self.valid_later = set(), set()
        self.opening_late = self.opening_fees = self.received_before_opening = 0
        self.paid_before, self.surplus_waits, self.is_projection = {}, False, False
        self.now, self.begun_at, self.period = terms.begins_at, None, 0
        self.announce("account_create")
        self.open_from_balances(terms.opening) if terms.opening else self.open_new()

    def open_new(self):
        terms = self.terms
        self.rows = contract(terms, self.rates)
        self.begin_period(self.rows[0])
        self.add(Item("dbk_loan", "LOAN", self.now, self.now, terms.principal))
        if terms.origination_fee:
            self.charge("dbk_orig_fee", "ORIG_FEE", terms.origination_fee)
        self.tell(f"opened with {money(terms.principal)}; instalment {money(self.rows[0].amount)}")

    # Telling

    @property
    def today(self):
        return self.terms.local_date(self.now)

    def tell(self, what):
        owed = f"{money(self.principal)} + {money(self.interest)} interest + {money(self.fees)} fees"
        when = self.now.astimezone(self.terms.zone).isoformat()
        self.story.append(f"{when}  {what}  [{owed}, {self.status}/{self.subtype}]")

    def announce(self, event):
        self.announced.append((self.now, event))

    def add(self, item):
        self.items[item.id] = item
        self.announce("line_item_create")
        return item

    # What is owed

    @property
    def interest(self):
        return sum(item.left for item in self.items.values() if item.owes == "INTEREST")

    @property
    def fee_items(self):
        return [item for item in self.items.values() if item.owes == "FEE"]

    @property
    def fees(self):
        return sum(item.left for item in self.fee_items)

    @property
    def last(self):
        return self.rows[-1]

    @property
    def open_row(self):
        """The row whose period is running; none after maturity."""
        return None if self.current.is_tail else self.current

    def coming_rows(self):
        """Rows whose period has not begun."""
        return [row for row in self.rows if not row.fell_due and not row.retired and row is not self.current]

    def rows_ahead(self, named=None):
        """Rows due after today, or those of them from a named due date on."""
        first = self.today.fromordinal(self.today.toordinal() + 1) if named is None else named
        ahead = [row for row in self.rows if row.due > self.today and not row.retired and not row.fell_due]
        return [row for row in ahead if row.due >= first]

    def rows_behind(self):
        return [row for row in self.rows if row.due <= self.today and not row.retired]

    def past_due_rows(self):
        rows = [row for row in self.rows if row.fell_due and not self.is_paid(row)]
        return rows + [None] * bool(self.interest_left(None) and self.open_row is None)

    # Moments

    def end_period(self):
        """Interest is posted, the row falls due and is judged, and the next period begins."""
        row, terms = self.current, self.terms
        self.settle_start(self.now)
        self.count_to(row.due)
        forgiven = self.forgiven(row)
        exact = self.exact(row.due)
        cents = max(0, self.to_cents(exact) - self.made)
        how = f"period {self.period} ends: {float(exact) / 100:.5f} of interest, "
        how += f"{money(self.made)} of it in items, {money(cents)} posted"
        if not terms.daily:
            self.history.append((row, row.start, row.due, self.start_principal or 0))
        if row.is_tail:
            self.post_in_tail(cents)
        else:
            self.reduce_row(row, forgiven)
            self.post_in_row(row, cents)
            how += f"; row {row.number} due " + ("and paid" if row.on_time else "and not paid")
        carries = terms.daily and (terms.rounding_at == "CARRY" or (
            terms.rounding_at == "PAYMENT" and not self.is_projection))  # a projection pays on the due date
        self.begin_next(row, exact - self.to_cents(exact) if carries else 0)
        self.tell(how)

    def begin_next(self, row, carry=0):
        self.begun_at = self.now
        after = [one for one in self.rows if not one.fell_due and one.has_period]
        self.begin_period(after[0] if after else self.tail_row(row), carry)

    def post_in_tail(self, cents):
        if cents:
            self.make_interest(cents, None, f"dbk_interest_{self.period}")

    def reduce_row(self, row, forgiven):
        """What REDUCE caps forgave comes off the row for good, but not what was paid into it."""
        row.amount = max(row.amount - forgiven, self.paid_into(row)) if forgiven else row.amount
        row.is_reduced = True

    def post_in_row(self, row, cents):
        self.taken = []
        if not row.retired:
            self.take_carried(row)
        self.taken = []
        if cents:
            self.make_interest(cents, row, f"dbk_interest_{self.period}")
        self.fall_due(row)
        if self.is_projection:
            return self.pay_in_full(row)
        self.surplus_waits = False
        self.use_surplus()
        self.tolerate(row)
        row.on_time = row.retired or self.is_paid(row)
        self.announce("due_date_passed")
        if not row.on_time:
            self.announce("payment_missed")
        if row is self.last:
            self.write_off_rest()
            self.settle_status(False)

    def fall_due(self, row):
        """From now on the row asks a fixed amount. What was deferred leaves it."""
        row.principal = 0 if row.retired else self.principal_left(row) + row.principal_paid
        row.fell_due = True
        for deferral in row.deferrals:
            self.defer(row, *deferral)
        row.deferrals = []

    def pass_quietly(self):
        """A due date passes while the account is closed: no interest, no fee, no announcement."""
        row = self.current
        if not row.is_tail:
            self.taken = []
            if not row.retired:
                self.take_carried(row)
            self.taken = []
            self.fall_due(row)
            row.judged = row.spared = True
            row.tiers_judged = len(self.terms.tiers)
        self.begin_next(row)

    def reopen(self):
        """Due dates that passed while the account was closed are past due, and nothing accrued meanwhile."""
        self.pass_until_now()
        self.count_to(self.today)
        self.set_status("ACTIVE", None)

    def pass_until_now(self):
        while self.now > self.terms.at(self.current.due):
            self.pass_quietly()

    # The fold

    def next_moment(self):
        ends_at = self.terms.at(self.current.due)
        if self.status == "CLOSED":
            owes = self.subtype not in ("PAID_OFF", "SURPLUS_BALANCE")
            return (ends_at, 0, self.pass_quietly) if owes and not self.current.is_tail else None
        moments = [(ends_at, 0, self.end_period)]
        for row in self.rows:
            at = self.next_fee_moment(row)
            if at is not None:
                moments.append((at, 1, lambda row=row: self.end_grace(row)))
        for at, key, mark, row in self.waiting_notices():
            moments.append((at, 2, lambda key=key, mark=mark, row=row: self.fire(key, mark, row)))
        return min(moments, key=lambda moment: moment[:2])

    def fold(self, inputs, until):
        inputs = sorted((one for one in inputs if one.at <= until), key=place)
        self.prepare(inputs)
        while True:
            moment, one = self.next_moment(), inputs[0] if inputs else None
            if moment and moment[0] <= until and (one is None or (moment[0], 1) < (one.at, one.rank)):
                self.now = moment[0]
                self.settle_start(self.now)
                counts = self.status != "CLOSED" and moment[1] < 2
                moment[2]()
                self.steps.append((self.now, 1, 0, counts))
            elif one:
                self.now = one.at
                self.settle_start(self.now)
                self.apply(inputs.pop(0))
                self.steps.append((one.at, one.rank, one.group, True))
            else:
                self.now = until
                self.settle_start(self.now)
                return self

    def prepare(self, inputs):
        replays = self.terms.policy == "REPLAY"
        undone = [one for one in inputs if one.kind == "payment_reversal" or (
            one.kind == "payment_status" and one.body["line_item_status"] in ("INVALID", "DECLINED"))]
        self.without = {one.target for one in undone} if replays else set()
        # Under REPLAY an authorized payment that becomes valid counts from its own time.
        valid = {one.target for one in inputs if one.kind == "payment_status" and one not in undone}
        self.valid_later = valid if replays else set()


def place(one):
    """Where an input stands: at one instant first openings, then rates, then changes of the plan, then all else."""
    return (one.at, one.rank, one.group if one.rank == 0 else 0, one.seq)
