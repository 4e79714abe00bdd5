"""Pouring money, and undoing it. A part of a payment is (kind, key, cents)."""


class Pouring:
    def __init__(self, state, amount, source):
        """`source` is the origin of the money: a payment's name, or another name if it is not a payment."""
        self.state, self.money, self.source = state, amount, source
        self.parts = []
        self.pays_off = amount >= state.payoff()  # Then interest of periods that have not begun is not owed.
        self.recognised = {}  # by period: interest that becomes an item by this payment

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
        for period, cents in sorted(self.recognised.items()):
            state.add_item("INTEREST", cents, of=(self.source, period))
            state.net += cents
        return self.parts

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
        order, span, last = self.state.terms.order, self.state.terms.span, self.state.terms.count
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
            self.pay_unposted(state.period, state.tail, state.open_interest())

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
            row = min(state.owner, state.terms.count)
            state.rows[row].extra += cents
            self.parts.append(("EXTRA", row, cents))
            if state.principal:  # A paid-off loan keeps its plan, in case a payment is undone.
                state.recalculate(range(state.period + 1, state.terms.count + 1), self.source)
        else:
            state.end_paid += cents
            self.parts.append(("END", None, cents))

    def pour_into_rest(self):
        """Pays all other debt: interest carried to later rows, and accrued interest that exceeds its row."""
        for k in self.rows()[:-1]:
            self.pay_posted(k)
        self.pay_without_room()

    # --- Buckets ---

    def rows(self):
        """All rows, then `None` for fees that belong to no row."""
        return [*range(1, self.state.terms.count + 1), None]

    def standing(self, k):
        if k is None or k <= self.state.passed:
            return "PAST_DUE"
        return "DUE" if k == self.state.period else "IN_ADVANCE"

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
            if fee.penalty == penalty and fee.row == k and cents > 0:
                fee.unpaid -= cents
                self.money -= cents
                self.parts.append(("FEE", fee.name, cents))

    def pay_interest(self, k):
        state = self.state
        self.pay_posted(k)
        if k <= state.period or not self.pays_off:
            self.pay_unposted(state.period if k == state.owner else k, k, state.payable_unposted(k))

    def pay_posted(self, k):
        row = self.state.rows[k]
        cents = min(self.money, row.unpaid_interest)
        if cents > 0:
            row.interest_paid += cents
            self.money -= cents
            self.parts.append(("INTEREST", k, cents))

    def pay_unposted(self, period, k, owed):
        """Interest paid before its period ends becomes an item of the paid amount."""
        state = self.state
        cents = min(self.money, owed)
        if cents <= 0:
            return
        self.money -= cents
        for where in (state.recognised, self.recognised):
            where[period] = where.get(period, 0) + cents
        for row, part in state.assign(k, cents):
            state.rows[row].interest_paid += part
            self.parts.append(("INTEREST", row, part))

    def pay_without_room(self):
        """Pays accrued interest that exceeds its own row."""
        self.pay_unposted(self.state.period, self.state.owner, self.state.open_interest())

    def pay_principal(self, k):
        state = self.state
        cents = min(self.money, state.unpaid_principals()[k])
        if cents > 0:
            state.rows[k].principal_paid += cents
            state.principal -= cents
            self.money -= cents
            self.parts.append(("PRINCIPAL", k, cents))


def take_back(state, parts, source, undone_by):
    """Undoes a payment by exact negatives of its parts, and restores the plan that it changed."""
    for kind, key, cents in parts:
        if kind == "SURPLUS":
            state.surplus -= cents
            state.lots.remove([source, cents])
        elif kind == "FEE":
            next(fee for fee in state.fees if fee.name == key).unpaid += cents
        elif kind == "INTEREST":
            state.rows[key].interest_paid -= cents
            if state.terms.method == "FLAT" and key > state.period:
                # Flat interest of a period that has not begun: it was not owed.
                state.rows[key].interest -= cents
                state.recognised[key] -= cents
                state.net -= cents
                state.items = [item for item in state.items if item["of"] != (source, key)]
        else:
            state.principal += cents
            if kind == "PRINCIPAL":
                state.rows[key].principal_paid -= cents
            elif kind == "EXTRA":
                state.rows[key].extra -= cents
            else:
                take_back_from_end(state, cents)
    state.rest_to_last_row()
    state.unwrite(source, undone_by)


def take_back_from_end(state, cents):
    """First the part that no due row has reached, then the rows that have fallen due, latest first."""
    state.end_paid -= cents
    back = sum(row.from_end for row in state.rows[1:]) - state.end_paid
    for row in reversed(state.rows[1:]):
        part = max(0, min(back, row.from_end))
        row.from_end -= part
        back -= part
