"""The dates and the usual instalment of an account before anything happens to it."""

from fold import Fold


class Outline:
    def __init__(self, terms):
        self.terms, self.fold = terms, Fold(terms, [])
        self.state, self.start = self.fold.state, self.fold.start
        self.first, self.count = self.state.passed + 1, self.state.count
        asking = [row for row in self.state.rows[self.first : self.count] if row.total or row.fixed_principal]
        amounts = [row.total or row.fixed_principal + (row.kept or 0) for row in asking]
        self.typical = max(1, amounts[0] if amounts else terms.principal)

    def due_moment(self, k):
        return self.state.end_moment(k)

    def fee_moment(self, k):
        calendar, after = self.terms.calendar, self.terms.tiers[0].after
        return calendar.close_of(calendar.plus(self.state.end_of(k), after))
