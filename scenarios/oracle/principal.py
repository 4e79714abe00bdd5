"""What rows ask of principal, and what has been paid into them."""


class Principal:
    def on_top_left(self, row):
        """What is unpaid of the principal that a row asks on top of its own."""
        return row.on_top - row.on_top_paid - row.on_top_cut

    def posted_left(self, but=None):
        rows = [row for row in self.rows if row.fell_due and row is not self.last and row is not but]
        return sum(self.principal_left(row) for row in rows)

    def held_for(self, but):
        """Principal that is deferred to other rows."""
        return sum(self.on_top_left(row) for row in self.rows if not row.fell_due and row is not but)

    def room(self, row):
        """How much more interest a row can hold: one with a total keeps it, the others take all."""
        if row is None or not row.is_level:
            return 10**15
        return max(0, self.total(row) - (row.principal_paid - row.on_top_paid) - row.charged)

    def total(self, row):
        """The row's own total, less what REDUCE caps forgive while its period runs."""
        return row.amount - self.forgiven(row) if not row.fell_due else row.amount

    def paid_into(self, row):
        """What was paid of a row's own total."""
        own = [part for part in self.parts("INTEREST", row) if not part.top]
        return row.charged - sum(part.left for part in own) + row.principal_paid - row.on_top_paid

    def principal_left(self, row, open_interest=0):
        """What is unpaid of the principal of a row."""
        if row.retired:
            return 0
        if row.fell_due:
            rest = max(0, self.principal - self.posted_left()) if row is self.last else None
            return row.principal - row.principal_paid if rest is None else rest
        left = max(0, self.principal - self.posted_left() - self.held_for(row))
        top = min(left, self.on_top_left(row))
        if row.ask == "REST":
            return left
        return top + min(left - top, self.own_left(row, open_interest))

    def own_left(self, row, open_interest):
        own_paid = row.principal_paid - row.on_top_paid
        if row.is_level:
            asked = max(self.total(row), self.paid_into(row)) if row is self.current else row.amount
            return max(0, asked - row.charged - open_interest - own_paid)
        return max(0, row.amount - own_paid)

    def is_paid(self, row):
        """A row is paid when its total has been assigned to it. Where it has none, not before it is posted."""
        if row.retired:
            return True
        if row.fell_due:
            return self.interest_left(row) == 0 and self.principal_left(row) == 0
        if row.ask in ("REST", "PRINCIPAL") or self.on_top_left(row) or any(part.top for part in self.unpaid(row)):
            return False
        if row.ask == "KEPT":
            return row.made_ahead >= row.kept and row.principal_paid >= row.amount
        return self.paid_into(row) >= self.total(row)

    def unpaid(self, row):
        return [part for part in self.parts("INTEREST", row) if part.left]

    def pay_principal(self, row, cents, item, how="PRINCIPAL", open_interest=0):
        """Principal is paid: of a row (its own first), beyond what it asks, or from the end of the loan."""
        if not cents:
            return 0
        if how == "PRINCIPAL":
            if row.on_top and not row.fell_due:
                own = self.principal_left(row, open_interest) - self.on_top_left(row)
                row.on_top_paid += max(0, cents - max(0, own))
            row.principal_paid += cents
        elif how == "EXTRA":
            row.extra += cents
        else:
            self.cut_on_top(cents, item)
        self.principal -= cents
        item.splits.append((how, row, None, cents))
        return cents

    def cut_on_top(self, cents, item):
        """Money from the end of the loan first pays what was deferred to the last row."""
        if not self.last.fell_due:
            cut = min(cents, self.on_top_left(self.last))
            self.last.on_top_cut += cut
            item.cuts.append((self.last, cut))

    def pay_in_full(self, row):
        """In a projection, a row is paid on its day."""
        self.count_today()
        cents = self.principal_left(row)
        row.principal_paid += cents
        self.principal -= cents
        for part in self.parts("INTEREST", row):
            part.left = 0
