"""The terms of a loan: its dates, the shares of a year that its periods are, and its instalments as planned.

All money is in whole cents, and everything between is an exact fraction.
"""

import re
from datetime import date, datetime, time, timedelta, timezone
from fractions import Fraction
from functools import cache
from zoneinfo import ZoneInfo

UTC = timezone.utc

DEFAULT_ORDER = [
    "PAST_DUE_INTEREST", "PAST_DUE_PRINCIPAL", "DUE_INTEREST", "DUE_PRINCIPAL",
    "PAST_DUE_FEE", "PAST_DUE_PENALTY", "DUE_FEE", "DUE_PENALTY",
]  # fmt: skip


def rounded(value, mode="HALF_EVEN", unit=1):
    """To the nearest multiple of a unit; half goes to the even neighbour, or up."""
    value = Fraction(value) / unit
    whole = value.numerator // value.denominator
    rest = value - whole
    if rest > Fraction(1, 2) or (rest == Fraction(1, 2) and (mode == "HALF_UP" or whole % 2)):
        whole += 1
    return whole * unit


def interval(text):
    """`1 month - 10 days` as (1, -10): months and days."""
    months = days = 0
    for sign, number, word in re.findall(r"([+-]?)\s*(\d+)\s+(month|day|week|year)s?", text):
        number = -int(number) if sign == "-" else int(number)
        months += {"month": number, "year": 12 * number}.get(word, 0)
        days += {"day": number, "week": 7 * number}.get(word, 0)
    return months, days


def plus(start, months, days, month_end="CLAMP"):
    """A date so many months and days later. A date that a month lacks is its last day, or the 1st after it."""
    count = start.year * 12 + start.month - 1 + months
    year, month = divmod(count, 12)
    first = date(year, month + 1, 1)
    next_first = date(year + (month == 11), (month + 1) % 12 + 1, 1)
    day = first + timedelta(days=start.day - 1)
    if day >= next_first:
        day = next_first if month_end == "ROLL" else next_first - timedelta(days=1)
    return day + timedelta(days=days)


