"""What all of the comparison uses."""

from collections import Counter
from fractions import Fraction
from math import floor

# How often each calculator was asked, so that a comparison that quietly compares nothing shows.
asked = Counter()


def rounded(amount, mode, unit=1):
    """An exact amount that is not negative, to the nearest multiple of `unit` cents."""
    units = Fraction(amount) / unit
    return unit * (round(units) if mode == "HALF_EVEN" else floor(units + Fraction(1, 2)))


def rounded_if_sure(amount, noise, mode):
    """The same for an amount known up to some noise; nothing where the noise would decide about half a cent."""
    amount = Fraction(amount)
    return None if abs(amount % 1 - Fraction(1, 2)) <= noise else rounded(amount, mode)
