"""Reading an account: balances, lateness, and the schedule with its projection."""

from datetime import timedelta
from decimal import Decimal

import posting


def projected(state, opening=False, until=None):
    """The account after past-due amounts are paid now and each later instalment, or those up to `until`, in full on its
    due date. With `opening`, a closed account as if it reopened now."""
    terms, state = state.terms, state.scratch()
    state.accrue()
    if opening:
        state.status = ("ACTIVE", None)
    due = range(1, min(state.passed, state.count) + 1)
    if any(not state.is_paid(k) for k in due):
        state.round_off()
    for k in due:
        pay(state, k)
    if not state.begun:
        state.begin_period()
    last = state.count if until is None else min(until, state.count)
    for k in range(state.passed + 1, last + 1):
        state.now = terms.calendar.close_of(state.rows[k].due)
        state.accrue(state.rows[k].due)
        if not state.is_paid(k):
            state.round_off()
        posting.post_row(state, k)
        state.end_period()
        pay(state, k)
        state.begin_period()
    return state


def pay(state, k):
    row = state.rows[k]
    row.interest_paid = row.interest
    state.principal -= row.unpaid_principal
    row.principal_paid += row.unpaid_principal


def schedule(state):
    """Past rows as they were, coming rows as projected."""
    end = projected(state)
    rows, left = [], state.lent
    for k in range(1, state.count + 1):
        now, then = state.rows[k], end.rows[k]
        principal = then.principal + now.extra
        total = then.interest + principal
        paid = now.interest_paid + now.principal_paid + now.extra + then.from_end
        rows.append({
            "row": k, "due_date": now.due.isoformat(), "interest_cents": then.interest,
            "principal_cents": principal, "total_cents": total, "start_cents": left, "end_cents": left - principal,
            "paid_cents": paid, "outstanding_cents": total - paid, "retired": then.retired,
            "deferred_cents": 0 if then.retired else then.top_interest + then.held, "shortfall_cents": now.shortfall,
        })  # fmt: skip
        left -= principal
    check(state, end, rows)
    return rows


def check(state, end, rows):
    """What the rows ask is what was lent, and nothing is negative."""
    assert sum(row.from_end for row in end.rows[1:]) == state.end_paid
    assert sum(row["principal_cents"] for row in rows) == state.lent
    assert all(min(row["interest_cents"], row["principal_cents"], row["outstanding_cents"]) >= 0 for row in rows)
    assert all(row["outstanding_cents"] == 0 for row in rows if row["retired"])


def per_diem(state):
    """The interest earned today. The end date of a period is the first day of the next."""
    terms, period, today = state.terms, state.period, state.today
    if today >= state.end_of(period):
        period += 1
    if not terms.daily or state.closed or (period > state.count and not terms.earns_after_maturity):
        return 0
    weight = state.weight(period, today, today + timedelta(days=1))
    return terms.interest_cents(state.earning_principal * weight)


def percent(rate):
    """The shortest text of a rate."""
    exact = Decimal((rate * 100).numerator) / Decimal((rate * 100).denominator)
    return f"{exact.normalize():f}"


def read(state):
    past = state.past_due_rows()
    rows = [state.rows[k] for k in past]
    past_due_fees = state.past_due_fees()
    days = 0
    if past:
        days = (state.today - state.past_due_since(past[0])).days
    return {
        "status": state.status[0], "substatus": state.status[1], "principal_cents": state.principal,
        "interest_cents": state.interest_balance(), "fees_cents": state.fees_balance(),
        "surplus_cents": state.surplus, "payoff_cents": state.payoff(), "per_diem_cents": per_diem(state),
        "days_past_due": max(0, days), "past_due_cents": sum(row.unpaid for row in rows) + past_due_fees,
        "past_due_fees_cents": past_due_fees, "consecutive_late_fees": state.late_count,
        "interest_rate_percent": percent(state.terms.rate if state.terms.kept else state.rates.on(state.today)),
        "is_active_scra": state.rates.scra(state.today), "schedule": schedule(state),
    }  # fmt: skip
