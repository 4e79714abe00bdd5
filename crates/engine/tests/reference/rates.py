"""Yearly rates by date: plain rates, caps, and statuses that stop interest."""

import copy
from fractions import Fraction


class Window:
    def __init__(self, start, end, rate, by=None, tag=None, reduces=False, named_start=None):
        """`end` is excluded; without it the window is open. `named_start` ranks a rate that was posted late."""
        self.start, self.end, self.rate, self.by, self.tag, self.reduces = start, end, rate, by, tag, reduces
        self.named_start = named_start or start

    def ended(self, day):
        """The same, but not from this date on."""
        other = copy.copy(self)
        other.end = max(self.start, day if self.end is None else min(self.end, day))
        return other

    def covers(self, day):
        return self.start <= day and (self.end is None or day < self.end)


class Rates:
    def __init__(self, rate):
        self.rate = rate  # of the terms
        self.plain, self.caps = [], []
        self.stops = []  # by statuses

    def copy(self):
        other = Rates(self.rate)
        other.plain, other.caps, other.stops = list(self.plain), list(self.caps), list(self.stops)
        return other

    def on(self, day, unreduced=False):
        """The rate of a date. `unreduced`: without the caps that lower the instalments by what they forgive."""
        plain = self.rate
        latest = None
        for window in self.plain:
            if window.covers(day) and (latest is None or window.named_start >= latest):
                latest, plain = window.named_start, window.rate
        caps = [cap.rate for cap in self.caps if cap.covers(day) and not (unreduced and cap.reduces)]
        stops = [Fraction(0) for stop in self.stops if stop.covers(day)]
        return min([plain, *caps, *stops])

    def has(self, window):
        return window in self.plain or window in self.caps

    def differs_from(self, other, start):
        """Whether any date from a date on has another rate."""
        windows = self.plain + self.caps + self.stops + other.plain + other.caps + other.stops
        days = {day for window in windows for day in (window.start, window.end) if day and day > start}
        return any(self.on(day) != other.on(day) for day in [start, *days])

    def reduces(self, start, end):
        """Whether a cap that lowers instalments covers one of these dates."""
        caps = [cap for cap in self.caps if cap.reduces]
        return any(max(cap.start, start) < min(cap.end or end, end) for cap in caps)

    def pieces(self, start, end):
        """The dates from start to end (excluded), cut where the rate may change."""
        windows = self.plain + self.caps + self.stops
        cuts = {day for window in windows for day in (window.start, window.end) if day and start < day < end}
        days = [start, *sorted(cuts), end]
        return [(first, last) for first, last in zip(days, days[1:]) if first < last]

    def scra(self, day):
        return any(cap.tag == "scra" and cap.covers(day) for cap in self.caps)
