"""Pouring money, and undoing it. A part of a payment is (kind, key, cents); the key of a row is its id."""

import posting
import recalculation


class Pouring:
    def __init__(self, state, amount, source):
        """`source` is the origin of the money: a payment's name, or another name if it is not a payment."""
        self.state, self.money, self.source = state, amount, source
        self.parts = []
        self.pays_off = amount >= state.payoff()  # Then interest of periods that have not begun is not owed.
        self.recognised = {}  # by row id: interest that becomes an item by this payment

    def run(self, allocation):
        state = self.state
        if allocation:
            self.pour_allocated(allocation)
        self.pour_in_order()
        if state.terms.surplus == "NEXT_INSTALLMENT":
            self.pour_ahead()
        else:
            self.pour_into_principal()
        self.pour_into_rest()
        if self.money > 0:
            state.surplus += self.money
            state.lots.append([self.source, self.money])
            state.sources.append(self.source)
            self.parts.append(("SURPLUS", None, self.money))
        self.add_items()
        return self.parts

    def add_items(self):
        for name, cents in self.recognised.items():
            self.state.add_item("INTEREST", cents, of=(self.source, name))
            self.state.net += cents

    # --- Steps ---

    def pour_allocated(self, wanted):
        """Fills the named component: past due, then due, then the rest of it."""
        kinds = ["FEE", "PENALTY"] if wanted == "FEE" else [wanted]
        for standing in ("PAST_DUE", "DUE"):
            for kind in kinds:
                self.fill_all(f"{standing}_{kind}")
            if wanted == "INTEREST":
                self.pay_tail()
        if wanted == "PRINCIPAL" and self.state.terms.surplus != "NEXT_INSTALLMENT":
            self.pour_into_principal()
        elif wanted != "FEE":
            self.fill_all(f"IN_ADVANCE_{wanted}")
            if wanted == "INTEREST":
                self.pay_without_room()

    def pour_in_order(self):
        order, span, last = self.state.terms.order, self.state.terms.span, self.state.count
        if span == "INSTALLMENTS_FIRST":
            fees = [bucket for bucket in order if bucket.endswith(("FEE", "PENALTY"))]
            for k in range(1, last + 1):
                for bucket in order:
                    if bucket not in fees:
                        self.fill(bucket, k)
            self.pay_tail()
            for bucket in fees:
                self.fill_all(bucket)
        elif span == "BUCKET_FIRST":
            for bucket in order:
                self.fill_all(bucket)
                if bucket == "PAST_DUE_PRINCIPAL":
                    self.pay_tail()
        else:
            for k in self.rows():
                for bucket in order:
                    self.fill(bucket, k)
                    if k == last and bucket == "PAST_DUE_PRINCIPAL":
                        self.pay_tail()

    def pay_tail(self):
        """Pays interest after maturity: first the posted, then the accrued part."""
        state = self.state
        self.pay_posted(state.tail)
        if state.period >= state.tail:
            self.pay_unposted(state.tail, state.open_interest())

    def pour_ahead(self):
        """Pays in advance, instalment by instalment."""
        for k in self.rows()[:-1]:
            for bucket in self.state.terms.order_ahead:
                self.fill(bucket, k)

    def pour_into_principal(self):
        state = self.state
        cents = min(self.money, state.principal)
        if cents <= 0:
            return
        state.principal -= cents
        self.money -= cents
        if state.terms.surplus == "REDUCE_PRINCIPAL":
            row = min(state.owner, state.count)
            state.rows[row].extra += cents
            self.parts.append(("EXTRA", state.rows[row].id, cents))
            if state.principal:  # A paid-off loan keeps its plan, in case a payment is undone.
                recalculation.recalculate(state, range(state.period + 1, state.count + 1), self.source)
        else:
            state.end_paid += cents
            self.parts.append(("END", None, cents))

    def pour_into_rest(self):
        """Pays all other debt: interest carried to later rows, accrued interest that exceeds its row, and interest of
        periods that have not begun, if a payoff owes it."""
        for k in self.rows()[:-1]:
            self.pay_posted(k)
        self.pay_without_room()
        for k in self.rows():
            self.pay_fees(False, k)
            self.pay_fees(True, k)
        if self.state.terms.keeps_refund:
            for k in self.rows()[self.state.period : -1]:
                self.pay_unposted(k, self.state.payable_unposted(k))

    # --- Buckets ---

    def rows(self):
        """All rows, then `None` for fees that belong to no row."""
        return [*range(1, self.state.count + 1), None]

    def standing(self, k):
        open_row = self.state.judging or self.state.period
        if k is None or k < open_row:
            return "PAST_DUE"
        return "DUE" if k == open_row else "IN_ADVANCE"

    def fill_all(self, bucket):
        for k in self.rows():
            self.fill(bucket, k)

    def fill(self, bucket, k):
        standing, kind = bucket.rsplit("_", 1)
        if self.money == 0 or self.standing(k) != standing:
            return
        if kind in ("FEE", "PENALTY"):
            self.pay_fees(kind == "PENALTY", k)
        elif k is not None and kind == "INTEREST":
            self.pay_interest(k)
        elif k is not None:
            self.pay_principal(k)

    def pay_fees(self, penalty, k):
        for fee in self.state.fees:
            cents = min(self.money, fee.unpaid)
            number = None if fee.row is None else self.state.number(fee.row)
            if fee.penalty == penalty and number == k and cents > 0:
                fee.unpaid -= cents
                self.money -= cents
                self.parts.append(("FEE", fee.name, cents))

    def pay_interest(self, k):
        state = self.state
        self.pay_posted(k)
        if k <= state.period or not self.pays_off or state.terms.keeps_refund:
            self.pay_unposted(k, state.payable_unposted(k))

    def pay_posted(self, k):
        row = self.state.rows[k]
        cents = min(self.money, row.unpaid_interest)
        if cents > 0:
            row.interest_paid += cents
            self.money -= cents
            self.parts.append(("INTEREST", row.id, cents))

    def pay_unposted(self, k, owed):
        """Interest paid before its period ends becomes an item of the paid amount."""
        state = self.state
        cents = min(self.money, owed)
        if cents <= 0:
            return
        self.money -= cents
        row = state.rows[k]
        row.recognised += cents
        self.recognised[row.id] = self.recognised.get(row.id, 0) + cents
        for name, part in state.assign(k, cents):
            state.row(name).interest_paid += part
            self.parts.append(("INTEREST", name, part))

    def pay_without_room(self):
        """Pays accrued interest that exceeds its own row."""
        self.pay_unposted(self.state.owner, self.state.open_interest())

    def pay_principal(self, k):
        state = self.state
        cents = min(self.money, state.unpaid_principals()[k])
        if cents > 0:
            state.rows[k].principal_paid += cents
            state.principal -= cents
            self.money -= cents
            self.parts.append(("PRINCIPAL", state.rows[k].id, cents))