class Terms:
    def __init__(self, product, account):
        life = product.get("product_lifecycle_policies", {})
        group = lambda name: life.get(name, {})  # noqa: E731
        cycle, due, fees = group("billing_cycle_policies"), group("payment_due_policies"), group("fee_policies")
        plan, interest = group("amortization_policies"), group("interest_policies")
        pouring = group("payment_pouring_policies")
        defaults, summary = group("default_attributes"), account.get("summary", {})
        own_cycle, own_promo = account.get("cycle_type", {}), account.get("post_promo_overview", {})
        promo = product["post_promotional_policies"]

        self.zone = ZoneInfo(cycle.get("product_time_zone", "America/New_York"))
        self.close = time.fromisoformat(cycle.get("close_of_business_time", "23:59:59"))
        self.cycle = interval(cycle.get("cycle_interval", "1 month"))
        self.due_interval = interval(cycle.get("cycle_due_interval", "0 days"))
        first = own_cycle.get("first_cycle_interval", cycle.get("first_cycle_interval", "0 days"))
        self.first_cycle = interval(first)
        self.month_end = plan.get("month_end", "CLAMP")

        self.count = own_promo.get("post_promo_len", promo.get("post_promo_len"))
        percent = promo.get("post_promo_default_interest_rate_percent", 0)
        percent = own_promo.get("post_promo_impl_interest_rate_percent", percent)
        self.rate = Fraction(percent) / 100
        self.principal = summary["initial_principal_cents"]
        self.origination_fee = summary.get("origination_fee_cents", 0)

        self.method = plan.get("method", "LEVEL")
        self.interest_only = plan.get("interest_only_cycles", 0)
        self.unit = plan.get("installment_rounding_cents", 1)
        self.smooth = plan.get("smooth_last_installment", False)
        self.daily = interest.get("interest_calc_method", "PERIODIC") == "DAILY" and self.method != "FLAT"
        self.day_count = interest.get("day_count", "THIRTY_360")
        self.rounding = interest.get("rounding", "HALF_EVEN")
        after = interest.get("interest_after_maturity", "ACCRUE")
        self.accrues_after_maturity = after == "ACCRUE" and self.method != "FLAT"

        named = [bucket for bucket in pouring.get("order", []) if not bucket.startswith("IN_ADVANCE")]
        self.order = named + [bucket for bucket in DEFAULT_ORDER if bucket not in named]
        in_advance = [bucket for bucket in pouring.get("order", []) if bucket.startswith("IN_ADVANCE")]
        names = [bucket.removeprefix("IN_ADVANCE_") for bucket in in_advance]
        self.advance_principal_first = "PRINCIPAL" in names and (
            "INTEREST" not in names or names.index("PRINCIPAL") < names.index("INTEREST"))
        self.span = pouring.get("span", "BUCKET_FIRST" if "order" in pouring else "INSTALLMENTS_FIRST")
        self.surplus = pouring.get("surplus", "LAST_INSTALLMENT")
        self.policy = life.get("backdating_policy", "AS_POSTED")

        self.grace = interval(own_cycle.get("late_fee_grace", fees.get("late_fee_grace", "0 days")))
        if fees.get("late_fee_grace_counts_due_date") and self.grace != (0, 0):
            self.grace = (self.grace[0], self.grace[1] - 1)
        self.fee_type = fees.get("late_fee_type", "FLAT")
        self.fee_percent = Fraction(fees.get("late_fee_percent", 0)) / 100
        self.fee_min, self.fee_max = fees.get("late_fee_min_cents"), fees.get("late_fee_max_cents")
        self.fee_cap = summary.get("late_fee_cap_percent", fees.get("late_fee_cap_percent"))
        self.late_fee = summary.get("late_fee_cents", defaults.get("default_late_fee_cents", 0))
        reversal_fee = defaults.get("default_payment_reversal_fee_cents", 0)
        self.reversal_fee = summary.get("payment_reversal_fee_cents", reversal_fee)
        self.delinquent_after = due.get("delinquent_on_n_consecutive_late_fees", 1)
        self.charge_off_after = due.get("charge_off_on_n_consecutive_late_fees", 99999)

        self.opened_at = moment(account["effective_at"])
        self.opened_on = self.local_date(self.opened_at)
        self.plan_payments()

    # Dates and moments

    def local_date(self, at):
        return at.astimezone(self.zone).date()

    def at(self, day, clock=None):
        """A local time as a moment. One that the clocks skip moves on by the gap; of two, the first."""
        return datetime.combine(day, clock or self.close, self.zone).astimezone(UTC)

    @cache
    def due_on(self, k):
        """The due date of instalment k; for k = 0 the account's date; beyond the last one, where such periods end."""
        if k == 0:
            return self.opened_on
        if self.first_cycle != (0, 0):
            anchor, cycles = plus(self.opened_on, *self.first_cycle, self.month_end), k - 1
        else:
            anchor, cycles = self.opened_on, k
        end = plus(anchor, self.cycle[0] * cycles, self.cycle[1] * cycles, self.month_end)
        day = plus(end, *self.due_interval, self.month_end)
        noon = datetime.combine(day, time(12), self.zone).astimezone(UTC).astimezone(self.zone)
        return noon.date()  # a date that the zone skipped is the next one

    def due_at(self, k):
        return self.at(self.due_on(k)) if k else self.opened_at

    def grace_ends_on(self, k):
        return plus(self.due_on(k), *self.grace)

    # Interest

    @cache
    def share(self, k):
        """The share of a year that period k is."""
        start, end = self.due_on(k - 1), self.due_on(k)
        if self.day_count == "THIRTY_360":
            months, days = self.cycle
            if k == 1:
                months, days = self.first_cycle if self.first_cycle != (0, 0) else self.cycle
                months, days = months + self.due_interval[0], days + self.due_interval[1]
            return Fraction(months, 12) + Fraction(days, 360)
        return self.share_of_days(k, start, end)

    def share_of_days(self, k, start, end):
        """The share of a year of some days of period k."""
        days = (end - start).days
        if self.day_count == "THIRTY_360":
            whole = (self.due_on(k) - self.due_on(k - 1)).days
            return self.share(k) * Fraction(days, whole)
        if self.day_count == "ACTUAL_ACTUAL":
            each = (start + timedelta(days=number) for number in range(days))
            leap = lambda year: year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)  # noqa: E731
            return sum((Fraction(1, 366 if leap(day.year) else 365) for day in each), Fraction(0))
        return Fraction(days, 365 if self.day_count == "ACTUAL_365" else 360)

    # Instalments

    def level(self, principal, first):
        """The annuity over the instalments from `first` on, before rounding."""
        growth, annuity = Fraction(1), Fraction(0)
        for k in range(first, self.count + 1):
            factor = 1 + self.rate * self.share(k)
            growth, annuity = growth * factor, annuity * factor + 1
        return principal * growth / annuity

    def plan_payments(self):
        """What each instalment asks: a total (LEVEL), or its principal and interest as it comes."""
        first, rows = self.interest_only + 1, self.count - self.interest_only
        cents = lambda value: rounded(value, self.rounding, self.unit)  # noqa: E731
        self.totals, self.principals = {}, {k: 0 for k in range(1, first)}
        if self.method == "LEVEL":
            payment = cents(self.level(self.principal, first))
            if self.smooth:
                payment = self.smoothed(payment, first)
            self.totals = {k: payment for k in range(first, self.count + 1)}
        else:
            self.principals |= {k: cents(Fraction(self.principal, rows)) for k in range(first, self.count + 1)}
        years = sum(self.share(k) for k in range(1, self.count + 1))
        self.flat_interest = rounded(self.principal * self.rate * years / self.count, self.rounding)

    def smoothed(self, payment, first):
        def difference(payment):
            left = self.principal
            for k in range(first, self.count + 1):
                interest = rounded(left * self.rate * self.share(k), self.rounding)
                if k < self.count:
                    left -= payment - interest
            return left + interest - payment

        gap = difference(payment)
        moved = payment + rounded(Fraction(gap, self.count - first + 1), self.rounding)
        return moved if abs(difference(moved)) < abs(gap) else payment


def moment(text):
    return datetime.fromisoformat(text).astimezone(UTC)


def money(cents):
    return f"{'-' if cents < 0 else ''}{abs(cents) // 100:,}.{abs(cents) % 100:02}"
