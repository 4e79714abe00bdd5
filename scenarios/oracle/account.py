"""An account as a fold over its timeline: inputs and moments in order, and what each does in cents.

`Account(terms).fold(inputs, until)` works through everything up to and including a moment. An input has `at` (its
place), `rank` (0, or 2 if posted late), `seq`, `effective_at`, `kind`, `target` and `body`.
"""

from dataclasses import dataclass
from fractions import Fraction

from inputs import Inputs
from items import Item
from notices import Notices
from pouring import Pouring
from terms import money, rounded


STOPS_LATE_FEES = ("BANKRUPTCY", "DECEASED", "FRAUD", "HARDSHIP", "SCRA")


@dataclass
class Row:
    """An instalment."""

    number: int
    charged: int = 0  # interest that is its own
    principal_paid: int = 0
    extra: int = 0  # principal paid into it beyond what it asks (REDUCE_PRINCIPAL)
    fell_due: bool = False
    principal: int = 0  # what it asks, once it fell due
    on_time: bool = False
    judged: bool = False  # its grace has ended
    late: bool = False  # and found it unpaid
    spared: bool = False  # and as much had been paid for it


class Account(Pouring, Inputs, Notices):
    def __init__(self, terms):
        self.terms = terms
        self.totals, self.principals = dict(terms.totals), terms.principals
        self.principal, self.surplus = terms.principal, 0
        self.rows = {k: Row(k) for k in range(1, terms.count + 1)}
        self.status, self.subtype, self.late_in_a_row = "ACTIVE", None, 0
        self.items, self.receipts, self.notices, self.fired = {}, [], {}, set()
        self.announced, self.story, self.steps = [], [], []
        self.now = terms.opened_at
        self.announce("account_create")
        self.add(Item("dbk_loan", "LOAN", self.now, self.now, terms.principal))
        if terms.origination_fee:
            self.charge("dbk_orig_fee", "ORIG_FEE", terms.origination_fee)
        self.tell(f"opened with {money(terms.principal)}; instalment {money(next(iter(terms.totals.values()), 0))}")
        self.begin_period(1)

    # Telling

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
        return sum(item.left for item in self.items.values() if item.type == "INTEREST")

    @property
    def fee_items(self):
        kinds = ("LATE_FEE", "ORIG_FEE", "MANUAL_FEE", "RETURN_CHECK_FEE")
        return [item for item in self.items.values() if item.type in kinds]

    @property
    def fees(self):
        return sum(item.left for item in self.fee_items)

    def interest_left(self, k):
        items = (item for item in self.items.values() if item.type == "INTEREST")
        return sum(cents for item in items for row, cents in item.unpaid if row == k)

    def exact(self, day):
        """Interest of the open period up to a day, before rounding."""
        if not self.terms.daily:
            return self.fixed
        more = Fraction(0)
        if day > self.counted_to and self.accrues:
            more = self.terms.share_of_days(self.period, self.counted_to, day)
        return self.accrued + self.principal * self.terms.rate * more

    @property
    def accrues(self):
        return self.period <= self.terms.count or self.terms.accrues_after_maturity

    def open_interest(self, at):
        """Interest of the open period that is not in an item yet. At the due moment the next period has not begun."""
        if self.status == "CLOSED" or (self.period > 1 and at <= self.terms.due_at(self.period - 1)):
            return 0
        day = min(self.terms.local_date(at), self.terms.due_on(self.period))
        return max(0, rounded(self.exact(day), self.terms.rounding) - self.made)

    def room(self, k):
        """How much more interest an instalment can hold: a level one keeps its total, the last takes all."""
        if k is None or k == self.terms.count or k not in self.totals:
            return 10**15
        row = self.rows[k]
        return max(0, self.totals[k] - row.principal_paid - row.charged)

    def principal_left(self, k, open_interest=0):
        """What is unpaid of the principal of an instalment that is past due, open, or next in advance."""
        row, count = self.rows[k], self.terms.count
        before = sum(self.principal_left(j) for j in range(1, k) if self.rows[j].fell_due)
        left = max(0, self.principal - before)
        if k == count:
            return left
        if row.fell_due:
            return row.principal - row.principal_paid
        if k in self.totals:
            return min(left, max(0, self.totals[k] - row.charged - open_interest - row.principal_paid))
        return min(left, max(0, self.principals[k] - row.principal_paid))

    def is_paid(self, k):
        row = self.rows[k]
        if row.fell_due:
            return self.interest_left(k) == 0 and self.principal_left(k) == 0
        if k in self.totals and k < self.terms.count:
            return row.charged - self.interest_left(k) + row.principal_paid >= self.totals[k]
        return False

    def past_due_rows(self):
        rows = [k for k, row in self.rows.items() if row.fell_due and not self.is_paid(k)]
        return rows + [None] * bool(self.interest_left(None))

    # Periods

    def begin_period(self, k):
        self.period, self.accrued, self.made, self.parts = k, Fraction(0), 0, 0
        self.counted_to = self.terms.due_on(k - 1)
        if self.terms.method == "FLAT":
            self.fixed = self.terms.flat_interest if k <= self.terms.count and self.principal else 0
        else:
            self.fixed = self.principal * self.terms.rate * self.terms.share(k) if self.accrues else 0

    def count_to(self, day):
        self.accrued, self.counted_to = self.exact(day), max(day, self.counted_to)

    def make_interest(self, cents, k, name=None):
        """Interest that has accrued becomes an item; what instalment k cannot hold moves to the next unpaid one."""
        self.made += cents
        if name is None:
            self.parts += 1
            name = f"dbk_interest_{self.period}.{self.parts}"
        item = self.add(Item(name, "INTEREST", self.now, self.now, cents))
        while cents:
            part = min(cents, self.room(k))
            if part:
                if k is not None:
                    self.rows[k].charged += part
                item.unpaid.append((k, part))
                cents -= part
            k = k + 1 if k is not None and k < self.terms.count else k
        return item

    def end_period(self):
        k, terms = self.period, self.terms
        self.count_to(terms.due_on(k))
        exact = self.exact(terms.due_on(k))
        cents = max(0, rounded(exact, terms.rounding) - self.made)
        how = f"period {k} ends: {float(exact) / 100:.5f} of interest, "
        how += f"{money(self.made)} of it in items, {money(cents)} posted"
        if cents:
            self.make_interest(cents, self.open_row(), f"dbk_interest_{k}")
        if k <= terms.count:
            row = self.rows[k]
            row.principal = self.principal_left(k) + row.principal_paid
            row.fell_due = True
            row.on_time = self.is_paid(k)
            self.announce("due_date_passed")
            how += "; due " + ("and paid" if row.on_time else "and not paid")
            if not row.on_time:
                self.announce("payment_missed")
        self.begin_period(k + 1)
        self.tell(how)

    # Late

    def row_of(self, at):
        """The instalment whose period holds a moment."""
        return next((k for k in self.rows if at <= self.terms.due_at(k)), None)

    def charge(self, name, kind, cents, effective_at=None, is_penalty=False):
        item = Item(name, kind, effective_at or self.now, self.now, cents, is_penalty=is_penalty)
        item.unpaid = [(self.row_of(self.now), cents)]
        return self.add(item)

    def received_for(self, k):
        """Payments since the due moment before, and those that paid into k in advance, less what older rows took of
        them; what late and spared ones took stays."""
        total = 0
        for at, cents, item in self.receipts:
            into = {}
            for what, row, _, part in item.splits:
                if what in ("INTEREST", "PRINCIPAL") and row is not None:
                    into[row] = into.get(row, 0) + part
            if item.reversed or not (k == 1 or at > self.terms.due_at(k - 1) or k in into):
                continue
            older = [j for j in into if j < k and not self.rows[j].late and not self.rows[j].spared]
            total += cents - sum(into[j] for j in older)
        return total

    def end_grace(self, k):
        row, terms = self.rows[k], self.terms
        row.judged = True
        if self.is_paid(k):
            self.late_in_a_row = 0
            return
        if self.subtype in STOPS_LATE_FEES:
            row.spared = True
            return
        came_in = self.received_for(k)
        if came_in >= row.charged + row.principal:
            self.tell(f"grace period of instalment {k} ends unpaid, but {money(came_in)} was received for it: no late fee")
            row.spared = True
            return
        row.late = True
        principal = self.principal_left(k)
        unpaid = principal + self.interest_left(k)
        percent_of = {
            "PERCENT_OF_UNPAID": unpaid,
            "PERCENT_OF_UNPAID_PRINCIPAL": principal,
            "PERCENT_OF_PAYMENT": self.totals.get(k, row.charged + row.principal),
        }
        fee = terms.late_fee
        if terms.fee_type != "FLAT":
            fee = rounded(percent_of[terms.fee_type] * terms.fee_percent, terms.rounding)
        fee = max(fee, terms.fee_min) if terms.fee_min is not None else fee
        fee = min(fee, terms.fee_max) if terms.fee_max is not None else fee
        if terms.fee_cap is not None:
            fee = min(fee, rounded(unpaid * Fraction(terms.fee_cap) / 100, terms.rounding))
        if fee:
            self.charge(f"dbk_late_fee_{k}", "LATE_FEE", fee, is_penalty=True)
        self.late_in_a_row += 1
        self.tell(f"grace period of instalment {k} ends with {money(unpaid)} unpaid: late fee {money(fee)}")
        if self.late_in_a_row >= terms.charge_off_after and self.moves_by_itself():
            self.charge_off()
        elif self.late_in_a_row >= terms.delinquent_after and self.status == "ACTIVE" and self.moves_by_itself():
            self.set_status("SUSPENDED", "DELINQUENT")

    def charge_off(self):
        self.post_open_interest()
        owed = self.principal + self.interest + self.fees
        self.add(Item("dbk_charge_off_1", "CHARGE_OFF", self.now, self.now, owed))
        self.set_status("CLOSED", "CHARGE_OFF")

    def post_open_interest(self):
        cents = self.open_interest(self.now)
        if cents:
            self.make_interest(cents, self.open_row())

    # Status

    def moves_by_itself(self):
        return (self.status, self.subtype) in (("ACTIVE", None), ("SUSPENDED", "DELINQUENT"))

    def set_status(self, status, subtype):
        if (status, subtype) == (self.status, self.subtype):
            return
        was_closed, self.status, self.subtype = self.status == "CLOSED", status, subtype
        self.announce("account_status_change")
        if status == "CLOSED" and not was_closed:
            self.announce("account_closed")
        self.tell(f"status {status}/{subtype}")

    def settle_status(self, was_past_due):
        """Closing when nothing is owed, and else curing: a step moves the status once."""
        is_cured = was_past_due and not self.past_due_rows()
        owed = self.principal + self.interest + self.fees + self.open_interest(self.now)
        if is_cured:
            self.late_in_a_row = 0
        if owed == 0 and self.moves_by_itself():
            self.set_status("CLOSED", "SURPLUS_BALANCE" if self.surplus else "PAID_OFF")
        elif is_cured and (self.status, self.subtype) == ("SUSPENDED", "DELINQUENT"):
            self.set_status("ACTIVE", None)

    def reopen(self):
        """Due dates that passed while the account was closed are past due, and nothing accrued meanwhile."""
        today = self.terms.local_date(self.now)
        while self.now > self.terms.due_at(self.period):
            if self.period <= self.terms.count:
                row = self.rows[self.period]
                row.principal = self.principal_left(row.number) + row.principal_paid
                row.fell_due = row.judged = row.spared = True
            self.begin_period(self.period + 1)
        self.counted_to = max(today, self.counted_to)
        self.set_status("ACTIVE", None)

    # The fold

    def next_moment(self):
        if self.status == "CLOSED":
            return None
        moments = [(self.terms.due_at(self.period), 0, self.end_period)]
        for k, row in self.rows.items():
            if row.fell_due and not row.judged and self.terms.at(self.terms.grace_ends_on(k)) >= self.now:
                moments.append((self.terms.at(self.terms.grace_ends_on(k)), 1, lambda k=k: self.end_grace(k)))
        for at, key, mark, k in self.waiting_notices():
            moments.append((at, 2, lambda key=key, mark=mark, k=k: self.fire(key, mark, k)))
        return min(moments, key=lambda moment: moment[:2])

    def fold(self, inputs, until):
        inputs = sorted((one for one in inputs if one.at <= until), key=lambda one: (one.at, one.rank, one.seq))
        replays = self.terms.policy == "REPLAY"
        undone = [one for one in inputs if one.kind == "payment_reversal" or (
            one.kind == "payment_status" and one.body["line_item_status"] in ("INVALID", "DECLINED"))]
        self.without = {one.target for one in undone} if replays else set()
        # Under REPLAY an authorized payment that becomes valid counts from its own time.
        self.valid_later = {one.target for one in inputs if one.kind == "payment_status" and one not in undone}
        self.valid_later = self.valid_later if replays else set()
        while True:
            moment, one = self.next_moment(), inputs[0] if inputs else None
            if moment and moment[0] <= until and (one is None or (moment[0], 1) < (one.at, one.rank)):
                self.now = moment[0]
                moment[2]()
                self.steps.append((self.now, 1, moment[1] < 2))
            elif one:
                self.now = one.at
                self.apply(inputs.pop(0))
                self.steps.append((one.at, one.rank, True))
            else:
                self.now = until
                return self
