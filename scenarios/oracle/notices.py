"""Notices that an account asked for."""

from datetime import time, timedelta

from dates import interval, plus


class Notices:
    def waiting_notices(self):
        """Every notice still to fire: when, and for which row."""
        for key, config in self.notices.items():
            if config is None:
                continue
            since, body = config
            clock = time.fromisoformat(body["time"]) if "time" in body else None
            if body["notification_type"] == "account_summary":
                yield self.next_summary(key, since, body, clock)
            else:
                yield from self.waiting_for_rows(key, since, body, clock)

    def next_summary(self, key, since, body, clock):
        months, days = interval(body["interval"])
        local = since.astimezone(self.terms.zone)
        nth = lambda number: self.terms.at(  # noqa: E731
            plus(local.date(), months * number, days * number), clock or local.time())
        number = 1
        while (key, since, number) in self.fired or nth(number) < self.now:
            number += 1
        return nth(number), key, (key, since, number), None

    def waiting_for_rows(self, key, since, body, clock):
        kind = body["notification_type"]
        offset = timedelta(days=interval(body["time_offset"])[1])
        for row in [self.last] if kind == "loan_end_date" else self.rows:
            if row.retired or not row.has_period:
                continue
            day = plus(row.due, *self.terms.tiers[0]["after"]) if kind == "late_fee_date" else row.due
            at = self.terms.at(day + offset, clock)
            if at >= max(since, self.now) and (key, row) not in self.fired:
                yield at, key, (key, row), row

    def fire(self, key, mark, row):
        self.fired.add(mark)
        if not self.stops("notices") and (key[0] != "late_fee_date" or not self.is_paid(row)):
            self.announce(key[0])
            self.tell(f"notice {key[0]}")
