"""The results of the calculators for a loan, each where it has a formula.

Each function yields triples: a description, the calculator's number, and the engine's.
"""

from datetime import date
from decimal import Decimal, getcontext
from fractions import Fraction

import numpy
import numpy_financial
import pyxirr
import QuantLib as ql

from periods import DAY_COUNTERS
from tools import asked, rounded_if_sure

# numpy-financial computes with Decimals if it gets Decimals. Floats are too imprecise: at tiny rates its formula
# subtracts two numbers that are almost the same, and is wrong by thousands of cents.
getcontext().prec = 80
DECIMAL_NOISE = Fraction(1, 10**30)

# QuantLib computes interest as a growth of 1.00..., less 1: as precise as a float, for each cent of the principal.
COUPON_NOISE = Fraction(1, 10**15)

# Each row's interest is rounded by at most half a cent, on a principal that is on average at least half of the first:
# the yield of a whole schedule is within 1 / principal of the rate.
YIELD_PRINCIPAL = 1_000_000
YIELD_NOISE = 1e-6


def by_quantlib(terms, made, engine):
    """Each row's interest as that of a coupon, for day counts by actual days."""
    if terms["day_count"] == "THIRTY_360" or terms["method"] == "FLAT":
        return
    rate, counter = float(terms["rate_percent"]) / 100, DAY_COUNTERS[terms["day_count"]]
    for number, ((begin, end, _), row) in enumerate(zip(made, engine["rows"]), 1):
        if terms["method"] == "LEVEL" and row["total_cents"] == engine["level_cents"] == row["interest_cents"]:
            return  # The interest exceeds the instalment: the rest of it is in the following rows.
        coupon = ql.FixedRateCoupon(end, float(row["start_cents"]), rate, counter, begin, end)
        noise = COUPON_NOISE * (row["start_cents"] + 1)
        interest = rounded_if_sure(max(0.0, coupon.amount()), noise, terms["rounding"])
        if interest is not None:
            asked["coupons"] += 1
            yield f"row {number} interest by QuantLib", interest, row["interest_cents"]


def by_numpy_financial(terms, rates, engine):
    """Level payment and first interest, where all periods that repay the loan earn the same, or all but the first."""
    first, *later = rates[terms["interest_only"]:]
    if terms["method"] != "LEVEL" or len(set(later)) > 1:
        return
    rate, unit, mode = later[0] if later else first, terms["instalment_rounding_cents"], terms["rounding"]
    count, principal = len(later) + 1, decimal(-terms["principal_cents"])
    if not terms["smooth_last"]:
        if rate == first:
            payment = numpy_financial.pmt(decimal(rate), count, principal / unit)
        else:
            # As of the first due date, the loan has grown by one period, and the first payment is immediate.
            grown = principal * decimal(1 + first)
            payment = numpy_financial.pmt(decimal(rate), count, grown / unit, when="begin")
        payment = rounded_if_sure(alone(payment), DECIMAL_NOISE, mode)
        if payment is not None:
            asked["level payments"] += 1
            yield "level payment by numpy-financial", payment * unit, engine["level_cents"]
    if first == 0:
        return  # Here ipmt divides by the rate.
    interest = rounded_if_sure(alone(numpy_financial.ipmt(decimal(first), 1, count, principal)), DECIMAL_NOISE, mode)
    # If the interest exceeds the instalment, the next one takes the rest.
    if interest is not None and (interest <= engine["level_cents"] or count == 1):
        asked["first interests"] += 1
        yield "first interest by numpy-financial", interest, engine["rows"][terms["interest_only"]]["interest_cents"]


def decimal(number):
    """A fraction as a Decimal, to the full precision."""
    number = Fraction(number)
    return Decimal(number.numerator) / Decimal(number.denominator)


def alone(number):
    """numpy-financial returns some results as arrays with one element."""
    return numpy.asarray(number).item()


def by_pyxirr(terms, rates, made, engine):
    """The yield of the engine's payments, if all periods earn the same and interest is on unpaid principal."""
    principal, rate = terms["principal_cents"], rates[0]
    waits = terms["method"] == "LEVEL" and engine["level_cents"] < principal * rate
    if principal < YIELD_PRINCIPAL or terms["method"] == "FLAT" or len(set(rates)) > 1 or waits:
        return
    # Scaled to one size, since pyxirr stops when a fixed small amount is left over.
    payments = [-YIELD_PRINCIPAL] + [YIELD_PRINCIPAL * row["total_cents"] / principal for row in engine["rows"]]
    yields = {"yield by pyxirr.irr": pyxirr.irr(payments)}
    days = {end - begin for begin, end, _ in made}
    if len(days) == 1:
        dates = [date.fromisoformat(day) for day in [terms["start"]] + [row["due_date"] for row in engine["rows"]]]
        by_year = pyxirr.xirr(dates, payments)
        yields["yield by pyxirr.xirr"] = None if by_year is None else (1 + by_year) ** (days.pop() / 365) - 1
    for name, found in yields.items():
        asked["yields"] += 1
        if found is None or abs(found - float(rate)) > YIELD_NOISE:
            yield name, found, float(rate)
