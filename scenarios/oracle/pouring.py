"""Where money goes: the buckets in order, what is more than due, and taking it back."""

from terms import money, rounded


class Pouring:
    def pour(self, cents, item, allocation=None):
        """Puts money where it belongs. The item remembers where it went."""
        self.count_to(min(self.terms.local_date(self.now), self.terms.due_on(self.period)))
        open_row = self.open_row()
        self.for_row = min(self.open_interest(self.now), self.room(open_row))
        left = cents
        if allocation:
            kinds = ["FEE", "PENALTY"] if allocation == "FEE" else [allocation]
            for when in ("PAST_DUE", "DUE"):
                for kind in kinds:
                    for k in [*self.rows, None]:
                        left -= self.pay_bucket(k, f"{when}_{kind}", left, item)
            if allocation == "PRINCIPAL":
                left -= self.pay_ahead(left, item)
        for k, bucket in self.order_of_all():
            left -= self.pay_bucket(k, bucket, left, item)
        left -= self.pay_ahead(left, item)
        if not self.principal:  # nobody holds a surplus and owes interest
            for k in [*self.rows, None]:
                left -= self.pay_items("INTEREST", k, left, item)
            more = min(left, self.open_interest(self.now))
            if more:
                self.make_interest(more, open_row)
                for k in [*self.rows, None]:
                    left -= self.pay_items("INTEREST", k, left, item)
        self.surplus += left
        item.splits.append(("SURPLUS", None, None, left))
        self.tell(f"{item.type} {item.id} of {money(cents)}: " + ", ".join(
            f"{money(part)} {what.lower()}{f' of {k}' if k else ''}" for what, k, _, part in item.splits if part))

    def order_of_all(self):
        """Rows and buckets, one after the other. The row `None` holds the interest after maturity and the fees that
        belong to no instalment; its interest never comes before the principal of the last row."""
        rows, order = [*self.rows, None], self.terms.order
        if self.terms.span == "OLDEST_INSTALLMENT_FIRST":
            return [(k, bucket) for k in rows for bucket in order]
        if self.terms.span == "INSTALLMENTS_FIRST":
            of_rows = [bucket for bucket in order if bucket.endswith(("INTEREST", "PRINCIPAL"))]
            fees = [bucket for bucket in order if bucket not in of_rows]
            return [(k, bucket) for k in rows for bucket in of_rows] + [(k, bucket) for bucket in fees for k in rows]
        plan, waiting = [], [bucket for bucket in order if bucket.endswith("INTEREST")]
        for index, bucket in enumerate(order):
            is_waiting = bucket in waiting and "PAST_DUE_PRINCIPAL" in order[index:]
            plan += [(k, bucket) for k in rows if not (k is None and is_waiting)]
            if bucket == "PAST_DUE_PRINCIPAL":
                plan += [(None, interest) for interest in order[:index] if interest in waiting]
        return plan

    def open_row(self):
        return self.period if self.period <= self.terms.count else None

    def when(self, k):
        if k is None or self.rows[k].fell_due:
            return "PAST_DUE"
        return "DUE" if k == self.period else "IN_ADVANCE"

    def pay_bucket(self, k, bucket, cents, item):
        when, kind = bucket.rsplit("_", 1)
        if k is None and bucket == "DUE_INTEREST":  # what has accrued after maturity and is not posted
            when = "PAST_DUE"
        if cents == 0 or self.when(k) != when:
            return 0
        if kind in ("FEE", "PENALTY"):
            return self.pay_items(kind, k, cents, item)
        if k is None and kind == "PRINCIPAL":
            return 0
        if kind == "INTEREST":
            paid = self.pay_items("INTEREST", k, cents, item)
            is_open = k == self.open_row() and (k is not None or bucket == "DUE_INTEREST")
            more = min(cents - paid, self.for_row) if is_open else 0
            if more:
                self.for_row -= more
                self.make_interest(more, k)
                paid += self.pay_items("INTEREST", k, more, item)
            return paid
        open_interest = self.for_row if k == self.period else 0
        return self.pay_principal(k, min(cents, self.principal_left(k, open_interest)), item)

    def pay_items(self, kind, k, cents, item):
        paid = 0
        for debt in list(self.items.values()):
            of_kind = debt.type == "INTEREST" if kind == "INTEREST" else (
                debt in self.fee_items and debt.is_penalty == (kind == "PENALTY"))
            for index, (row, unpaid) in enumerate(debt.unpaid if of_kind else []):
                part = min(cents - paid, unpaid) if row == k else 0
                if part:
                    debt.unpaid[index] = (row, unpaid - part)
                    item.splits.append(("INTEREST" if kind == "INTEREST" else "FEE", k, debt, part))
                    paid += part
        return paid

    def pay_principal(self, k, cents, item, how="PRINCIPAL"):
        if cents:
            self.principal -= cents
            if how == "PRINCIPAL":
                self.rows[k].principal_paid += cents
            elif how == "EXTRA":
                self.rows[k].extra += cents
            item.splits.append((how, k, None, cents))
        return cents

    def pay_ahead(self, cents, item):
        """What is more than due goes where the product's `surplus` says."""
        cents_at_first = cents
        if self.terms.surplus == "NEXT_INSTALLMENT":
            for k in range(self.period + 1, self.terms.count + 1):
                kinds = ["INTEREST", "PRINCIPAL"]
                for kind in reversed(kinds) if self.terms.advance_principal_first else kinds:
                    if kind == "INTEREST":
                        cents -= self.pay_items("INTEREST", k, cents, item)
                    else:
                        cents -= self.pay_principal(k, min(cents, self.principal_left(k)), item)
        paid = min(cents, self.principal)
        if self.terms.surplus == "REDUCE_PRINCIPAL" and paid:
            open_row = min(self.period, self.terms.count)
            self.pay_principal(open_row, paid, item, "EXTRA")
            if self.principal and open_row < self.terms.count:
                level = self.terms.level(self.principal, open_row + 1)
                level = rounded(level, self.terms.rounding, self.terms.unit)
                self.totals |= {k: level for k in range(open_row + 1, self.terms.count + 1)}
        elif paid:
            self.pay_principal(None, paid, item, "PRINCIPAL_FROM_THE_END")
        return cents_at_first - cents + paid

    def take_back(self, item):
        """The exact negatives of where a payment went."""
        self.count_to(min(self.terms.local_date(self.now), self.terms.due_on(self.period)))
        for what, k, debt, cents in item.splits:
            if what in ("INTEREST", "FEE"):
                index = next(index for index, (row, _) in enumerate(debt.unpaid) if row == k)
                debt.unpaid[index] = (k, debt.unpaid[index][1] + cents)
            elif what == "SURPLUS":
                self.surplus -= cents
            else:
                self.principal += cents
                if what == "PRINCIPAL":
                    self.rows[k].principal_paid -= cents
                elif what == "EXTRA":
                    self.rows[k].extra -= cents
        item.reversed = True
        back = {"PRINCIPAL": 0, "INTEREST": 0, "FEE": 0}
        for what, _, _, cents in item.splits:
            if what != "SURPLUS":
                back["PRINCIPAL" if what not in back else what] += cents
        item.splits = []
        return back
