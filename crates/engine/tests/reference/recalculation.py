"""Recalculating the level payment, and giving back what an undone payment had changed."""

from fractions import Fraction

import plan
from reading import projected


def recalculate(state, rows, by, freed=0, coming=0, spread_interest=False, gather=False, amount=None):
    """Spreads the unpaid principal again over these rows, which end with the loan's last row. `freed` is interest of
    retired rows, `coming` the open period's interest that such a row leaves. With `spread_interest`, each row asks an
    equal part of this on top, else the first rows ask it. With `gather`, they also take carried interest anew."""
    first = min(rows, default=0)
    rows = without_leading_interest_only(state, list(rows))
    if not rows:
        return
    first = first if freed else rows[0]
    terms = state.terms
    end_becomes_principal_of(state, rows[0])
    ahead = range(max(state.passed + 1, 1), state.count + 1)
    if spread_interest:
        freed += sum(take_carried(state, k) for k in ahead)
    paying = [k for k in rows if not paid_in_full(state, k)]
    if not paying:
        return
    base = state.principal - asked_before(state, rows[0], paying)
    base = max(0, base + sum(state.rows[k].principal_paid for k in paying))
    if amount:
        asked = amount
    elif terms.level:
        base += sum(state.rows[k].carried for k in paying)
        base += 0 if spread_interest else freed + coming
        asked = plan.spread_level(state, base, rows, paying)
    else:
        asked = plan.spread(state, base, paying)
    write(state, paying, asked, by)
    if spread_interest:
        share_interest(state, freed, coming)
    elif freed or gather:
        freed += sum(take_carried(state, k) for k in rows if k > state.passed)
        state.assign(max(first, state.owner), freed, carried=True)


def write(state, rows, asked, by):
    for k in rows:
        row = state.rows[k]
        row.written = [*row.written, (by, row.total, row.fixed_principal)]
        row.interest_only = False
        if k == state.count:
            row.total = row.fixed_principal = None
        elif state.terms.level:
            on_top = row.top_interest + row.held
            row.total, row.fixed_principal = max(asked, row.paid_into - on_top), None
            row.settled = None
        else:
            row.fixed_principal = max(asked, row.principal_paid - row.held)


def without_leading_interest_only(state, rows):
    while rows and state.rows[rows[0]].interest_only:
        rows = rows[1:]
    return rows


def paid_in_full(state, k):
    """Whether a coming row has its whole fixed total paid."""
    row = state.rows[k]
    if row.retired:
        return True
    return bool(row.total) and row.paid_into >= state.asks(k) + row.top_interest + row.held


def asked_before(state, first, paying):
    """The unpaid principal that the rows before `first` ask, and what deferrals hold for the others: past rows as they
    are, coming rows as the schedule projects them. An account that closed automatically and has a payment undone is
    about to reopen."""
    closed_by_itself = state.status in [("CLOSED", "PAID_OFF"), ("CLOSED", "SURPLUS_BALANCE")]
    now, end = state.rows, projected(state, opening=closed_by_itself, until=first - 1).rows
    behind = [now[k].unpaid_principal for k in range(1, first) if k <= state.passed]
    coming = [k for k in range(1, first) if k > state.passed]
    asked = sum(behind) + sum(end[k].principal - end[k].from_end - now[k].principal_paid for k in coming)
    return asked + sum(end[k].held for k in paying)


def take_carried(state, k):
    """Takes back the carried interest that a coming row has not been paid for."""
    row = state.rows[k]
    freed = min(row.unpaid_carried, max(0, row.unpaid_interest - row.top_interest))
    row.interest -= freed
    row.carried -= freed
    return freed


def share_interest(state, freed, coming):
    """Each row ahead asks an equal part on top, rounded down, and the last the rest."""
    rows = [state.rows[k] for k in state.ahead() if not paid_in_full(state, k)]
    each = (freed + coming) // len(rows)
    parts = [each] * (len(rows) - 1) + [freed + coming - each * (len(rows) - 1)]
    to_spread = []
    for row, part in zip(rows, parts):
        now = min(part, freed)
        row.interest += now
        row.top_interest += now
        freed -= now
        if part > now:
            to_spread.append((row.id, part - now))
    state.to_spread = to_spread


def end_becomes_principal_of(state, k):
    """Principal prepaid from the end of the loan becomes principal of a row."""
    free = state.end_paid - sum(row.from_end for row in state.rows[1:])
    if free <= 0:
        return
    state.end_paid -= free
    state.rows[k].extra += free
    last = state.rows[state.count]
    last.held -= min(last.unpaid_held, free)
    last.held_free = min(last.held_free, last.held)
    move_parts(state, "END", "EXTRA", state.rows[k].id, free)


def move_parts(state, kind, new_kind, row, cents):
    """Parts of the latest payments get another place."""
    for parts in reversed(all_parts(state)):
        for number, part in reversed(list(enumerate(parts))):
            if part[0] == kind and cents > 0:
                moved = min(cents, part[2])
                cents -= moved
                left = [(kind, part[1], part[2] - moved)] if part[2] > moved else []
                parts[number : number + 1] = [*left, (new_kind, row, moved)]


def all_parts(state):
    paid = [payment["parts"] for payment in state.payments.values() if payment["parts"]]
    return paid + [one["parts"] for one in state.applications] + [one["parts"] for one in state.write_offs]


def unwrite(state, by, undone_by):
    """Undoes a payment's change to the plan: coming rows get their earlier amounts back; rows that another input has
    changed since are recalculated."""
    again = []
    for k in range(state.passed + 1, state.count + 1):
        row = state.rows[k]
        if row.retired or row.due <= state.today or not any(entry[0] == by for entry in row.written):
            continue
        if row.written[-1][0] == by:
            _, row.total, row.fixed_principal = row.written[-1]
            row.written = row.written[:-1]
        else:
            again.append(k)
    if again:
        recalculate(state, again, undone_by)
