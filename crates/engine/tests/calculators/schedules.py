"""Computes loan schedules a second time, and reports where the engine differs.

Reads JSON lines: a loan's terms and the engine's results. None of the engine's arithmetic is used here:

    due dates           QuantLib's calendar
    fractions of a year QuantLib's day counters; THIRTY_360, where the agreed length counts, by the rule itself
    level payments      exact fractions, and numpy-financial where all periods earn the same
    interest            exact fractions, QuantLib's coupons, and numpy-financial for the first row
    the rate as a whole pyxirr: the borrower's payments must yield the agreed rate

Prints a line for each difference, a line with the number of checks by each calculator, and a summary as the last line.
Exits with 1 if anything differs.
"""

import json
import sys
from fractions import Fraction

from opinions import by_numpy_financial, by_pyxirr, by_quantlib
from periods import periods, share_of_year
from tools import asked, rounded


def annuity(rates):
    """The present value, at the beginning of the first period, of one cent paid at the end of each period."""
    worth, of = 0, 1
    for rate in reversed(rates):
        worth, of = (worth + of) * rate.denominator, of * (rate.numerator + rate.denominator)
    return Fraction(worth, of)


def plan(terms, rates, share):
    """The level amount (for LEVEL the instalment, else its principal) and the interest of a FLAT row."""
    principal, count, mode = terms["principal_cents"], terms["count"], terms["rounding"]
    unit, level_rows = terms["instalment_rounding_cents"], count - terms["interest_only"]
    if terms["method"] == "LEVEL":
        level = rounded(principal / annuity(rates[terms["interest_only"]:]), mode, unit)
        return (smoothed(terms, rates, level) if terms["smooth_last"] else level), 0
    if terms["method"] == "EQUAL_PRINCIPAL":
        return rounded(Fraction(principal, level_rows), mode, unit), 0
    interest = rounded(principal * Fraction(terms["rate_percent"]) / 100 * share / count, mode)
    if unit == 1:
        return rounded(Fraction(principal, level_rows), mode), interest
    # Both parts of a FLAT row are fixed, so their sum is rounded to a multiple.
    return max(0, rounded(Fraction(principal, level_rows) + interest, mode, unit) - interest), interest


def smoothed(terms, rates, level):
    """The level payment, adjusted once towards the last row if that brings the two closer."""

    def off(payment):
        interest, principal, _, _ = rows(terms, rates, payment, 0)[-1]
        return interest + principal - payment

    difference = off(level)
    step = rounded(Fraction(abs(difference), terms["count"] - terms["interest_only"]), terms["rounding"])
    moved = level + (step if difference > 0 else -step)
    return moved if abs(off(moved)) < abs(difference) else level


def rows(terms, rates, level, flat_interest):
    """Interest, principal, principal before and after, of each instalment, if each is paid in full on its due date."""
    left, waiting, made = terms["principal_cents"], 0, []
    for row, rate in enumerate(rates, 1):
        interest = rounded(left * rate, terms["rounding"])
        if terms["method"] == "FLAT":
            # A loan repaid before its last row is closed, and earns no more interest.
            interest = flat_interest if left > 0 else 0
        interest += waiting
        if row == terms["count"]:
            principal = left
        elif row <= terms["interest_only"]:
            principal = 0
        elif terms["method"] == "LEVEL":
            # An instalment takes at most its own amount of interest; the next one takes the rest.
            waiting = max(0, interest - level)
            interest -= waiting
            principal = min(left, level - interest)
        else:
            principal = min(left, level)
        made.append((interest, principal, left, left - principal))
        left -= principal
    return made


def differences(terms, engine):
    """The differences: a description, the value computed here, and the engine's."""
    made = periods(terms)
    shares = [share_of_year(terms["day_count"], *period) for period in made]
    rates = [Fraction(terms["rate_percent"]) / 100 * share for share in shares]
    level, flat_interest = plan(terms, rates, sum(shares))
    found = [
        ("level", level, engine["level_cents"]),
        ("flat interest", flat_interest, engine["flat_interest_cents"]),
        ("number of rows", terms["count"], len(engine["rows"])),
    ]
    expected = rows(terms, rates, level, flat_interest)
    for number, ((_, due, _), row, theirs) in enumerate(zip(made, expected, engine["rows"]), 1):
        interest, principal, start, end = row
        ours = {
            "due_date": due.ISO(),
            "interest_cents": interest,
            "principal_cents": principal,
            "total_cents": interest + principal,
            "start_cents": start,
            "end_cents": end,
        }
        found += [(f"row {number} {field}", value, theirs[field]) for field, value in ours.items()]
    if len(engine["rows"]) == terms["count"]:
        found += by_quantlib(terms, made, engine)
        found += by_numpy_financial(terms, rates, engine)
        found += by_pyxirr(terms, rates, made, engine)
    return [(what, ours, theirs) for what, ours, theirs in found if ours != theirs]


def main():
    schedules = row_count = difference_count = 0
    for line in sys.stdin:
        case = json.loads(line)
        terms, engine = case["terms"], case["engine"]
        different = differences(terms, engine)
        for what, ours, theirs in different:
            print(f"case {case['case']}: {what} is {ours}, the engine says {theirs}")
        if different:
            print(f"  its terms: {json.dumps(terms)}")
        schedules += 1
        row_count += len(engine["rows"])
        difference_count += len(different)
    print("asked: " + ", ".join(f"{count} {what}" for what, count in sorted(asked.items())))
    print(f"compared {schedules} schedules, {row_count} rows: {difference_count} differences")
    return 1 if difference_count else 0


if __name__ == "__main__":
    sys.exit(main())
