"""Shared functions of the comparison."""

from collections import Counter
from fractions import Fraction
from math import floor

# How often each calculator was used, to detect a comparison that compares nothing.
asked = Counter()


def rounded(amount, mode, unit=1):
    """An exact amount, not negative, rounded to the nearest multiple of `unit` cents."""
    units = Fraction(amount) / unit
    return unit * (round(units) if mode == "HALF_EVEN" else floor(units + Fraction(1, 2)))


def rounded_if_sure(amount, noise, mode):
    """The same for an amount with some noise; `None` if the noise would decide how half a cent is rounded."""
    amount = Fraction(amount)
    return None if abs(amount % 1 - Fraction(1, 2)) <= noise else rounded(amount, mode)
