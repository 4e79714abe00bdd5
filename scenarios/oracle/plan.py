"""The plan: a list of rows, and what each of them asks."""

from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction

from terms import rounded


UNKNOWN = 10**15  # the total of a level row that is still to be computed


@dataclass(eq=False)
class Row:
    """A row: its due date is number `n` of a series. A row of the tail (after the last one) asks nothing."""

    series: object = None
    n: int = 0
    length: Fraction = None  # of its period, in years; None: counted in months and days
    ask: str = "REST"  # TOTAL, PRINCIPAL, KEPT or REST
    amount: int = 0
    kept: int = None  # interest that is fixed
    is_reduced: bool = False  # what REDUCE caps forgive has been taken off its total
    start: date = None
    due: date = None
    own_start: date = None  # where its period begins, if not at the due date before
    number: int = 0
    is_tail: bool = False
    has_period: bool = True

    charged: int = 0  # interest that is its own
    charged_on_top: int = 0  # and what it asks on top of that
    principal_paid: int = 0
    extra: int = 0  # principal paid into it beyond what it asks
    on_top: int = 0  # principal that it asks on top of its own
    on_top_paid: int = 0
    on_top_cut: int = 0  # of that, what was paid from the end of the loan
    free: int = 0  # of that, what earns no interest
    deferred: int = 0  # what it asks that was another row's
    shortfall: int = 0
    made_ahead: int = 0  # kept interest that was paid before its period
    principal: int = 0  # what it asks, once it is posted
    deferrals: list = field(default_factory=list)  # what leaves it when it is posted

    fell_due: bool = False
    on_time: bool = False
    retired: bool = False
    tiers_judged: int = 0  # fee moments that have passed
    judged: bool = False  # the first of them has
    late: bool = False
    spared: bool = False
    stopped: bool = False  # a status stopped its fee or its counting
    from_opening: bool = False  # a row that was past due when the account was boarded
    is_judged_before_opening: bool = False
    gone_to: object = None  # the row that took over what was paid into it
    turn: int = 0  # grows with each input that rewrites what it asks

    @property
    def is_level(self):
        return self.ask == "TOTAL"

    @property
    def is_interest_only(self):
        return self.ask == "PRINCIPAL" and self.amount == 0


def settled(row):
    """The row itself, or the one that took over from it."""
    while isinstance(row, Row) and row.gone_to is not None:
        row = row.gone_to
    return row


def link(terms, rows, origin):
    """Dates of the rows that are not posted: each period begins where the one before ends."""
    before = origin
    for number, row in enumerate(rows, start=1):
        row.number = number
        if not row.fell_due and row.has_period:
            row.start = row.own_start or before
            row.due = terms.business_days.moved(terms.real(row.series.date(row.n)), before)
        before = row.due if row.has_period else before
    return rows


def rate_of(terms, rates, row):
    """A period's own rate: the rates of its dates, mixed."""
    pieces = rates.pieces(row.start, row.due)
    return sum((rate * terms.share_of_days(row, a, b) for a, b, rate in pieces), Fraction(0))


def level(base, factors, asked, balloon=0):
    """The annuity: `factors` are 1 + r of each period, `asked` says which of the rows pay."""
    growth, annuity = Fraction(1), Fraction(0)
    for factor, pays in zip(factors, asked):
        growth, annuity = growth * factor, annuity * factor + pays
    return (base * growth - balloon) / annuity


def missing_factors(terms, rates, rows, count):
    """Factors of rows that `amortization_cycles` counts and the plan has not: regular, at the last row's rate."""
    last, factors = rows[-1], []
    share = terms.share(last)
    rate = rate_of(terms, rates, last) / share if share else rates.on(last.due)
    start = last.due
    for n in range(1, count - len(rows) + 1):
        due = last.series.date(last.n + n)
        more = Row(last.series, last.n + n, last.series.length, start=start, due=due)
        factors.append(1 + rate * terms.share(more))
        start = due
    return factors


def new_rows(terms):
    """The rows of a contract, without what they ask."""
    series, first = terms.series()
    count = len(terms.schedule) if terms.schedule else terms.count
    rows = [Row(series, first + number, series.length) for number in range(count)]
    rows[0].length = terms.first_length()
    return link(terms, rows, terms.opened_on)


def contract(terms, rates):
    """The plan as the contract has it."""
    rows = new_rows(terms)
    if terms.schedule:
        ask_as_listed(terms, rows)
    elif terms.is_kept:
        ask_kept(terms, rates, rows)
    elif terms.method == "EQUAL_PRINCIPAL":
        ask_equal_principal(terms, rows)
    else:
        ask_level(terms, rates, rows)
    return rows


