"""Due dates: series of regular dates, given dates, business days, and the counted length of a period."""

from datetime import date, timedelta
from fractions import Fraction

from dates import add_interval, times

SEMI_MONTH = "semi-month"
DAYS = ["MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"]


def counted(start, end):
    """Whole months (CLAMP) that fit from the start, then days, as a fraction of a year."""
    months = 0
    while add_interval(start, (months + 1, 0), "CLAMP") <= end:
        months += 1
    return Fraction(months, 12) + Fraction((end - add_interval(start, (months, 0), "CLAMP")).days, 360)


def years(interval):
    """The agreed length of a cycle."""
    if interval == SEMI_MONTH:
        return Fraction(1, 24)
    return max(Fraction(0), Fraction(interval[0], 12) + Fraction(interval[1], 360))


def semi_monthly(days, first, count):
    """The date that comes `count` dates after `first`, which is one of them. `first` may also be any date: then the
    first that comes after it is number 1."""
    found, year, month = [], first.year, first.month
    while len(found) <= count + 1:
        for day in sorted(days):
            last = add_interval(date(year, month, 1), (1, 0), "CLAMP") - timedelta(days=1)
            found.append(last.replace(day=min(day, last.day)))
        year, month = year + month // 12, month % 12 + 1
        found = [day for day in found if day >= first]
    found = [day for day in found if day != first]
    return first if count == 0 else found[count - 1]


class Series:
    """Nominal due dates by index."""

    def __init__(self, calendar, cycle, nth, given=False):
        self.calendar, self.cycle, self.nth, self.given = calendar, cycle, nth, given

    @property
    def years(self):
        return years(self.cycle)

    def after(self, day, count, semi_days):
        """The date `count` cycles after a date of the series."""
        if self.cycle == SEMI_MONTH:
            return self.calendar.zone.existing(semi_monthly(semi_days, day, count))
        return self.calendar.plus(day, times(self.cycle, count))


def original(calendar):
    return Series(calendar, calendar.cycle, calendar.due_date)


def anchored(calendar, cycle, first, index, semi_days):
    """Dates that count from a date, which has this index."""
    series = Series(calendar, cycle, None)
    series.nth = lambda i: series.after(first, i - index, semi_days)
    return series


def given(calendar, cycle, dates, semi_days):
    """Given dates; after the last, regular ones."""
    series = Series(calendar, cycle, None, given=True)
    last = len(dates)
    series.nth = lambda i: dates[i - 1] if i <= last else series.after(dates[-1], i - last, semi_days)
    return series


class BusinessDays:
    def __init__(self, wanted):
        wanted = wanted or {}
        self.adjust = wanted.get("adjust") or "NONE"
        weekend = wanted.get("weekend")
        self.weekend = {DAYS.index(day) for day in (["SATURDAY", "SUNDAY"] if weekend is None else weekend)}
        self.holidays = {date.fromisoformat(day) for day in wanted.get("holidays") or []}

    def open(self, day):
        return day.weekday() not in self.weekend and day not in self.holidays

    def walk(self, day, step):
        while not self.open(day):
            day += timedelta(days=step)
        return day

    def moved(self, day, before):
        """A due date that comes after the one before."""
        if self.adjust == "NONE":
            return day
        back = self.walk(day, -1)
        on = self.walk(day, 1)
        if self.adjust == "PRECEDING" or (self.adjust == "MODIFIED_FOLLOWING" and on.month != day.month):
            on = back
        return on if before is None or on > before else self.walk(before + timedelta(days=1), 1)
