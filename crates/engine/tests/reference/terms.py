"""The terms of one account: the configuration of product and account, fractions of a year, and the plan."""

from datetime import date
from decimal import Decimal
from fractions import Fraction

from dates import Calendar, Zone, parse_interval, parse_moment, parse_time

LARGEST = 10**13  # cents of one amount
DEFAULT_ORDER = [
    "PAST_DUE_INTEREST", "PAST_DUE_PRINCIPAL", "DUE_INTEREST", "DUE_PRINCIPAL",
    "PAST_DUE_FEE", "PAST_DUE_PENALTY", "DUE_FEE", "DUE_PENALTY",
]  # fmt: skip

ORDER_AHEAD = ["IN_ADVANCE_INTEREST", "IN_ADVANCE_PRINCIPAL"]


def with_left_out(named, order):
    return named + [bucket for bucket in order if bucket not in named]


def exact(number):
    return None if number is None else Fraction(number if isinstance(number, int) else Decimal(str(number)))


def rounded(amount, mode):
    """An exact amount, rounded to a whole number."""
    if amount < 0:
        return -rounded(-amount, mode)
    whole = amount.numerator // amount.denominator
    rest = amount - whole
    up = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and (mode == "HALF_UP" or whole % 2 == 1))
    return whole + up


def by_own_years(start, end):
    """The fraction of a year of the days from start to end (excluded), each by the length of its own year."""
    share = Fraction(0)
    while start < end:
        next_year = date(start.year + 1, 1, 1)
        stop = min(end, next_year)
        share += Fraction((stop - start).days, (next_year - date(start.year, 1, 1)).days)
        start = stop
    return share


def pick(default, *places):
    """The first value that is present: (where, name), (where, name) ..."""
    for where, name in places:
        if (where or {}).get(name) is not None:
            return where[name]
    return default


# What a status pair stops, unless the product configures it: late fees, interest, delinquency, notices.
STOPPED = {
    "ACTIVE": "", "ACTIVE/EXEMPTIONS": "", "ACTIVE/HARDSHIP": "LD", "ACTIVE/SCRA": "L",
    "SUSPENDED/DELINQUENT": "", "SUSPENDED/INACTIVITY": "", "SUSPENDED/RISK_REVIEW": "", "SUSPENDED/HARDSHIP": "LD",
    "SUSPENDED/BANKRUPTCY": "LDN", "SUSPENDED/DECEASED": "LDN", "SUSPENDED/FRAUD": "LIDN",
}  # fmt: skip
EFFECTS = {"late_fees": "L", "interest": "I", "delinquency": "D", "notices": "N"}


def status_effects(given):
    """By pair: the effects that are stopped."""
    return {
        pair: {
            effect
            for effect, letter in EFFECTS.items()
            if (given.get(pair) or {}).get(effect, "STOP" if letter in stopped else None) == "STOP"
        }
        for pair, stopped in STOPPED.items()
    }


