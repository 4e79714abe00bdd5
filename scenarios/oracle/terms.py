"""The terms of a loan: what its product and its account say, and the shares of a year that dates are.

All money is in whole cents, and everything between is an exact fraction.
"""

from datetime import datetime, time, timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo

from dates import UTC, BusinessDays, Given, Regular, SemiMonthly, counted, day_of, interval, moment, plus, year_of

DEFAULT_ORDER = [
    "PAST_DUE_INTEREST", "PAST_DUE_PRINCIPAL", "DUE_INTEREST", "DUE_PRINCIPAL",
    "PAST_DUE_FEE", "PAST_DUE_PENALTY", "DUE_FEE", "DUE_PENALTY",
]  # fmt: skip

EFFECTS = ("late_fees", "interest", "delinquency", "notices")
STOPPED = {
    "ACTIVE/HARDSHIP": ("late_fees", "delinquency"),
    "SUSPENDED/HARDSHIP": ("late_fees", "delinquency"),
    "ACTIVE/SCRA": ("late_fees",),
    "SUSPENDED/BANKRUPTCY": ("late_fees", "delinquency", "notices"),
    "SUSPENDED/DECEASED": ("late_fees", "delinquency", "notices"),
    "SUSPENDED/FRAUD": EFFECTS,
}


def rounded(value, mode="HALF_EVEN", unit=1):
    """To a multiple of a unit: the nearest (half goes to the even one, or away from zero), or towards zero."""
    value = Fraction(value) / unit
    if value < 0:
        return -rounded(-value, mode) * unit
    whole = value.numerator // value.denominator
    rest = value - whole
    if mode != "DOWN" and (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and (mode == "HALF_UP" or whole % 2))):
        whole += 1
    return whole * unit


def money(cents):
    return f"{'-' if cents < 0 else ''}{abs(cents) // 100:,}.{abs(cents) % 100:02}"


def days_of(value):
    """`5` or `5 days`, as months and days."""
    return (0, value) if isinstance(value, int) else interval(value)


def percent(value):
    return Fraction(value) / 100


