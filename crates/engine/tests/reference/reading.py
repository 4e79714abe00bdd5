"""Reading an account: balances, lateness, and the schedule with its projection."""

from datetime import timedelta


def projected(state, opening=False):
    """The account after past-due amounts are paid now and each later instalment in full on its due date. With
    `opening`, a closed account as if it reopened now."""
    terms, state = state.terms, state.scratch()
    state.accrue()
    if opening:
        state.status = ("ACTIVE", None)
    for k in range(1, min(state.passed, terms.count) + 1):
        pay(state, k)
    if not state.begun:
        state.begin_period()
    for k in range(state.passed + 1, terms.count + 1):
        state.now = terms.calendar.due_moment(k)
        state.accrue(terms.calendar.due_date(k))
        state.post_open()
        state.fix_row(k)
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
    """Past rows as they were, future rows as projected."""
    end = projected(state)
    rows, left = [], state.lent
    for k in range(1, state.terms.count + 1):
        now, then = state.rows[k], end.rows[k]
        principal = then.principal + now.extra
        total = then.interest + principal
        paid = now.interest_paid + now.principal_paid + now.extra + then.from_end
        rows.append({
            "row": k, "due_date": state.terms.calendar.due_date(k).isoformat(), "interest_cents": then.interest,
            "principal_cents": principal, "total_cents": total, "start_cents": left, "end_cents": left - principal,
            "paid_cents": paid, "outstanding_cents": total - paid,
        })  # fmt: skip
        left -= principal
    assert sum(row.from_end for row in end.rows[1:]) == state.end_paid
    return rows


def per_diem(state):
    """The interest earned today. The end date of a period is the first day of the next."""
    terms, calendar, period = state.terms, state.terms.calendar, state.period
    today = terms.zone.date_of(state.now)
    if today >= calendar.due_date(period):
        period += 1
    if not terms.daily or state.closed or (period > terms.count and not terms.earns_after_maturity):
        return 0
    share = state.earning_share(period, today, today + timedelta(days=1))
    return terms.cents(state.principal * terms.rate * share)


def read(state):
    past = state.past_due_rows()
    rows = [state.rows[k] for k in past]
    past_due_fees = state.past_due_fees()
    past_due = sum(row.unpaid_interest + row.unpaid_principal for row in rows) + past_due_fees
    days = 0
    if past:
        days = (state.terms.zone.date_of(state.now) - state.past_due_since(past[0])).days
    return {
        "status": state.status[0], "substatus": state.status[1], "principal_cents": state.principal,
        "interest_cents": state.interest_balance(), "fees_cents": state.fees_balance(),
        "surplus_cents": state.surplus, "payoff_cents": state.payoff(), "per_diem_cents": per_diem(state),
        "days_past_due": max(0, days), "past_due_cents": past_due, "past_due_fees_cents": past_due_fees,
        "consecutive_late_fees": state.late_count, "schedule": schedule(state),
    }  # fmt: skip