def take_back(state, parts, source, undone_by):
    """Undoes a payment by exact negatives of its parts, and restores the plan that it changed."""
    for kind, key, cents in parts:
        if kind == "SURPLUS":
            take_back_surplus(state, source, cents)
        elif kind == "FEE":
            next(fee for fee in state.fees if fee.name == key).unpaid += cents
        elif kind == "INTEREST":
            take_back_interest(state, state.row(key), cents, source)
        else:
            state.principal += cents  # PRINCIPAL, EXTRA, END, or PREPAID: what was at the end when the plan changed
            take_back_principal(state, kind, key, cents)
    posting.rest_to_last_row(state)
    recalculation.unwrite(state, source, undone_by)


def take_back_interest(state, row, cents, source):
    row.interest_paid -= cents
    row.settled = None
    if row.kept is not None and state.rows.index(row) > state.period:
        # Kept interest of a period that has not begun.
        row.interest -= cents
        row.recognised -= cents
        state.net -= cents
        state.items = [item for item in state.items if item["of"] != (source, row.id)]
    elif row.retired:
        row.interest -= cents
        posting.release(state, cents)


def take_back_principal(state, kind, key, cents):
    if kind == "END":
        take_back_from_end(state, cents)
        return
    row = state.row(key)
    if kind == "EXTRA":
        row.extra -= cents
        return
    row.principal_paid -= cents
    row.settled = None
    if row.retired and row.principal is not None:
        row.principal -= cents


def take_back_surplus(state, source, cents):
    """Surplus that was paid out as a refund is owed."""
    lot = next((lot for lot in state.lots if lot[0] == source), [source, 0])
    here = min(cents, lot[1])
    state.surplus -= here
    lot[1] -= here
    state.lots = [lot for lot in state.lots if lot[1]]
    if here < cents:
        owe_refund(state, cents - here)


def owe_refund(state, cents):
    """A refund that no surplus covers is principal of the last row."""
    state.add_item("CREDIT_OFFSET", cents, reason="REFUND_EXCESS")
    lend(state, cents)


def lend(state, cents):
    """Principal that falls on the last row."""
    state.accrue()
    state.principal += cents
    state.lent += cents
    posting.rest_to_last_row(state)


def take_back_from_end(state, cents):
    """First the part that no due row has reached, then the rows that have fallen due, latest first."""
    state.end_paid -= cents
    back = sum(row.from_end for row in state.rows[1:]) - state.end_paid
    for row in reversed(state.rows[1:]):
        part = max(0, min(back, row.from_end))
        row.from_end -= part
        back -= part
