"""Configured notices: the times at which they fire after they take effect."""

from datetime import timedelta

from dates import parse_interval, parse_time, times


class Setting:
    def __init__(self, fold, wanted, at):
        self.fold, self.kind, self.since = fold, wanted["notification_type"], at
        self.passed = set()  # (row, moment)
        clock = parse_time(wanted["time"]) if wanted.get("time") else None
        if self.kind == "account_summary":
            self.every, self.next, self.key = parse_interval(wanted["interval"]), 1, (self.kind,)
            self.clock = clock or fold.terms.zone.local(at).time()
        else:
            self.days, self.clock = parse_interval(wanted["time_offset"])[1], clock
            self.key = (self.kind, self.days)

    def coming(self, now):
        """(moment, row) of the next firing."""
        if self.kind == "account_summary":
            start = self.fold.terms.zone.local(self.since).date()
            day = self.fold.terms.calendar.plus(start, times(self.every, self.next))
            return self.fold.terms.zone.at(day, self.clock), None
        moments = [(self.moment(row), number, row) for number, row in enumerate(self.rows())]
        since = max(self.since, now)
        moments = [one for one in moments if one[0] >= since and (one[2].id, one[0]) not in self.passed]
        found = min(moments, key=lambda one: one[:2], default=None)
        return found and (found[0], found[2])

    def rows(self):
        state = self.fold.state
        rows = [row for row in state.rows[1 : state.count + 1] if not row.silent]
        if self.kind == "loan_end_date":
            return rows[-1:]
        return [row for row in rows if self.kind != "late_fee_date" or not row.retired]

    def moment(self, row):
        terms = self.fold.terms
        anchor = self.fold.fee_date(row) if self.kind == "late_fee_date" else row.due
        day = terms.zone.existing(anchor + timedelta(days=self.days))
        return terms.zone.at(day, self.clock) if self.clock else terms.calendar.close_of(day)

    def fired(self, moment, row):
        if row is None:
            self.next += 1
        else:
            self.passed.add((row.id, moment))
