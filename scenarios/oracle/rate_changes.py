"""Rates with dates, caps, pauses and promos; what a change that comes late posts back; cancelling."""

import copy
from fractions import Fraction

from dates import day_of, moment
from items import Item
from rates import Rate
from terms import money, percent


class RateChanges:
    def day(self, value):
        """A date, of a date or a moment."""
        if isinstance(value, str):
            return self.terms.local_date(moment(value)) if "T" in value else day_of(value)
        return self.terms.local_date(value) if hasattr(value, "hour") else value

    def apply_interest_rate(self, one, name, cents):
        tags, body = one.body.get("tags", {}), one.body
        tag = "scra" if tags.get("scra") else "mla" if tags.get("mla") else None
        default = {"scra": 6, "mla": 36}.get(tag, 0)
        rate = percent(body.get("interest_rate", default))
        how = body.get("level_payment", "REDUCE" if tag == "scra" else "RECALCULATE")
        if self.status == "CLOSED" and not tag:
            return
        self.change_rate(one, rate, body.get("effective_at_exclusive_end"), how, is_cap=bool(tag), tag=tag)

    def apply_interest_pause(self, one, name, cents):
        if self.status != "CLOSED":
            how = one.body.get("level_payment", "KEEP")
            self.change_rate(one, Fraction(0), one.body["end"], how, is_cap=True)

    def apply_temp_promo(self, one, name, cents):
        body = one.body
        if self.status == "CLOSED":
            return
        end = self.day(body["temp_promo_exclusive_end"])
        if "late_fee_cents" in body and end > self.today:
            self.promo_fees.append((self.today, end, body["late_fee_cents"], body.get("change_id")))
        if "interest_rate_percent" in body:
            how = body.get("level_payment", "KEEP")
            self.change_rate(one, percent(body["interest_rate_percent"]), end, how)
        else:
            self.announce_change()

    def change_rate(self, one, rate, end, how, is_cap=False, tag=None):
        """A rate counts from today; if it is posted late, what the delay cost may be posted back."""
        self.count_today()
        end = None if end is None else self.day(end)
        named = one.effective_at
        change = Rate(rate, self.today, end, named, is_cap, how == "REDUCE", tag)
        change.change_id = one.body.get("change_id")
        back = Fraction(0)
        if one.rank == 2 and (one.body.get("retroactive") or tag):
            back = self.cost_of_delay(change, self.terms.local_date(named))
        if end is None or end > self.today:
            self.rates.all.append(change)
        self.tell(f"{'cap' if is_cap else 'rate'} of {float(rate * 100):g} % from {self.today} to {end}, {how}")
        self.post_back(one, self.to_cents(back))
        keeps = self.status == "CLOSED" or self.terms.method == "EQUAL_PRINCIPAL"
        if how == "RECALCULATE" and (end is None or end > self.today) and not keeps:
            self.recalculate(self.rows_ahead())
        self.announce_change()

    def cost_of_delay(self, change, start):
        """Date by date: the rate as it was less the rate with the change, on the principal that was accruing."""
        then = copy.copy(change)
        then.start = start
        rates = copy.copy(self.rates)
        rates.all = self.rates.all + [then]
        total = Fraction(0)
        for period, a, b, principal in self.history + self.running_history():
            a, b = max(a, start), min(b, self.today)
            if a < b:
                was = self.share_at(self.rates, period, a, b)
                total += principal * (was - self.share_at(rates, period, a, b))
        return total

    def running_history(self):
        if self.terms.daily or self.start_principal is None or self.current.kept is not None or not self.accrues:
            return []
        return [(self.current, self.current.start, self.current.due, self.start_principal)]

    def share_at(self, rates, period, a, b):
        share = lambda a, b: self.terms.share_of_days(period, a, b)  # noqa: E731
        return sum((rate * share(a, b) for a, b, rate in rates.pieces(a, b)), Fraction(0))

    def post_back(self, one, cents):
        if cents > 0:
            name = f"dbk_retro:{one.body.get('change_id', one.seq)}"
            item = self.add(Item(name, "DEBIT_OFFSET", self.now, self.now, -cents))
            self.tell(f"{money(cents)} of interest is posted back")
            self.pour(cents, item, "INTEREST")

    def apply_change_cancel(self, one, name, cents):
        """As posted, a rate, cap or pause that has begun ends today."""
        self.count_today()
        for change in self.rates.all:
            if getattr(change, "change_id", None) == one.body["change_id"] and (change.end or self.today) >= self.today:
                change.end = self.today
        self.promo_fees = [
            (start, min(end, self.today) if cid == one.body["change_id"] else end, fee, cid)
            for start, end, fee, cid in self.promo_fees]
        self.tell(f"change {one.body['change_id']} is cancelled")
        self.announce_change()

    def announce_change(self):
        self.announce("account_update")
