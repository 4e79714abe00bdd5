"""Notices that an account asked for."""

from datetime import time, timedelta

from terms import interval, plus


class Notices:
    def waiting_notices(self):
        """Every notice still to fire: when, and for which instalment."""
        terms = self.terms
        for key, config in self.notices.items():
            if config is None:
                continue
            since, body = config
            clock = time.fromisoformat(body["time"]) if "time" in body else None
            kind = body["notification_type"]
            if kind == "account_summary":
                months, days = interval(body["interval"])
                local = since.astimezone(terms.zone)
                nth = lambda number: terms.at(  # noqa: E731
                    plus(local.date(), months * number, days * number), clock or local.time())
                number = 1
                while (kind, since, number) in self.fired or nth(number) < self.now:
                    number += 1
                yield nth(number), key, (kind, since, number), None
                continue
            offset = timedelta(days=interval(body["time_offset"])[1])
            for k in [terms.count] if kind == "loan_end_date" else self.rows:
                day = terms.grace_ends_on(k) if kind == "late_fee_date" else terms.due_on(k)
                at = terms.at(day + offset, clock)
                if at >= max(since, self.now) and (key, k) not in self.fired:
                    yield at, key, (key, k), k

    def fire(self, key, mark, k):
        self.fired.add(mark)
        if key[0] != "late_fee_date" or not self.is_paid(k):
            self.announce(key[0])
            self.tell(f"notice {key[0]}")
