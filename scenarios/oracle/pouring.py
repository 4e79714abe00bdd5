"""Where money goes: the buckets in order, what is more than due, and taking it back."""

from items import CARRIED, Item, Part
from plan import settled
from terms import money


class Pouring:
    def pour(self, cents, item, allocation=None):
        """Puts money where it belongs. The item remembers where it went."""
        self.count_today()
        self.round_at_payment()
        open_row = self.open_row
        self.pays_off = cents >= self.payoff(self.now)
        if open_row is not None and not open_row.fell_due and not open_row.retired:
            self.take_carried(open_row)
        room = 0 if open_row is not None and open_row.retired else self.room(open_row)
        self.for_row = min(self.open_interest(self.now), room)
        left = cents - self.pay_allocation(cents, item, allocation)
        for row, bucket in self.order_of_all(binds_tail=item.type != "DEBIT_OFFSET"):
            left -= self.pay_bucket(row, bucket, left, item)
        left -= self.pay_ahead(left, item)
        self.release_carried()
        if not self.principal:
            left -= self.pay_what_is_left(left, item)
        item.surplus += left
        item.splits.append(("SURPLUS", None, None, left))
        self.tell(f"{item.type} {item.id} of {money(cents)}: " + ", ".join(
            f"{money(part)} {what.lower()}{f' of {row.number}' if row else ''}"
            for what, row, _, part in item.splits if part))
        self.tolerate_past_due()

    def pay_allocation(self, cents, item, allocation):
        """What the payment names goes first: past due, due, the rest of it."""
        if not allocation:
            return 0
        left = cents
        kinds = ["FEE", "PENALTY"] if allocation == "FEE" else [allocation]
        for when in ("PAST_DUE", "DUE"):
            for kind in kinds:
                for row in [*self.rows, None]:
                    left -= self.pay_bucket(row, f"{when}_{kind}", left, item)
        if allocation == "PRINCIPAL":
            left -= self.pay_ahead(left, item)
        elif allocation == "INTEREST":
            left -= self.pay_parts(self.all_parts("INTEREST"), left, item)
        else:
            for is_penalty in (False, True):
                left -= self.pay_parts(self.all_parts("FEE", is_penalty), left, item)
        return cents - left

    def all_parts(self, owes, is_penalty=None):
        items = [one for one in self.items.values() if one.owes == owes and is_penalty in (None, one.is_penalty)]
        return [part for one in items for part in one.parts]

    def pay_what_is_left(self, cents, item):
        """Nobody holds a surplus and owes something at the same time."""
        left = cents - self.pay_parts(self.all_parts("INTEREST"), cents, item)
        more = min(left, self.open_interest(self.now))
        if more:
            self.make_interest(more, self.open_row)
            left -= self.pay_parts(self.all_parts("INTEREST"), left, item)
        if self.pays_off and self.terms.owes_unearned:
            for row in self.coming_rows():
                left -= self.pay_kept_ahead(row, left, item)
        left -= self.pay_parts(self.all_parts("FEE"), left, item)
        return cents - left

    def order_of_all(self, binds_tail):
        """Rows and buckets, one after the other. The row `None` holds the interest after maturity and the fees that
        belong to no instalment; money that is not an offset never pays its interest before the last row's principal."""
        rows, order = [*self.rows, None], self.terms.order
        if self.terms.span == "OLDEST_INSTALLMENT_FIRST":
            return [(row, bucket) for row in rows for bucket in order]
        if self.terms.span == "INSTALLMENTS_FIRST":
            of_rows = [bucket for bucket in order if bucket.endswith(("INTEREST", "PRINCIPAL"))]
            fees = [bucket for bucket in order if bucket not in of_rows]
            first = [(row, bucket) for row in rows for bucket in of_rows]
            return first + [(row, bucket) for bucket in fees for row in rows]
        plan, waiting = [], [bucket for bucket in order if bucket.endswith("INTEREST")]
        for index, bucket in enumerate(order):
            is_waiting = binds_tail and bucket in waiting and "PAST_DUE_PRINCIPAL" in order[index:]
            plan += [(row, bucket) for row in rows if not (row is None and is_waiting)]
            if binds_tail and bucket == "PAST_DUE_PRINCIPAL":
                plan += [(None, interest) for interest in order[:index] if interest in waiting]
        return plan

    def when(self, row):
        if row is None or row.fell_due or (row.retired and row.due <= self.today):
            return "PAST_DUE"
        return "DUE" if row is self.current else "IN_ADVANCE"

    def pay_bucket(self, row, bucket, cents, item):
        when, kind = bucket.rsplit("_", 1)
        if row is None and bucket == "DUE_INTEREST":  # what was earned after maturity and is not posted
            when = "PAST_DUE"
        if cents == 0 or self.when(row) != when:
            return 0
        if kind in ("FEE", "PENALTY"):
            parts = [part for part in self.parts("FEE", row) if part.item.is_penalty == (kind == "PENALTY")]
            return self.pay_parts(parts, cents, item)
        if kind == "INTEREST":
            return self.pay_interest(row, bucket, cents, item)
        if row is None or row.retired:
            return 0
        open_interest = self.for_row if row is self.current and not row.fell_due else 0
        most = min(cents, self.principal_left(row, open_interest))
        return self.pay_principal(row, most, item, open_interest=open_interest)

    def pay_interest(self, row, bucket, cents, item):
        paid = self.pay_parts(self.parts("INTEREST", row), cents, item)
        is_open = row is self.open_row and (row is not None or bucket == "DUE_INTEREST")
        more = min(cents - paid, self.for_row) if is_open else 0
        if more > 0:
            self.for_row -= more
            self.make_interest(more, row)
            paid += self.pay_parts(self.parts("INTEREST", row), more, item)
        return paid

    def pay_parts(self, parts, cents, item):
        paid = 0
        for part in parts:
            more = min(cents - paid, part.left)
            if more > 0:
                part.left -= more
                paid += more
                what = "INTEREST" if part.item.owes == "INTEREST" else "FEE"
                item.splits.append((what, part.row if part.row not in (CARRIED, "TAIL") else None, part, more))
        return paid

    def pay_ahead(self, cents, item):
        """What is more than due goes where the product's `surplus` says."""
        left = cents
        if self.terms.surplus == "NEXT_INSTALLMENT" and not (self.pays_off and self.terms.is_kept):
            for row in self.coming_rows():
                left -= self.pay_in_advance(row, left, item)
        paid = min(left, self.principal)
        if paid and self.terms.surplus == "REDUCE_PRINCIPAL":
            self.pay_principal(self.open_row or self.last, paid, item, "EXTRA")
            self.lower_instalments(item)
        elif paid:
            self.pay_principal(None, paid, item, "PRINCIPAL_FROM_THE_END")
        return cents - left + paid

    def pay_in_advance(self, row, cents, item):
        left, kinds = cents, ["INTEREST", "PRINCIPAL"]
        self.take_carried(row)
        for kind in reversed(kinds) if self.terms.advance_principal_first else kinds:
            if kind == "INTEREST":
                left -= self.pay_parts(self.parts("INTEREST", row), left, item)
                left -= self.pay_kept_ahead(row, left, item)
            else:
                left -= self.pay_principal(row, min(left, self.principal_left(row)), item)
        return cents - left

    def pay_kept_ahead(self, row, cents, item):
        """Interest that was agreed may be paid before its period."""
        more = 0 if row.kept is None else min(cents, row.kept - row.made_ahead)
        if more <= 0:
            return 0
        row.made_ahead += more
        row.charged += more
        name = f"dbk_interest_ahead_{row.number}.{len(self.items)}"
        made = self.add(Item(name, "INTEREST", self.now, self.now, more, owes="INTEREST", is_ahead=True))
        made.parts = [Part(made, row, more)]
        return self.pay_parts(made.parts, more, item)

    # Taking back

    def take_back(self, item):
        """The exact negatives of where money went."""
        self.count_today()
        back = {"PRINCIPAL": 0, "INTEREST": 0, "FEE": 0}
        for what, row, part, cents in item.splits:
            if what in ("INTEREST", "FEE"):
                self.owe_again(part, cents)
            elif what == "SURPLUS":
                item.surplus = 0
                continue
            else:
                self.owe_principal_again(what, settled(row), cents)
            back["PRINCIPAL" if what not in back else what] += cents
        for row, cut in item.cuts:
            row.on_top_cut -= cut
        item.reversed, item.splits, item.cuts = True, [], []
        self.restore_instalments(item)
        return back

    def owe_principal_again(self, what, row, cents):
        self.principal += cents
        if what == "PRINCIPAL":
            row.principal_paid -= cents
            row.on_top_paid -= min(cents, row.on_top_paid)
        elif what == "EXTRA":
            row.extra -= cents

    def owe_again(self, part, cents):
        """A part is owed again where it was; of a retired row, its interest is carried."""
        part.row = settled(part.row)
        row = part.row
        if part.item.is_ahead and not row.fell_due and row is not self.current:
            row.made_ahead -= cents
            row.charged -= cents
            part.item.status = "INVALID"
        elif part.item.owes == "INTEREST" and getattr(row, "retired", False):
            row.charged -= cents
            part.item.parts.append(Part(part.item, CARRIED, cents))
        else:
            part.left += cents