def ask_as_listed(terms, rows):
    for row, listed in zip(rows[:-1], terms.schedule):
        row.ask = "TOTAL" if "amount_cents" in listed else "PRINCIPAL"
        row.amount = listed.get("amount_cents", listed.get("principal_cents"))


def ask_equal_principal(terms, rows):
    cents = rounded(Fraction(terms.principal, len(rows) - terms.interest_only), terms.rounding, terms.unit)
    for number, row in enumerate(rows[:-1]):
        row.ask, row.amount = "PRINCIPAL", cents if number >= terms.interest_only else 0


def ask_level(terms, rates, rows):
    cents = level_payment(terms, rates, rows)
    for number, row in enumerate(rows[:-1]):
        is_level = number >= terms.interest_only
        row.ask, row.amount = ("TOTAL", cents) if is_level else ("PRINCIPAL", 0)


def level_payment(terms, rates, rows):
    """The level payment that the contract names, or the annuity, rounded."""
    if terms.payment_amount is not None:
        return terms.payment_amount
    paying = rows[terms.interest_only:]
    factors = [1 + rate_of(terms, rates, row) for row in paying]
    if terms.amortization_cycles:
        factors += missing_factors(terms, rates, paying, terms.amortization_cycles - terms.interest_only)
    exact = level(terms.principal, factors, [1] * len(factors), terms.balloon)
    cents = rounded(exact, terms.rounding, terms.unit)
    return smoothed(terms, factors, cents) if terms.smooth else cents


def smoothed(terms, factors, payment):
    """Moved once by the last row's difference, spread over the rows, if that brings the last row closer."""
    def difference(payment):
        left = terms.principal
        for number, factor in enumerate(factors, start=1):
            interest = rounded(left * (factor - 1), terms.interest_rounding)
            if number < len(factors):
                left -= payment - interest
        return left + interest - payment

    gap = difference(payment)
    moved = payment + rounded(Fraction(gap, len(factors)), terms.rounding)
    return moved if abs(difference(moved)) < abs(gap) else payment


# Interest that is fixed at opening


def ask_kept(terms, rates, rows):
    if terms.method == "PRECOMPUTED" and terms.split == "ACTUARIAL":
        ask_actuarial(terms, rates, rows)
    elif terms.method == "PRECOMPUTED" and terms.split == "SUM_OF_DIGITS":
        ask_sum_of_digits(terms, rows)
    else:
        ask_flat(terms, rows)


def keep(row, rest, principal, interest):
    """A row keeps its principal and interest; the last one takes the rest of the principal."""
    row.ask, row.amount, row.kept = ("REST" if rest else "KEPT"), principal, interest


def finance_charge(terms, rows):
    return terms.principal * terms.rate * sum(terms.share(row) for row in rows)


def ask_flat(terms, rows):
    interest = rounded(finance_charge(terms, rows) / len(rows), terms.interest_rounding)
    principal = Fraction(terms.principal, len(rows) - terms.interest_only)
    cents = rounded(principal, terms.rounding)
    if terms.unit > 1:
        cents = rounded(principal + interest, terms.rounding, terms.unit) - interest
    for number, row in enumerate(rows):
        keep(row, row is rows[-1], cents if number >= terms.interest_only else 0, interest)


def ask_actuarial(terms, rates, rows):
    """Interest of the level table, rounded row by row."""
    ask_level(terms, rates, rows)
    left = terms.principal
    for row in rows:
        interest = rounded(left * rate_of(terms, rates, row), terms.interest_rounding)
        principal = min(left, row.amount - interest if row.is_level else 0)
        keep(row, row is rows[-1], principal, interest)
        left -= principal


def ask_sum_of_digits(terms, rows):
    """The rule of 78: the k-th of n rows has n - k + 1 parts of the finance charge; the totals are equal."""
    n, before = len(rows), 0
    charge = rounded(finance_charge(terms, rows), terms.interest_rounding)
    total = rounded(Fraction(terms.principal + charge, n), terms.rounding, terms.unit)
    for k, row in enumerate(rows, start=1):
        parts = Fraction(n * (n + 1) - (n - k) * (n - k + 1), n * (n + 1))
        so_far = rounded(charge * parts, terms.interest_rounding)
        keep(row, row is rows[-1], total - (so_far - before), so_far - before)
        before = so_far


