"""Rates with dates: plain rates, and caps (a pause is a cap of 0)."""

from dataclasses import dataclass
from datetime import date
from fractions import Fraction


@dataclass(eq=False)
class Rate:
    rate: Fraction  # of a year: 0.12
    start: date  # from this date on
    end: date  # before this date; None: for good
    named: object  # the start it was given, by which plain rates rank
    is_cap: bool = False
    reduces: bool = False  # what the cap forgives comes off the instalment
    tag: str = None

    def covers(self, day):
        return self.start <= day and (self.end is None or day < self.end)


class Rates:
    def __init__(self, base):
        self.base, self.all = base, []

    def on(self, day, but=None):
        """The rate of a date, without the caps for which `but` holds."""
        live = [one for one in self.all if one.covers(day) and not (but and but(one))]
        plain, best = self.base, None
        for one in live:
            if not one.is_cap and (best is None or one.named >= best):
                plain, best = one.rate, one.named
        return min([plain] + [one.rate for one in live if one.is_cap])

    def pieces(self, start, end, but=None):
        """Runs of dates with one rate: (from, to, rate)."""
        edges = {start, end}
        for one in self.all:
            edges |= {edge for edge in (one.start, one.end) if edge is not None and start < edge < end}
        edges = sorted(edges)
        return [(a, b, self.on(a, but)) for a, b in zip(edges, edges[1:])]
