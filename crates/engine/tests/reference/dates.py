"""Intervals, local times, and the dates of one account."""

import re
from datetime import date, datetime, time, timedelta, timezone
from zoneinfo import ZoneInfo

UTC = timezone.utc
INTERVAL = re.compile(r"\s*([+-]?)\s*(\d+)\s*(days?|weeks?|months?|years?)\s*")
TIME = re.compile(r"(\d\d):(\d\d)(?::(\d\d))?")
MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)")


def parse_interval(text):
    """`1 month - 10 days` as (months, days)."""
    months = days = at = 0
    while at < len(text) or at == 0:
        part = INTERVAL.match(text, at)
        if not part:
            raise ValueError(f"{text} is no interval")
        count = int(part.group(1) + part.group(2))
        unit = part.group(3)[0]
        months += {"m": 1, "y": 12}.get(unit, 0) * count
        days += {"d": 1, "w": 7}.get(unit, 0) * count
        at = part.end()
    return months, days


def times(interval, count):
    return interval[0] * count, interval[1] * count


def add_interval(day, interval, month_end):
    """Months first; a day the month does not have is its last (CLAMP) or the first of the next (ROLL)."""
    months, days = interval
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    last = date(year + (month == 11), (month + 1) % 12 + 1, 1) - timedelta(days=1)
    if day.day <= last.day:
        moved = last.replace(day=day.day)
    else:
        moved = last + timedelta(days=1) if month_end == "ROLL" else last
    return moved + timedelta(days=days)


def day_of(text):
    return date.fromisoformat(text)


def parse_time(text):
    found = TIME.fullmatch(text)
    if not found:
        raise ValueError(f"{text} is no time of day")
    return time(*(int(part or 0) for part in found.groups()))


def parse_moment(text):
    found = MOMENT.fullmatch(text)
    if not found:
        raise ValueError(f"{text} is no moment")
    day, clock, fraction, offset = found.groups()
    micros = ((fraction or ".")[1:] + "000000")[:6]
    offset = "+00:00" if offset == "Z" else offset
    return datetime.fromisoformat(f"{day}T{clock}.{micros}{offset}").astimezone(UTC)


def show_moment(moment):
    moment = moment.astimezone(UTC)
    text = moment.strftime("%Y-%m-%dT%H:%M:%S")
    if moment.microsecond:
        text += f".{moment.microsecond:06}".rstrip("0")
    return text + "Z"


class Zone:
    def __init__(self, name):
        self.zone = ZoneInfo(name)

    def at(self, day, clock):
        """A local time that does not exist moves forward by the gap; one that exists twice is the first."""
        return datetime.combine(day, clock, tzinfo=self.zone).replace(fold=0).astimezone(UTC)

    def local(self, moment):
        return moment.astimezone(self.zone)

    def date_of(self, moment):
        return self.local(moment).date()

    def existing(self, day):
        """A date that the zone skipped is replaced by the next."""
        while self.date_of(self.at(day, time(12))) != day:
            day += timedelta(days=1)
        return day


class Calendar:
    """Cycles, due dates and fee dates of one account. Instalments count from 1."""

    def __init__(self, zone, start, cycle, first_cycle, due_after, month_end, close, grace, grace_counts_due):
        self.zone, self.start, self.cycle, self.due_after = zone, start, cycle, due_after
        self.month_end, self.close = month_end, close
        self.first_cycle = None if first_cycle == (0, 0) else first_cycle
        self.grace = (grace[0], grace[1] - 1) if grace_counts_due and grace != (0, 0) else grace
        self.known = {0: start}

    def plus(self, day, interval):
        return self.zone.existing(add_interval(day, interval, self.month_end))

    def cycle_end(self, k):
        """Counted from the anchor, so that the 31st returns after February."""
        if self.first_cycle is None:
            return self.plus(self.start, times(self.cycle, k))
        return self.plus(self.plus(self.start, self.first_cycle), times(self.cycle, k - 1))

    def due_date(self, k):
        """For instalment 0, the account's start date."""
        if k not in self.known:
            self.known[k] = self.plus(self.cycle_end(k), self.due_after)
        return self.known[k]

    def close_of(self, day):
        return self.zone.at(day, self.close)

    def first_length(self):
        """The agreed length of the first period in months and days."""
        months, days = self.first_cycle or self.cycle
        return months + self.due_after[0], days + self.due_after[1]
