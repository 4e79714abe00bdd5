"""The due dates of a loan's instalments, by QuantLib's calendar, and the fraction of a year of each period: exact, and
by QuantLib's day counters.
"""

import re
from fractions import Fraction

import QuantLib as ql

from tools import asked

CALENDAR = ql.NullCalendar()
DAY_COUNTERS = {
    "ACTUAL_365": ql.Actual365Fixed(),
    "ACTUAL_360": ql.Actual360(),
    "ACTUAL_ACTUAL": ql.ActualActual(ql.ActualActual.ISDA),
    "THIRTY_360": ql.Thirty360(ql.Thirty360.BondBasis),
}
FLOAT_NOISE = 1e-12  # How far a fraction of a year may be from QuantLib's, which is a float.


def interval(text):
    """Months and days of `1 month`, `14 days`, `1 month - 10 days`."""
    found = {"month": 0, "day": 0}
    for count, unit in re.findall(r"([+-]? ?\d+) (month|day)", text):
        found[unit] += int(count.replace(" ", ""))
    return found["month"], found["day"]


def plus(day, length, times, month_end):
    """A date plus `times` times a length, months before days. QuantLib moves a day that a month lacks to its last."""
    months, days = length
    there = CALENDAR.advance(day, ql.Period(months * times, ql.Months), ql.Unadjusted, False)
    if month_end == "ROLL" and there.dayOfMonth() < day.dayOfMonth():
        there = ql.Date.endOfMonth(there) + 1
    return there + days * times


def periods(terms):
    """Beginning, end and agreed length (months, days) of each instalment's period."""
    begin = anchor = ql.DateParser.parseISO(terms["start"])
    cycle, month_end = interval(terms["cycle"]), terms["month_end"]
    after = terms["due_after_days"]
    first = interval(terms["first_cycle"]) if terms["first_cycle"] else None
    if first:
        anchor = plus(begin, first, 1, month_end)
    made = []
    for row in range(1, terms["count"] + 1):
        due = plus(anchor, cycle, row - 1 if first else row, month_end) + after
        length = cycle
        if row == 1:
            months, days = first or cycle
            length = (months, days + after)
        made.append((begin, due, length))
        begin = due
    return made


def share_of_year(day_count, begin, end, length):
    """The exact fraction of a year of a period, after checking that QuantLib agrees."""
    if day_count == "ACTUAL_365":
        share = Fraction(end - begin, 365)
    elif day_count == "ACTUAL_360":
        share = Fraction(end - begin, 360)
    elif day_count == "ACTUAL_ACTUAL":
        share = each_day_by_its_year(begin, end)
    else:
        share = Fraction(length[0], 12) + Fraction(length[1], 360)
        if not as_in_thirty_day_months(begin, end, length):
            return share
    float_share = DAY_COUNTERS[day_count].yearFraction(begin, end)
    assert abs(float_share - float(share)) <= FLOAT_NOISE, f"{day_count} {begin} {end}: {float_share}, {share}"
    asked["shares of a year"] += 1
    return share


def each_day_by_its_year(begin, end):
    """Days of leap years as 1/366, others as 1/365."""
    share = Fraction(0)
    while begin < end:
        year = begin.year()
        until = min(end, ql.Date(1, ql.January, year + 1))
        share += Fraction(until - begin, 366 if ql.Date.isLeap(year) else 365)
        begin = until
    return share


def as_in_thirty_day_months(begin, end, length):
    """Whether no month end affects the dates, so that QuantLib must compute the agreed length too."""
    months = 12 * (end.year() - begin.year()) + end.month() - begin.month()
    days = end.dayOfMonth() - begin.dayOfMonth()
    return (months, days) == tuple(length) and max(begin.dayOfMonth(), end.dayOfMonth()) <= 28
