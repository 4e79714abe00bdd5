"""Interest of the running period: what has been earned, what of it is in items, and which row holds it."""

from fractions import Fraction

from dates import ONE_DAY
from items import CARRIED, TAIL, Item, Part
from plan import Row
from terms import rounded


def is_reducing(one):
    return one.reduces


class Interest:
    # Earning

    @property
    def earning_principal(self):
        """Principal that earns interest: all but what was deferred without."""
        free = sum(min(row.free, self.on_top_left(row)) for row in self.rows if not row.fell_due)
        return max(0, self.principal - free)

    @property
    def accrues(self):
        if self.status == "CLOSED":
            return False
        return not self.current.is_tail or self.terms.accrues_after_maturity

    def to_cents(self, value):
        return rounded(value, self.terms.interest_rounding)

    def interest_of(self, start, end, principal, but=None):
        """Interest of some dates of the running period."""
        if start >= end:
            return Fraction(0)
        pieces = self.rates.pieces(start, end, but)
        if self.terms.daily and self.terms.rounding_at == "DAILY":
            return sum(self.day_by_day(a, b, principal * rate) for a, b, rate in pieces)
        share = lambda a, b: self.terms.share_of_days(self.current, a, b)  # noqa: E731
        return sum((principal * rate * share(a, b) for a, b, rate in pieces), Fraction(0))

    def day_by_day(self, day, end, yearly):
        total = Fraction(0)
        while day < end:
            total += self.to_cents(yearly * self.terms.share_of_days(self.current, day, day + ONE_DAY))
            day += ONE_DAY
        return total

    def fixed(self, but=None):
        """PERIODIC: the whole period's interest, on the principal at its start. FLAT and precomputed: as agreed."""
        row = self.current
        if row.kept is not None:
            return Fraction(row.kept if self.principal or row.made_ahead else 0)
        if not self.accrues:
            return Fraction(self.made)
        principal = self.earning_principal if self.start_principal is None else self.start_principal
        given = self.given or 0
        return given + self.interest_of(self.fixed_from or row.start, row.due, principal, but)

    def exact(self, day, but=None):
        """Interest of the running period up to a day, before rounding."""
        if not self.terms.daily:
            return self.carry + self.fixed(but)
        earned = self.earned if but is None else self.earned_without_caps
        more = self.interest_of(self.counted_to, day, self.earning_principal, but) if self.accrues else 0
        return self.carry + earned + more

    def count_to(self, day):
        """Interest up to a day is earned; what follows is earned on what is unpaid then."""
        if day <= self.counted_to:
            return
        if self.terms.daily and self.accrues:
            principal = self.earning_principal
            self.history.append((self.current, self.counted_to, day, principal))
            self.earned_without_caps += self.interest_of(self.counted_to, day, principal, is_reducing)
            self.earned += self.interest_of(self.counted_to, day, principal)
        self.counted_to = day

    def count_today(self):
        self.count_to(min(self.today, self.current.due))

    def round_at_payment(self):
        if self.terms.daily and self.terms.rounding_at == "PAYMENT":
            exact, without = self.carry + self.earned, self.carry + self.earned_without_caps
            self.earned += self.to_cents(exact) - exact
            self.earned_without_caps += self.to_cents(without) - without

    def settle_start(self, at):
        """PERIODIC: the principal at the start counts after everything of that instant."""
        if self.start_principal is None and (self.begun_at is None or at > self.begun_at):
            self.start_principal = self.earning_principal

    def open_interest(self, at):
        """Interest of the running period that is in no item. At the due moment the next period has not begun."""
        if self.status == "CLOSED" or (self.begun_at is not None and at <= self.begun_at):
            return 0
        day = min(self.terms.local_date(at), self.current.due)
        return max(0, self.to_cents(self.exact(day)) - self.made)

    def future_interest(self):
        """Kept interest of periods not begun, where it is owed in a payoff."""
        if not self.terms.owes_unearned or self.status == "CLOSED" or not self.principal:
            return 0
        return sum(row.kept - row.made_ahead for row in self.coming_rows() if row.kept is not None)

    def payoff(self, at):
        return self.principal + self.interest + self.fees + self.open_interest(at) + self.future_interest()

    def forgiven(self, row):
        """What REDUCE caps take off the row whose period is running."""
        runs = row is self.current and row.is_level and not row.fell_due and not row.is_reduced
        if not runs or not any(map(is_reducing, self.rates.all)):
            return 0
        return max(0, self.to_cents(self.exact(row.due, is_reducing)) - self.to_cents(self.exact(row.due)))

    # Periods

    def begin_period(self, row, carry=Fraction(0)):
        self.current, self.carry, self.made, self.parts_made = row, carry, row.made_ahead, 0
        self.period += 1
        self.earned = self.earned_without_caps = Fraction(0)
        self.given = self.fixed_from = self.start_principal = None
        self.counted_to = row.start

    def per_day(self):
        """What one day of the running period is of a year, where periods and not days say it."""
        days = (self.current.due - self.current.start).days
        return self.terms.share(self.current) / days if days else None

    def restate(self, before):
        """The running period has another end: what was earned in it is earned at the new share of a year."""
        after = self.per_day()
        if self.terms.day_count != "THIRTY_360" or not before or not after or not self.terms.daily:
            return
        if self.terms.rounding_at != "DAILY":
            self.earned *= after / before
            self.earned_without_caps *= after / before

    def tail_row(self, before):
        """The period after maturity that follows another."""
        n = before.n + 1
        row = Row(before.series, n, before.series.length, is_tail=True)
        row.start, row.due = before.due, self.terms.real(before.series.date(n))
        if row.due <= row.start:
            row.due = row.start + ONE_DAY
        return row

    # Items

    def make_interest(self, cents, row, name=None):
        """Interest that was earned becomes an item; a row takes what it can hold, the rest is carried."""
        self.made += cents
        if name is None:
            self.parts_made += 1
            name = f"dbk_interest_{self.period}.{self.parts_made}"
        item = self.add(Item(name, "INTEREST", self.now, self.now, cents, owes="INTEREST"))
        if row is None:
            item.parts = [Part(item, TAIL, cents)]
            return item
        held = 0 if row.retired else min(cents, self.room(row))
        for where, part in ((row, held), (CARRIED, cents - held)):
            if part:
                item.parts.append(Part(item, where, part))
        row.charged += held
        return item

    def parts(self, owes, row):
        """What is owed in one place, oldest first."""
        where = [row] if row is not None or owes == "FEE" else [TAIL] + [CARRIED] * (self.open_row is None)
        return [part for item in self.items.values() if item.owes == owes for part in item.parts if part.row in where]

    def interest_left(self, row):
        return sum(part.left for part in self.parts("INTEREST", row))

    def carried(self):
        return sum(part.left for part in self.parts("INTEREST", CARRIED))

    def take_carried(self, row):
        """A row takes carried interest, as much as it can hold."""
        for part in self.parts("INTEREST", CARRIED):
            cents = min(part.left, self.room(row))
            if cents:
                part.left -= cents
                row.charged += cents
                part.item.parts.append(Part(part.item, row, cents))
                self.taken.append(part.item.parts[-1])
        self.forget_empty_parts()

    def release_carried(self):
        """What a row took for a payment and was not paid is carried again."""
        for part in self.taken:
            if part.left and not part.row.fell_due:
                part.row.charged -= part.left
                part.item.parts.append(Part(part.item, CARRIED, part.left))
                part.left = 0
        self.taken = []

    def forget_empty_parts(self):
        for item in self.items.values():
            item.parts = [part for part in item.parts if part.left or part.row != CARRIED]
