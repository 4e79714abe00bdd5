"""Dates: intervals, series of due dates, business days, and lengths counted in months and days."""

import re
from datetime import date, datetime, timedelta, timezone
from fractions import Fraction

UTC = timezone.utc
ONE_DAY = timedelta(days=1)


def moment(text):
    return datetime.fromisoformat(text).astimezone(UTC)


def day_of(value):
    """A date from a file: TOML's own, or a text."""
    return value if isinstance(value, date) else date.fromisoformat(value)


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
        day = next_first if month_end == "ROLL" else next_first - ONE_DAY
    return day + timedelta(days=days)


def year_of(months, days):
    return Fraction(months, 12) + Fraction(days, 360)


def counted(start, end):
    """The share of a year from one date to another: as many whole months as fit, then days."""
    months = 0
    while plus(start, months + 1, 0) <= end:
        months += 1
    return year_of(months, (end - plus(start, months, 0)).days)


class Regular:
    """Every so many months and days from an anchor."""

    def __init__(self, anchor, cycle, due_interval=(0, 0), month_end="CLAMP"):
        self.anchor, self.cycle, self.due_interval, self.month_end = anchor, cycle, due_interval, month_end
        self.length = year_of(*cycle)

    def date(self, n):
        end = plus(self.anchor, self.cycle[0] * n, self.cycle[1] * n, self.month_end)
        return plus(end, *self.due_interval, self.month_end)


class SemiMonthly:
    """Two days of each month in turn; number 0 is the first of them on or after a date."""

    length = Fraction(1, 24)

    def __init__(self, days, first):
        self.days, self.place = sorted(days), 0
        self.place = (first.year * 12 + first.month - 1) * 2
        while self.date(0) < first:
            self.place += 1

    def date(self, n):
        month, which = divmod(self.place + n, 2)
        first = date(month // 12, month % 12 + 1, 1)
        return plus(first, 0, 0).replace(day=min(self.days[which], (plus(first, 1, 0) - first).days))


class Given:
    """Dates that a contract lists; after them it goes on by the cycle."""

    length = None

    def __init__(self, dates, cycle):
        self.dates, self.cycle = dates, cycle

    def date(self, n):
        if n < len(self.dates):
            return self.dates[n]
        more = n - len(self.dates) + 1
        return plus(self.dates[-1], self.cycle[0] * more, self.cycle[1] * more)


class BusinessDays:
    def __init__(self, policy):
        names = ["MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"]
        self.adjust = policy.get("adjust", "NONE")
        self.weekend = {names.index(name) for name in policy.get("weekend", ["SATURDAY", "SUNDAY"])}
        self.holidays = {day_of(one) for one in policy.get("holidays", [])}

    def is_open(self, day):
        return day.weekday() not in self.weekend and day not in self.holidays

    def go(self, day, step):
        while not self.is_open(day):
            day += step
        return day

    def moved(self, day, after):
        """A due date moved to a business day that comes after the row before it."""
        if self.adjust == "NONE":
            return day
        to = self.go(day, -ONE_DAY if self.adjust == "PRECEDING" else ONE_DAY)
        if self.adjust == "MODIFIED_FOLLOWING" and to.month != day.month:
            to = self.go(day, -ONE_DAY)
        return to if to > after else self.go(after + ONE_DAY, ONE_DAY)