class Terms:
    def __init__(self, product, account):
        policies = product.get("product_lifecycle_policies") or {}
        group = lambda name: policies.get(name) or {}
        cycles, fees = group("billing_cycle_policies"), group("fee_policies")
        plan, interest = group("amortization_policies"), group("interest_policies")
        pouring, defaults = group("payment_pouring_policies"), group("default_attributes")
        lateness = group("payment_due_policies")
        lending = product.get("post_promotional_policies")
        summary, own_cycles = account["summary"], account.get("cycle_type")
        own_lending = account.get("post_promo_overview")

        self.principal = summary["initial_principal_cents"]
        self.origination_fee = pick(0, (summary, "origination_fee_cents"))
        self.effective_at = parse_moment(account["effective_at"])
        self.count = pick(0, (own_lending, "post_promo_len"), (lending, "post_promo_len"))
        percent = pick(
            0,
            (own_lending, "post_promo_impl_interest_rate_percent"),
            (lending, "post_promo_default_interest_rate_percent"),
        )
        self.rate = exact(percent) / 100
        self.zone = Zone(pick("America/New_York", (cycles, "product_time_zone")))
        self.month_end = pick("CLAMP", (plan, "month_end"))

        self.method = pick("LEVEL", (plan, "method"))
        self.interest_only = pick(0, (plan, "interest_only_cycles"))
        self.unit = pick(1, (plan, "installment_rounding_cents"))
        self.smooth = pick(False, (plan, "smooth_last_installment"))

        self.daily = pick("PERIODIC", (interest, "interest_calc_method")) == "DAILY" and self.method != "FLAT"
        self.day_count = pick("THIRTY_360", (interest, "day_count"))
        self.mode = pick("HALF_EVEN", (interest, "rounding"))
        after = pick("ACCRUE", (interest, "interest_after_maturity"))
        self.earns_after_maturity = after == "ACCRUE" and self.method != "FLAT"

        named = pick([], (pouring, "order"))
        self.order = with_left_out([bucket for bucket in named if not bucket.startswith("IN_ADVANCE")], DEFAULT_ORDER)
        # `surplus` decides which instalment is paid in advance; the order only decides what is first inside it.
        self.order_ahead = with_left_out([bucket for bucket in named if bucket in ORDER_AHEAD], ORDER_AHEAD)
        self.span = pick("BUCKET_FIRST" if named else "INSTALLMENTS_FIRST", (pouring, "span"))
        self.surplus = pick("LAST_INSTALLMENT", (pouring, "surplus"))
        self.replays = policies.get("backdating_policy") == "REPLAY"

        self.delinquent_after = pick(1, (lateness, "delinquent_on_n_consecutive_late_fees"))
        self.charge_off_after = pick(99999, (lateness, "charge_off_on_n_consecutive_late_fees"))
        self.late_type = pick("FLAT", (fees, "late_fee_type"))
        self.late_percent = exact(pick(0, (fees, "late_fee_percent")))
        self.late_min = pick(0, (fees, "late_fee_min_cents"))
        self.late_max = pick(LARGEST, (fees, "late_fee_max_cents"))
        self.late_cap = exact(pick(None, (summary, "late_fee_cap_percent"), (fees, "late_fee_cap_percent")))
        self.late_cents = pick(0, (summary, "late_fee_cents"), (defaults, "default_late_fee_cents"))
        self.pyramiding = pick("RECEIPTS", (fees, "late_fee_pyramiding"))
        self.effects = status_effects(policies.get("status_effects") or {})
        self.reversal_fee = pick(
            0, (summary, "payment_reversal_fee_cents"), (defaults, "default_payment_reversal_fee_cents")
        )
        self.calendar = Calendar(
            zone=self.zone,
            start=self.zone.date_of(self.effective_at),
            cycle=parse_interval(pick("1 month", (cycles, "cycle_interval"))),
            first_cycle=parse_interval(
                pick("0 days", (own_cycles, "first_cycle_interval"), (cycles, "first_cycle_interval"))
            ),
            due_after=parse_interval(pick("0 days", (cycles, "cycle_due_interval"))),
            month_end=self.month_end,
            close=parse_time(pick("23:59:59", (cycles, "close_of_business_time"))),
            grace=parse_interval(pick("0 days", (own_cycles, "late_fee_grace"), (fees, "late_fee_grace"))),
            grace_counts_due=pick(False, (fees, "late_fee_grace_counts_due_date")),
        )
        self.check()
        self.flat_interest = 0
        if self.method == "FLAT":
            time = sum(self.share(k) for k in range(1, self.count + 1))
            self.flat_interest = self.cents(self.principal * self.rate * time / self.count)

    def check(self):
        if self.count < 1 or not 0 <= self.interest_only < self.count:
            raise ValueError("the number of instalments")
        if not 1 <= self.principal <= LARGEST:
            raise ValueError("the principal")
        for k in range(1, self.count + 1):
            if self.calendar.due_date(k) <= self.calendar.due_date(k - 1):
                raise ValueError(f"due date {k} does not come after the one before")

    def cents(self, amount):
        return rounded(amount, self.mode)

    # --- Fractions of a year ---

    def share(self, k):
        """The fraction for the whole period of instalment k; beyond the last one, for the periods after maturity."""
        return self.part(k, self.calendar.due_date(k - 1), self.calendar.due_date(k))

    def part(self, k, start, end):
        """The fraction for the days from start to end (excluded), which lie in period k."""
        days = max(0, (end - start).days)
        if self.day_count == "ACTUAL_ACTUAL":
            return by_own_years(start, end)
        if self.day_count != "THIRTY_360":
            return Fraction(days, 365 if self.day_count == "ACTUAL_365" else 360)
        months, over = self.calendar.agreed_length(k)
        agreed = max(Fraction(0), Fraction(months, 12) + Fraction(over, 360))
        return agreed * Fraction(days, (self.calendar.due_date(k) - self.calendar.due_date(k - 1)).days)

    # --- The plan ---

    def to_unit(self, amount):
        return self.cents(Fraction(amount) / self.unit) * self.unit

    def spread(self, principal, rows):
        """The amount of each row that repays a principal over these rows, which end with the loan's last row: the
        instalment (LEVEL), or its principal."""
        if self.method == "LEVEL":
            return self.level(principal, [(self.rate * self.share(k), True) for k in rows])
        each = Fraction(principal, len(rows))
        if self.method == "FLAT" and self.unit > 1:
            # The instalment is rounded, principal and interest together.
            return max(0, self.to_unit(each + self.flat_interest) - self.flat_interest)
        return self.to_unit(each)

    def level(self, base, periods):
        """The level payment that repays a base: for each period its own rate, and whether its row pays."""
        growth = Fraction(1)
        for rate, _ in periods:
            growth *= 1 + rate
        payments, after = Fraction(0), growth
        for rate, pays in periods:
            after /= 1 + rate
            payments += after if pays else 0
        return self.to_unit(base * growth / payments)

    def smoothed(self, level, rows):
        """Adjusts the level payment once by the last row's difference, if that brings the last row closer."""
        off = self.last_total(level, rows) - level
        moved = level + self.cents(Fraction(off, len(rows)))
        closer = abs(self.last_total(moved, rows) - moved) < abs(off)
        return moved if closer else level

    def last_total(self, level, rows):
        """The total of the last row if every row is paid on time."""
        principal, carried = self.principal, 0
        for k in rows[:-1]:
            interest = carried + self.cents(principal * self.rate * self.share(k))
            carried = max(0, interest - level)
            principal -= min(max(0, level - interest), principal)
        return principal + carried + self.cents(principal * self.rate * self.share(rows[-1]))
