"""Changes of the plan: due dates, skips, extensions, deferrals, re-amortisation."""

from dates import Given, day_of, plus
from items import CARRIED, Part
from plan import UNKNOWN, Row, link
from terms import money


class Changes:
    def row_due_on(self, day):
        """The row with a due date; one that was moved to a business day has its first date too."""
        day = day_of(day)
        rows = [row for row in self.rows if row.has_period]
        found = [row for row in rows if row.due == day]
        found = found or [row for row in rows if not row.from_opening and row.series.date(row.n) == day]
        return found[0]

    def rows_from(self, body):
        """The rows ahead, from a named one on."""
        rows = self.rows_ahead() if self.status != "CLOSED" else []
        return self.rows_ahead(self.row_due_on(body["from_due_date"]).due) if rows and "from_due_date" in body else rows

    def redate(self, change):
        """Dates change; what was earned in the running period is restated if its end did."""
        self.count_today()
        before, was = self.per_day(), (self.current.start, self.current.due)
        change()
        link(self.terms, self.rows, self.terms.opened_on)
        if was != (self.current.start, self.current.due):
            self.restate(before)

    # Due date

    def apply_due_date(self, one, name, cents):
        body, rows = one.body, self.rows_from(one.body)
        if not rows:
            return
        new, days = day_of(body["next_due_date"]), body.get("semi_monthly_days")
        if new != rows[0].due or days:
            self.redate(lambda: self.move_rows(rows, new, days))
        if body.get("fee_cents"):
            self.charge(f"dbk_change_fee:{body.get('change_id', one.seq)}", "MANUAL_FEE", body["fee_cents"])
        self.tell(f"due date of row {rows[0].number} is {rows[0].due}")
        if body.get("level_payment", "KEEP") == "RECALCULATE":
            self.recalculate(rows)
        self.announce_change()

    def move_rows(self, rows, new, days):
        first = rows[0]
        if isinstance(first.series, Given):
            return self.shift_given(rows, lambda day: day + (new - first.series.date(first.n)))
        series, steps = self.terms.series_from(new, days), [0]
        for before, row in zip(rows, rows[1:]):
            steps.append(steps[-1] + (row.n - before.n if row.series is before.series else 1))
        for row, n in zip(rows, steps):
            row.series, row.n = series, n
        first.length = None

    def shift_given(self, rows, shift):
        """Rows of a given schedule move, each by itself."""
        series = Given([shift(row.series.date(row.n)) for row in rows], rows[0].series.cycle)
        for n, row in enumerate(rows):
            row.series, row.n = series, n

    # Skip

    def apply_skip(self, one, name, cents):
        rows, count = self.rows_from(one.body), one.body.get("count", 1)
        if not rows:
            return
        if one.body.get("extend_term", True):
            self.redate(lambda: self.put_off(rows, count))
        elif count < len(rows):
            self.redate(lambda: self.take_out(rows[:count], rows[count]))
            self.recalculate(rows[count:])
        self.tell(f"skip of {count}; the next row is due on {rows[min(count, len(rows) - 1)].due}")
        self.announce_change()

    def put_off(self, rows, count):
        cycle = rows[0].series
        if isinstance(cycle, Given):
            return self.shift_given(rows, lambda day: plus(day, cycle.cycle[0] * count, cycle.cycle[1] * count))
        for row in rows:
            row.n += count
        if rows[0].length is not None:
            rows[0].length += count * cycle.length

    def take_out(self, removed, heir):
        """Rows leave the plan; the next one takes over their period, their fees and what was paid into them."""
        lengths = [row.length for row in [*removed, heir]]
        heir.length = None if None in lengths else sum(lengths)
        for row in removed:
            self.hand_over(row, heir)
            self.rows.remove(row)
        self.take_over_period(removed, heir)

    def hand_over(self, row, heir):
        row.gone_to = heir
        for name in ("charged", "charged_on_top", "principal_paid", "extra", "on_top", "on_top_paid", "on_top_cut",
                     "free", "deferred", "made_ahead"):  # fmt: skip
            setattr(heir, name, getattr(heir, name) + getattr(row, name))
        for item in self.items.values():
            for part in item.parts:
                part.row = heir if part.row is row else part.row

    def take_over_period(self, removed, heir):
        """The row that follows goes on with the running period."""
        if self.current not in removed:
            return
        self.history = [(heir if period is self.current else period, *rest) for period, *rest in self.history]
        heir.start, self.current = self.current.start, heir

    # Extension

    def apply_extension(self, one, name, cents):
        rows, count = self.rows_from(one.body), one.body["count"]
        if not rows:
            return
        last = self.last
        last.ask, last.amount = ("PRINCIPAL", 1) if self.terms.method == "EQUAL_PRINCIPAL" else ("TOTAL", UNKNOWN)
        more = [Row(last.series, last.n + n, last.series.length) for n in range(1, count + 1)]
        self.redate(lambda: self.rows.extend(more))
        self.recalculate(rows + more)
        self.tell(f"{count} rows more")
        self.announce_change()

    # Deferral

    def apply_payment_deferral(self, one, name, cents):
        earns = one.body.get("interest_on_deferred", "ACCRUE") == "ACCRUE"
        if self.status == "CLOSED":
            return
        self.count_today()
        for deferral in one.body["deferrals"]:
            row, to = self.row_due_on(deferral["due_date"]), deferral.get("deferred_to", "MATURITY")
            to = self.last if to == "MATURITY" else self.row_due_on(to)
            ahead = self.rows_ahead()
            if to in ahead and row.number < to.number and not row.retired and not self.is_paid(row):
                order = (to, deferral.get("balance", "ALL"), earns)
                self.defer(row, *order) if row.fell_due else row.deferrals.append(order)
                self.tell(f"row {row.number} is deferred to {to.due}")
        self.announce_change()

    def defer(self, row, to, balance, earns):
        """What a row still asks leaves it and is asked by a later one on top of its own."""
        while to.gone_to is not None:
            to = to.gone_to
        if to.fell_due or self.is_paid(row):
            return
        cents = self.principal_left(row) if balance in ("ALL", "PRINCIPAL") else 0
        row.principal -= cents
        to.on_top += cents
        to.free += 0 if earns else cents
        to.deferred += cents
        if balance in ("ALL", "INTEREST"):
            for part in self.unpaid(row):
                to.deferred += part.left
                self.put_on_top(part, part.left, to)
        if balance in ("ALL", "FEE"):
            for part in self.parts("FEE", row):
                part.row = to if part.left else row
        row.retired = row.retired or balance == "ALL"

    def put_on_top(self, part, cents, to):
        """Some of a part moves to a row, on top of its own."""
        if part.row not in (CARRIED, "TAIL"):
            part.row.charged_on_top -= cents * part.top
            part.row.charged -= cents * (not part.top)
        to.charged_on_top += cents
        part.left -= cents
        part.item.parts.append(Part(part.item, to, cents, top=True))

    # Re-amortisation

    def retire(self, row):
        """A row asks nothing more: its interest is carried, its principal is the others'."""
        self.carry_from(row)
        row.retired, row.deferrals = True, []
        row.principal = row.principal_paid
        row.on_top = row.on_top_paid + row.on_top_cut
        row.free = 0

    def apply_re_amortization(self, one, name, cents):
        rows = self.rows_from({})
        behind = [row for row in self.rows_behind() if not self.is_paid(row)]
        if not rows or not behind:
            return
        self.count_today()
        for row in behind:
            self.retire(row)
        spread = one.body.get("interest", "FIRST") == "SPREAD"
        self.renew_amounts(rows, spread)
        self.tell(f"re-amortised over {len(rows)} rows")
        self.announce_change()

    def renew_amounts(self, rows, spread):
        if spread:
            self.post_retired_interest()
        self.recalculate(rows, spread)
        if spread:
            self.spread_carried(rows)

    def post_retired_interest(self):
        """Interest of a retired row that is due today is all earned."""
        if self.current.retired:
            cents = max(0, self.to_cents(self.exact(self.current.due)) - self.made)
            if cents:
                self.make_interest(cents, self.current)

    def spread_carried(self, rows):
        """Each row asks an equal part of the carried interest on top; the last one asks the rest."""
        total = self.carried()
        for row in rows:
            cents = total // len(rows) if row is not rows[-1] else self.carried()
            for part in self.parts("INTEREST", CARRIED):
                more = min(cents, part.left)
                cents -= more
                if more:
                    self.put_on_top(part, more, row)
        self.forget_empty_parts()
        self.tell(f"{money(total)} of interest is spread over {len(rows)} rows")
