"""The terms of one account: the configuration of product and account."""

from datetime import date
from decimal import Decimal
from fractions import Fraction

from dates import Calendar, Zone, day_of, parse_interval, parse_moment, parse_time
from effects import status_effects
from series import SEMI_MONTH, BusinessDays

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
    if mode == "DOWN":
        return whole
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


def parse_cycle(text):
    return SEMI_MONTH if text == SEMI_MONTH else parse_interval(text)


class Tier:
    """A late fee and its moment."""

    def __init__(self, after, kind, percent, cents, smallest, largest):
        self.after, self.kind, self.percent, self.cents = after, kind, percent, cents
        self.smallest, self.largest = smallest, largest


class Terms:
    def __init__(self, product, account):
        policies = product.get("product_lifecycle_policies") or {}
        group = lambda name: policies.get(name) or {}
        self.lending = product.get("post_promotional_policies"), account.get("post_promo_overview")
        self.summary = account.get("summary") or {}
        self.replays = policies.get("backdating_policy") == "REPLAY"
        self.effects = status_effects(policies.get("status_effects") or {})
        self.effective_at = parse_moment(account["effective_at"])
        self.read_contract(account)
        self.read_plan(group("amortization_policies"))
        self.read_interest(group("interest_policies"))
        self.read_pouring(group("payment_pouring_policies"))
        self.read_lateness(group("payment_due_policies"))
        self.read_fees(group("fee_policies"), group("default_attributes"))
        self.read_dates(group("billing_cycle_policies"), group("fee_policies"), account.get("cycle_type"))
        self.check()

    # --- What is read ---

    def read_contract(self, account):
        self.opening = account.get("opening")
        self.principal = (self.opening or {}).get("principal_cents") or self.summary.get("initial_principal_cents")
        self.origination_fee = pick(0, (self.summary, "origination_fee_cents"))
        product, own = self.lending
        self.schedule = (self.opening or account).get("schedule")
        self.count = pick(0, (own, "post_promo_len"), (product, "post_promo_len"))
        if self.opening:
            self.count = self.opening.get("remaining_installments") or 0
        if self.schedule:
            self.count = len(self.schedule)
        percent = pick(
            0,
            (own, "post_promo_impl_interest_rate_percent"),
            (product, "post_promo_default_interest_rate_percent"),
        )
        self.rate = exact(percent) / 100
        self.payment_amount = (self.opening or {}).get("payment_amount_cents") or account.get("payment_amount_cents")
        self.balloon = account.get("balloon_cents")
        self.amortization_cycles = account.get("amortization_cycles")
        first = account.get("first_due_date")
        self.first_due_date = day_of(first) if first else None

    def read_plan(self, plan):
        self.month_end = pick("CLAMP", (plan, "month_end"))
        self.method = pick("LEVEL", (plan, "method"))
        self.split = pick("ACTUARIAL", (plan, "precomputed_split"))
        self.keeps_refund = pick("NOT_BEGUN", (plan, "precomputed_refund")) == "NONE"
        if self.method == "PRECOMPUTED" and self.split == "EQUAL":
            self.method = "FLAT"
        self.kept = self.method in ("FLAT", "PRECOMPUTED")
        self.level = self.method == "LEVEL"
        self.interest_only = 0 if self.opening or self.schedule else pick(0, (plan, "interest_only_cycles"))
        self.interest_only_of_loan = pick(0, (plan, "interest_only_cycles"))
        self.unit = pick(1, (plan, "installment_rounding_cents"))
        self.smooth = pick(False, (plan, "smooth_last_installment"))

    def read_interest(self, interest):
        self.daily = pick("PERIODIC", (interest, "interest_calc_method")) == "DAILY" and not self.kept
        self.day_count = pick("THIRTY_360", (interest, "day_count"))
        self.mode = pick("HALF_EVEN", (interest, "rounding"))
        self.interest_mode = pick(self.mode, (interest, "interest_rounding"))
        self.rounding_at = pick("PERIOD_END", (interest, "interest_rounding_at")) if self.daily else "PERIOD_END"
        after = pick("ACCRUE", (interest, "interest_after_maturity"))
        self.earns_after_maturity = after == "ACCRUE" and not self.kept

    def read_pouring(self, pouring):
        named = pick([], (pouring, "order"))
        self.order = with_left_out([bucket for bucket in named if not bucket.startswith("IN_ADVANCE")], DEFAULT_ORDER)
        # `surplus` decides which instalment is paid in advance; the order only decides what is first inside it.
        self.order_ahead = with_left_out([bucket for bucket in named if bucket in ORDER_AHEAD], ORDER_AHEAD)
        self.span = pick("BUCKET_FIRST" if named else "INSTALLMENTS_FIRST", (pouring, "span"))
        self.surplus = pick("LAST_INSTALLMENT", (pouring, "surplus"))

    def read_lateness(self, lateness):
        self.delinquent_after = pick(1, (lateness, "delinquent_on_n_consecutive_late_fees"))
        self.charge_off_after = pick(99999, (lateness, "charge_off_on_n_consecutive_late_fees"))
        cents, percent = lateness.get("shortfall_tolerance_cents"), exact(lateness.get("shortfall_tolerance_percent"))
        self.tolerance_cents, self.tolerance_percent = cents, percent
        self.tolerance_rule = pick("HIGHER", (lateness, "shortfall_tolerance_rule"))
        self.shortfall_goes_to = pick("NEXT_INSTALLMENT", (lateness, "shortfall_goes_to"))
        self.write_off = pick(0, (lateness, "write_off_balance_cents"))

    def read_fees(self, fees, defaults):
        summary = self.summary
        self.late_cents = pick(0, (summary, "late_fee_cents"), (defaults, "default_late_fee_cents"))
        self.late_cap = exact(pick(None, (summary, "late_fee_cap_percent"), (fees, "late_fee_cap_percent")))
        self.loan_cap = fees.get("late_fee_loan_cap_cents")
        self.pyramiding = pick("RECEIPTS", (fees, "late_fee_pyramiding"))
        self.tiers = [
            Tier(
                parse_interval(tier["after"]) if isinstance(tier["after"], str) else (0, tier["after"]), tier["type"],
                exact(pick(0, (tier, "percent"))), pick(self.late_cents, (tier, "amount_cents")),
                pick(0, (tier, "min_cents")), pick(LARGEST, (tier, "max_cents")),
            )
            for tier in fees.get("late_fee_tiers") or []
        ]  # fmt: skip
        if not self.tiers:
            kind, percent = pick("FLAT", (fees, "late_fee_type")), exact(pick(0, (fees, "late_fee_percent")))
            smallest, largest = pick(0, (fees, "late_fee_min_cents")), pick(LARGEST, (fees, "late_fee_max_cents"))
            self.tiers = [Tier(None, kind, percent, self.late_cents, smallest, largest)]
        self.reversal_fee = pick(
            0, (summary, "payment_reversal_fee_cents"), (defaults, "default_payment_reversal_fee_cents")
        )

    def read_dates(self, cycles, fees, own_cycles):
        self.zone = Zone(pick("America/New_York", (cycles, "product_time_zone")))
        self.cycle = parse_cycle(pick("1 month", (cycles, "cycle_interval")))
        self.semi_days = pick([1, 15], (cycles, "semi_monthly_days"))
        self.business_days = BusinessDays(cycles.get("business_days"))
        semi = self.cycle == SEMI_MONTH
        first = pick("0 days", (own_cycles, "first_cycle_interval"), (cycles, "first_cycle_interval"))
        self.calendar = Calendar(
            zone=self.zone,
            start=self.zone.date_of(self.effective_at),
            cycle=self.cycle,
            first_cycle=parse_interval("0 days" if semi else first),
            due_after=parse_interval("0 days" if semi else pick("0 days", (cycles, "cycle_due_interval"))),
            month_end=self.month_end,
            close=parse_time(pick("23:59:59", (cycles, "close_of_business_time"))),
            grace=parse_interval(pick("0 days", (own_cycles, "late_fee_grace"), (fees, "late_fee_grace"))),
            grace_counts_due=pick(False, (fees, "late_fee_grace_counts_due_date")),
        )
        for tier in self.tiers:
            tier.after = self.calendar.grace if tier.after is None else tier.after

    def check(self):
        if self.count < 1 or not 0 <= self.interest_only < self.count:
            raise ValueError("the number of instalments")
        if not self.principal or not 1 <= self.principal <= LARGEST:
            raise ValueError("the principal")
        named = [self.payment_amount, self.balloon, self.amortization_cycles, self.schedule]
        if sum(one is not None for one in named) > 1:
            raise ValueError("two of payment amount, balloon, amortization cycles, schedule")
        if any(one is not None for one in named) and not self.level:
            raise ValueError("these need LEVEL")
        if self.balloon is not None and self.balloon > self.principal:
            raise ValueError("the balloon")
        if self.amortization_cycles is not None and self.amortization_cycles <= self.count:
            raise ValueError("the amortization cycles")
        if self.first_due_date and (self.schedule or self.calendar.first_cycle):
            raise ValueError("the first due date goes with neither schedule nor first cycle")
        if self.opening and self.kept:
            raise ValueError("the opening")

    # --- Rounding, and fractions of a year ---

    def cents(self, amount):
        return rounded(amount, self.mode)

    def interest_cents(self, amount):
        return rounded(amount, self.interest_mode)

    def to_unit(self, amount):
        return self.cents(Fraction(amount) / self.unit) * self.unit

    @property
    def agreed_periods(self):
        """Whether a period earns by its agreed length, which its days divide."""
        return self.day_count == "THIRTY_360"

    def real_days(self, start, end):
        """The fraction for the days from start to end (excluded), by the other day counts."""
        days = max(0, (end - start).days)
        if self.day_count == "ACTUAL_ACTUAL":
            return by_own_years(start, end)
        return Fraction(days, 365 if self.day_count == "ACTUAL_365" else 360)
