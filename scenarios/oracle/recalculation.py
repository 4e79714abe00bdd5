"""The level payment computed again over some rows, and undoing that."""

import copy
from fractions import Fraction

from plan import level, missing_factors, rate_of
from terms import money, rounded


class Recalculation:
    def recalculate(self, rows, spread=False):
        """What rows ask, from the principal they have to repay."""
        while rows and rows[0].is_interest_only and rows[0] is not self.last:
            rows = rows[1:]
        if not rows:
            return
        self.count_today()
        principal, carried = self.base_of(rows)
        self.move_prepaid_to(rows[0])
        unpaid = [row for row in rows if not self.is_paid(row)]
        if self.terms.is_kept or self.terms.method == "EQUAL_PRINCIPAL":
            self.ask_equally(unpaid, principal)
        else:
            self.ask_level(rows, unpaid, principal + (0 if spread else carried))
        for row in rows:
            row.turn += 1

    def ask_equally(self, unpaid, principal):
        cents = rounded(Fraction(principal, len(unpaid)), self.terms.rounding, self.terms.unit)
        for row in unpaid:
            row.amount = cents
            if row is not self.last:
                row.ask = "KEPT" if row.kept is not None else "PRINCIPAL"

    def ask_level(self, rows, unpaid, base):
        terms = self.terms
        factors = [1 + rate_of(terms, self.rates, row) for row in rows]
        asked = [int(row in unpaid) for row in rows]
        if self.amortization_cycles:
            before = sum(row.has_period for row in self.rows[: rows[0].number - 1])
            more = missing_factors(terms, self.rates, rows, self.amortization_cycles - before)
            factors, asked = factors + more, asked + [1] * len(more)
        cents = rounded(level(base, factors, asked, self.balloon), terms.rounding, terms.unit)
        self.tell(f"from {rows[0].due} on {len(rows)} rows repay {money(base)}: level payment {money(cents)}")
        for row in unpaid:
            if row is not self.last:
                row.ask, row.amount = "TOTAL", max(cents, self.paid_into(row))

    def base_of(self, rows):
        """The principal that rows have to repay, and the carried interest that they find."""
        waiting = [row for row in self.rows if not row.fell_due and row.has_period and row.number < rows[0].number]
        planned, carried = self.taken_before(waiting)
        base = self.principal - self.posted_left() - planned - sum(self.on_top_left(row) for row in rows)
        paid = [row.principal_paid - row.on_top_paid for row in rows if not self.is_paid(row)]
        return max(0, base + sum(paid)), carried

    def taken_before(self, waiting):
        """What rows before will take, if they are paid as planned: principal, and carried interest."""
        carried, retired = self.carried(), 0
        if all(self.is_paid(row) and not row.retired for row in waiting):
            return 0, carried
        if self.current in waiting and self.current.retired:
            retired = max(0, self.to_cents(self.exact(self.current.due)) - self.made)
        coming = self.projected(waiting[-1])
        paid_then = {row.number: row.principal_paid for row in coming.rows}
        planned = sum(paid_then[row.number] - row.principal_paid for row in waiting)
        return planned, min(carried, coming.carried()) + retired

    def projected(self, last):
        """The account as it will be when a row has been paid on its day, and all before it."""
        coming = copy.deepcopy(self)
        coming.is_projection = True
        coming.pay_past_due()
        while coming.current.number <= last.number and not coming.current.is_tail:
            coming.now = coming.terms.at(coming.current.due)
            coming.settle_start(coming.now)
            coming.end_period()
        return coming

    def pay_past_due(self):
        for row in self.rows:
            if row.fell_due:
                self.pay_in_full(row)

    def move_prepaid_to(self, row):
        """Principal that was prepaid from the end becomes principal of the first row that is computed again."""
        for item in self.items.values():
            for index, (what, _, part, cents) in enumerate(item.splits):
                if what == "PRINCIPAL_FROM_THE_END":
                    item.splits[index] = ("EXTRA", row, part, cents)
                    row.extra += cents

    # Payments that make instalments smaller

    def lower_instalments(self, item):
        rows = self.coming_rows()
        if not rows or not self.principal:
            return
        before = {row: (row.ask, row.amount) for row in rows}
        self.recalculate(rows)
        item.lowered = {row: (before[row], row.turn) for row in rows}

    def restore_instalments(self, item):
        """Rows ahead ask again what they asked before; those rewritten since are computed again."""
        ahead = [row for row in item.lowered if row in self.rows and row.due > self.today and not row.fell_due]
        again = []
        for row in ahead:
            asked, turn = item.lowered[row]
            if row.turn == turn:
                row.ask, row.amount = asked
                row.turn += 1
            else:
                again.append(row)
        item.lowered = {}
        self.recalculate([row for row in again if not row.retired])