class Terms:
    def __init__(self, product, account):
        self.life = product.get("product_lifecycle_policies", {})
        self.product, self.account = product, account
        self.summary = account.get("summary", {})
        self.defaults = self.group("default_attributes")
        self.opening = account.get("opening")
        self.read_dates()
        self.read_amounts()
        self.read_interest()
        self.read_pouring()
        self.read_lateness()

    def __deepcopy__(self, memo):
        return self

    def group(self, name):
        return self.life.get(name, {})

    # What the files say

    def read_dates(self):
        cycle, own = self.group("billing_cycle_policies"), self.account.get("cycle_type", {})
        self.zone = ZoneInfo(cycle.get("product_time_zone", "America/New_York"))
        self.close = time.fromisoformat(cycle.get("close_of_business_time", "23:59:59"))
        text = cycle.get("cycle_interval", "1 month")
        self.is_semi_monthly = text == "semi-month"
        self.semi_monthly_days = cycle.get("semi_monthly_days", [1, 15])
        self.cycle = (0, 15) if self.is_semi_monthly else interval(text)
        self.due_interval = interval(cycle.get("cycle_due_interval", "0 days"))
        self.first_cycle = interval(own.get("first_cycle_interval", cycle.get("first_cycle_interval", "0 days")))
        self.month_end = self.group("amortization_policies").get("month_end", "CLAMP")
        self.business_days = BusinessDays(cycle.get("business_days", {}))
        self.opened_at = moment(self.account["effective_at"])
        self.opened_on = self.local_date(self.opened_at)
        self.begins_at = moment(self.opening["as_of"]) if self.opening else self.opened_at

    def read_amounts(self):
        account, promo = self.account, self.product["post_promotional_policies"]
        own, plan = account.get("post_promo_overview", {}), self.group("amortization_policies")
        self.count = own.get("post_promo_len", promo.get("post_promo_len"))
        base = promo.get("post_promo_default_interest_rate_percent", 0)
        self.rate = percent(own.get("post_promo_impl_interest_rate_percent", base))
        self.principal = self.summary.get("initial_principal_cents", 0)
        self.origination_fee = self.summary.get("origination_fee_cents", 0)
        self.payment_amount = account.get("payment_amount_cents")
        self.balloon = account.get("balloon_cents", 0)
        self.amortization_cycles = account.get("amortization_cycles")
        self.schedule = account.get("schedule")
        self.first_due_date = account.get("first_due_date")
        self.method = plan.get("method", "LEVEL")
        self.split = plan.get("precomputed_split", "ACTUARIAL")
        self.owes_unearned = plan.get("precomputed_refund", "NOT_BEGUN") == "NONE"
        self.is_kept = self.method in ("FLAT", "PRECOMPUTED")
        self.interest_only = plan.get("interest_only_cycles", 0)
        self.unit = plan.get("installment_rounding_cents", 1)
        self.smooth = plan.get("smooth_last_installment", False)

    def read_interest(self):
        interest = self.group("interest_policies")
        self.daily = interest.get("interest_calc_method", "PERIODIC") == "DAILY" and not self.is_kept
        self.day_count = interest.get("day_count", "THIRTY_360")
        self.rounding = interest.get("rounding", "HALF_EVEN")
        self.interest_rounding = interest.get("interest_rounding", self.rounding)
        self.rounding_at = interest.get("interest_rounding_at", "PERIOD_END")
        after = interest.get("interest_after_maturity", "ACCRUE")
        self.accrues_after_maturity = after == "ACCRUE" and not self.is_kept

    def read_pouring(self):
        pouring, due = self.group("payment_pouring_policies"), self.group("payment_due_policies")
        named = [bucket for bucket in pouring.get("order", []) if not bucket.startswith("IN_ADVANCE")]
        self.order = named + [bucket for bucket in DEFAULT_ORDER if bucket not in named]
        in_advance = [bucket for bucket in pouring.get("order", []) if bucket.startswith("IN_ADVANCE")]
        names = [bucket.removeprefix("IN_ADVANCE_") for bucket in in_advance]
        self.advance_principal_first = "PRINCIPAL" in names and (
            "INTEREST" not in names or names.index("PRINCIPAL") < names.index("INTEREST"))
        self.span = pouring.get("span", "BUCKET_FIRST" if "order" in pouring else "INSTALLMENTS_FIRST")
        self.surplus = pouring.get("surplus", "LAST_INSTALLMENT")
        self.policy = self.life.get("backdating_policy", "AS_POSTED")
        self.tolerance_cents = due.get("shortfall_tolerance_cents")
        self.tolerance_percent = due.get("shortfall_tolerance_percent")
        self.tolerance_rule = due.get("shortfall_tolerance_rule", "HIGHER")
        self.shortfall_goes_on = due.get("shortfall_goes_to", "NEXT_INSTALLMENT") == "NEXT_INSTALLMENT"
        self.write_off = due.get("write_off_balance_cents", 0)

    def read_lateness(self):
        fees, due = self.group("fee_policies"), self.group("payment_due_policies")
        own = self.account.get("cycle_type", {})
        self.grace = interval(own.get("late_fee_grace", fees.get("late_fee_grace", "0 days")))
        if fees.get("late_fee_grace_counts_due_date") and self.grace != (0, 0):
            self.grace = (self.grace[0], self.grace[1] - 1)
        flat = self.summary.get("late_fee_cents", self.defaults.get("default_late_fee_cents", 0))
        self.tiers = [self.tier(fees, flat, "late_fee_", self.grace)]
        if fees.get("late_fee_tiers"):
            self.tiers = [self.tier(one, flat, "", days_of(one["after"])) for one in fees["late_fee_tiers"]]
        self.fee_cap = self.summary.get("late_fee_cap_percent", fees.get("late_fee_cap_percent"))
        self.fee_loan_cap = fees.get("late_fee_loan_cap_cents")
        self.receipts_only = fees.get("late_fee_pyramiding", "RECEIPTS") == "RECEIPTS"
        fee = self.defaults.get("default_payment_reversal_fee_cents", 0)
        self.reversal_fee = self.summary.get("payment_reversal_fee_cents", fee)
        self.delinquent_after = due.get("delinquent_on_n_consecutive_late_fees", 1)
        self.charge_off_after = due.get("charge_off_on_n_consecutive_late_fees", 99999)

    def tier(self, fee, flat, prefix, after):
        return {
            "after": after,
            "type": fee.get(prefix + "type", "FLAT"),
            "percent": percent(fee.get(prefix + "percent", 0)),
            "flat": flat if prefix else fee.get("amount_cents", 0),
            "min": fee.get(prefix + "min_cents"),
            "max": fee.get(prefix + "max_cents"),
        }

    def stops(self, pair, effect):
        """Whether a status stops late_fees, interest, delinquency or notices."""
        given = self.life.get("status_effects", {}).get(pair, {}).get(effect)
        return given == "STOP" if given else effect in STOPPED.get(pair, ())

    # Dates and moments

    def local_date(self, at):
        return at.astimezone(self.zone).date()

    def at(self, day, clock=None):
        """A local time as a moment. One that the clocks skip moves on by the gap; of two, the first."""
        return datetime.combine(day, clock or self.close, self.zone).astimezone(UTC)

    def real(self, day):
        """A date that the zone skipped is the next one."""
        return datetime.combine(day, time(12), self.zone).astimezone(UTC).astimezone(self.zone).date()

    def series(self):
        """The regular due dates, and the number of the first one."""
        if self.schedule:
            return Given([day_of(row["due_date"]) for row in self.schedule], self.cycle), 0
        if self.first_due_date:
            return self.series_from(day_of(self.first_due_date)), 0
        if self.is_semi_monthly:
            return SemiMonthly(self.semi_monthly_days, self.opened_on + timedelta(days=1)), 0
        anchor, first = self.opened_on, 1
        if self.first_cycle != (0, 0):
            anchor, first = plus(anchor, *self.first_cycle, self.month_end), 0
        return Regular(anchor, self.cycle, self.due_interval, self.month_end), first

    def series_from(self, day, days=None):
        """Due dates that begin with a given one and go on by the cycle."""
        if self.is_semi_monthly:
            return SemiMonthly(days or self.semi_monthly_days, day)
        return Regular(day, self.cycle, month_end=self.month_end)

    def first_length(self):
        """The nominal length of the first period; None: it is counted."""
        if self.schedule or self.first_due_date or self.is_semi_monthly:
            return None
        months, days = self.first_cycle if self.first_cycle != (0, 0) else self.cycle
        return year_of(months + self.due_interval[0], days + self.due_interval[1])

    # Shares of a year

    def share(self, period):
        """The share of a year that a period is: something with a start, a due date and a nominal length."""
        if self.day_count != "THIRTY_360":
            return self.actual(period.start, period.due)
        return counted(period.start, period.due) if period.length is None else period.length

    def share_of_days(self, period, start, end):
        """The share of a year of some days of a period."""
        if self.day_count != "THIRTY_360":
            return self.actual(start, end)
        whole = (period.due - period.start).days
        return self.share(period) * Fraction((end - start).days, whole) if whole else Fraction(0)

    def actual(self, start, end):
        days = (end - start).days
        if self.day_count != "ACTUAL_ACTUAL":
            return Fraction(days, 365 if self.day_count == "ACTUAL_365" else 360)
        each = (start + timedelta(days=number) for number in range(days))
        leap = lambda year: year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)  # noqa: E731
        return sum((Fraction(1, 366 if leap(day.year) else 365) for day in each), Fraction(0))
