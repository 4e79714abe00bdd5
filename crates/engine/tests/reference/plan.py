"""The plan: making it from the terms, spreading principal over rows, dates of rows."""

from datetime import timedelta
from fractions import Fraction

from dates import add_interval, day_of
from series import SEMI_MONTH, anchored, counted, given, original, years

# --- Dates ---


def set_dates(state, first):
    """The dates of the rows from number `first` on follow from the series, which leaves out no row."""
    for k in range(first, state.count + 1):
        row = state.rows[k]
        if k > 1 and not row.begins_apart:
            row.start = state.rows[k - 1].due
        before = state.rows[k - 1].due if k > 1 else None
        row.due = state.terms.business_days.moved((row.series or state.series).nth(row.index), before)


def day_in_month(day, wanted):
    """This day of the month of a date, or the month's last."""
    last = add_interval(day.replace(day=1), (1, 0), "CLAMP") - timedelta(days=1)
    return last.replace(day=min(wanted, last.day))


def count_length(row):
    row.years, row.counted = counted(row.start, row.due), True


# --- A new loan ---


def make(state):
    terms, calendar = state.terms, state.terms.calendar
    state.rows = [None] + [state.new_row(k) for k in range(1, terms.count + 1)]
    state.rows.append(state.new_row())
    state.rows[-1].principal = 0
    state.series = first_series(terms)
    state.rows[1].start = calendar.start
    set_dates(state, 1)
    for k in range(1, terms.count + 1):
        state.rows[k].years = state.series.years
    if terms.cycle != SEMI_MONTH and not terms.first_due_date:
        state.rows[1].years = years(calendar.first_length())
    elif not terms.schedule:
        count_length(state.rows[1])
    if terms.schedule:
        for row in state.rows[1:-1]:
            count_length(row)
    check_dates(state)
    set_amounts(state)


def first_series(terms):
    calendar = terms.calendar
    if terms.schedule:
        return given(calendar, terms.cycle, [day_of(one["due_date"]) for one in terms.schedule], terms.semi_days)
    if terms.first_due_date:
        return anchored(calendar, terms.cycle, terms.first_due_date, 1, terms.semi_days)
    if terms.cycle == SEMI_MONTH:
        return anchored(calendar, terms.cycle, calendar.start, 0, terms.semi_days)
    return original(calendar)


def check_dates(state):
    for k in range(1, state.count + 1):
        row = state.rows[k]
        if row.due < row.start or (row.due == row.start and not (state.terms.schedule and k == 1)):
            raise ValueError(f"due date {k} does not come after the one before")


def set_amounts(state):
    terms, rows = state.terms, list(range(1, state.count + 1))
    if terms.schedule:
        for k, one in zip(rows[:-1], terms.schedule):
            state.rows[k].total, state.rows[k].fixed_principal = one.get("amount_cents"), one.get("principal_cents")
            state.rows[k].interest_only = one.get("principal_cents") == 0
        return
    set_kept_interest(state, rows)
    for k in rows[: terms.interest_only]:
        state.rows[k].interest_only, state.rows[k].fixed_principal = True, 0
    paying = rows[terms.interest_only :]
    asked = first_asked(state, paying)
    for k in paying[:-1]:
        if terms.level:
            state.rows[k].total = asked
        else:
            state.rows[k].fixed_principal = asked
    if terms.method == "PRECOMPUTED":
        precompute(state, rows, paying)


def first_asked(state, paying):
    terms = state.terms
    if terms.payment_amount:
        return terms.payment_amount
    asked = spread(state, state.principal, paying)
    plain = terms.level and not state.balloon and not state.amortization_cycles
    return smoothed(state, asked, paying) if plain and terms.smooth else asked


def share(state, k):
    return state.part(k, state.start_of(k), state.end_of(k))


def finance_charge(state, rows):
    return state.principal * state.terms.rate * sum(share(state, k) for k in rows)


def set_kept_interest(state, rows):
    if state.terms.method == "FLAT":
        each = state.terms.interest_cents(finance_charge(state, rows) / len(rows))
        for k in rows:
            state.rows[k].kept = each


def precompute(state, rows, paying):
    """Interest and principal of each row are kept."""
    terms, left = state.terms, state.principal
    if terms.split == "SUM_OF_DIGITS":
        interest = by_digits(terms.interest_cents(finance_charge(state, rows)), len(rows), terms)
        whole = sum(interest[k - 1] for k in paying)
        total = terms.to_unit(Fraction(left + whole, len(paying)))
    else:
        interest, total = None, spread_level(state, left, paying)
        total = smoothed(state, total, paying) if terms.smooth else total
    for k in rows:
        row = state.rows[k]
        row.kept = interest[k - 1] if interest else terms.interest_cents(left * terms.rate * share(state, k))
        asked = 0 if row.interest_only else min(left, max(0, total - row.kept))
        row.fixed_principal = asked if k != state.count else None
        left -= asked


def by_digits(charge, n, terms):
    """The rule of 78: the last rows have the least interest."""
    upto = lambda k: terms.interest_cents(Fraction(charge * (n * (n + 1) - (n - k) * (n - k + 1)), n * (n + 1)))
    return [upto(k) - upto(k - 1) for k in range(1, n + 1)]


# --- Spreading ---


def spread(state, base, rows):
    """The amount of each row that repays a principal over these rows, which end with the loan's last row: the
    instalment (LEVEL), or its principal."""
    if state.terms.level:
        return spread_level(state, base, rows)
    each = Fraction(base, len(rows))
    if state.terms.method == "FLAT" and state.terms.unit > 1:
        # The instalment is rounded, principal and interest together.
        kept = state.rows[rows[0]].kept
        return max(0, state.terms.to_unit(each + kept) - kept)
    return state.terms.to_unit(each)


def spread_level(state, base, rows, paying=None):
    periods = [(state.weight(k, unreduced=True), paying is None or k in paying) for k in rows]
    if state.amortization_cycles:
        periods += missing_periods(state, state.amortization_cycles - state.count)
    growth = Fraction(1)
    for rate, _ in periods:
        growth *= 1 + rate
    payments, after = Fraction(0), growth
    for rate, pays in periods:
        after /= 1 + rate
        payments += after if pays else 0
    return max(0, state.terms.to_unit((base * growth - (state.balloon or 0)) / payments))


def missing_periods(state, count):
    """Regular periods after the last row, which the level payment counts, at the last row's rate."""
    rate = state.rates.on(state.end_of(state.count) - timedelta(days=1))
    return [(rate * state.series.years, True)] * count


def smoothed(state, level, rows):
    """Adjusts the level payment once by the last row's difference, if that brings the last row closer."""
    off = last_total(state, level, rows) - level
    moved = level + state.terms.cents(Fraction(off, len(rows)))
    closer = abs(last_total(state, moved, rows) - moved) < abs(off)
    return moved if closer else level


def last_total(state, level, rows):
    """The total of the last row if every row is paid on time."""
    principal, carried = state.principal, 0
    for k in rows[:-1]:
        interest = carried + period_interest(state, k, principal)
        carried = max(0, interest - level)
        principal -= min(max(0, level - interest), principal)
    return principal + carried + period_interest(state, rows[-1], principal)


def period_interest(state, k, principal):
    terms = state.terms
    if terms.rounding_at == "DAILY":
        return state.rounded_days(k, principal * terms.rate, state.start_of(k), state.end_of(k))
    return terms.interest_cents(principal * terms.rate * share(state, k))
