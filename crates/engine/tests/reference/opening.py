"""Boarding from balances: the state that an opening gives."""

from fractions import Fraction

import plan
from dates import add_interval, day_of, parse_moment, times
from recalculation import recalculate
from rows import Fee
from series import SEMI_MONTH, anchored, given, original, years


def begin(state):
    terms, opening = state.terms, state.terms.opening
    state.now = parse_moment(opening["as_of"])
    make_rows(state, opening)
    state.status = opening.get("account_status") or "ACTIVE", opening.get("account_substatus")
    state.left = state.status if state.status[0] == "ACTIVE" else ("ACTIVE", None)
    state.late_count = state.opening_count = opening.get("consecutive_late_fees") or 0
    state.late_fees_before = opening.get("late_fees_charged_cents") or 0
    begin_open_period(state, opening)
    add_items(state, opening)
    set_amounts(state, opening)
    state.surplus = opening.get("surplus_cents") or 0
    if state.surplus:
        state.lots, state.sources, state.waiting_surplus = [["opening", state.surplus]], ["opening"], True
        state.net -= state.surplus


def make_rows(state, opening):
    terms = state.terms
    past = [past_due_row(state, one) for one in opening.get("past_due") or []]
    for number, row in enumerate(past):
        row.start = past[number - 1].due if number else row.due
    first = number_of_next(terms, opening)
    coming = [state.new_row(first + number) for number in range(terms.count)]
    state.rows = [None, *past, *coming, state.new_row()]
    state.rows[-1].principal = 0
    state.passed = len(past)
    state.series = series_of(terms, opening, first)
    before = one_cycle_before(terms, opening, first)
    start = accrued_from(state, opening, before)
    coming[0].start, coming[0].begins_apart = start, True
    plan.set_dates(state, len(past) + 1)
    for row in coming:
        row.years = state.series.years
        if terms.schedule:
            plan.count_length(row)
    if start != before:
        plan.count_length(coming[0])
    elif first == 1 and is_of_loan(terms, opening):
        coming[0].years = years(terms.calendar.first_length())
    for row in coming[:-1]:
        row.interest_only = is_of_loan(terms, opening) and row.index <= terms.interest_only_of_loan
    judge_past_due(state, past, opening)


def number_of_next(terms, opening):
    """The number of the next due date among those of the whole loan, if it is one of them; else 1."""
    if terms.schedule or terms.cycle == SEMI_MONTH:
        return 1
    due, number = day_of(opening["next_due_date"]), 1
    while terms.calendar.due_date(number) < due:
        number += 1
    return number if terms.calendar.due_date(number) == due else 1


def is_of_loan(terms, opening):
    """Whether the next due date is one of the whole loan, so that its rows go on."""
    if terms.schedule or terms.cycle == SEMI_MONTH:
        return False
    number = number_of_next(terms, opening)
    return terms.calendar.due_date(number) == day_of(opening["next_due_date"])


def series_of(terms, opening, first):
    calendar = terms.calendar
    if terms.schedule:
        return given(calendar, terms.cycle, [day_of(one["due_date"]) for one in terms.schedule], terms.semi_days)
    if is_of_loan(terms, opening):
        return original(calendar)
    return anchored(calendar, terms.cycle, day_of(opening["next_due_date"]), first, terms.semi_days)


def past_due_row(state, one):
    row = state.new_row()
    row.due = day_of(one["due_date"])
    row.interest, row.principal = one.get("interest_cents") or 0, one.get("principal_cents") or 0
    row.named_total = one.get("total_cents")
    row.total = row.interest + row.principal
    return row


def one_cycle_before(terms, opening, first):
    due = day_of(opening.get("next_due_date") or terms.schedule[0]["due_date"])
    if terms.cycle == SEMI_MONTH and not terms.schedule:
        days = sorted(terms.semi_days)
        if due == plan.day_in_month(due, days[1]):
            return plan.day_in_month(due, days[0])
        return plan.day_in_month(add_interval(due, (-1, 0), "CLAMP"), days[1])
    if is_of_loan(terms, opening):
        return terms.calendar.due_date(first - 1)
    return terms.calendar.plus(due, times(terms.cycle, -1))


def accrued_from(state, opening, before):
    if opening.get("accrued_from"):
        return day_of(opening["accrued_from"])
    if opening.get("past_due"):
        return day_of(opening["past_due"][-1]["due_date"])
    return min(before, state.today)


def judge_past_due(state, past, opening):
    """Rows whose fee moment lies before the opening have been judged."""
    terms = state.terms
    for row in past:
        moments = [terms.calendar.close_of(terms.calendar.plus(row.due, tier.after)) for tier in terms.tiers]
        row.fee_moments = sum(moment < state.now for moment in moments)
        if row.fee_moments:
            row.judged, row.at_opening = "LATE", True
        else:
            state.received[row.id] = opening.get("received_since_due_cents") or 0


def begin_open_period(state, opening):
    """What has accrued is given; from the opening's date on, interest accrues."""
    state.begun, state.through = True, state.today
    accrued = opening.get("accrued_interest_cents") or 0
    if state.terms.daily:
        state.accrual.fixed = [Fraction(accrued), Fraction(accrued)]
    else:
        state.given, state.bases = accrued, [(state.today, state.principal if state.earns() else 0)]
        state.fix_interest()


def add_items(state, opening):
    state.add_item("LOAN", state.principal)
    state.net = state.principal
    carried, accrued = opening.get("carried_interest_cents") or 0, opening.get("accrued_interest_cents") or 0
    past = [row.interest for row in state.rows[1 : state.passed + 1]]
    for cents in [*past, carried, accrued]:
        if cents:
            state.add_item("INTEREST", cents)
            state.net += cents
    rows = {row.due.isoformat(): row.id for row in state.rows[1:-1]}
    for one in opening.get("fees") or []:
        row = rows.get(one.get("due_date"), state.rows[state.owner].id)
        state.fees.append(Fee(one["line_item_id"], one.get("fee_class") == "PENALTY", one["amount_cents"], row))
        state.net += one["amount_cents"]
        state.add_item("MANUAL_FEE", one["amount_cents"])


def set_amounts(state, opening):
    terms, first = state.terms, state.passed + 1
    numbers = list(range(first, state.count + 1))
    carried, accrued = opening.get("carried_interest_cents") or 0, opening.get("accrued_interest_cents") or 0
    row = state.rows[first]
    if terms.schedule:
        for k, one in zip(numbers[:-1], terms.schedule):
            state.rows[k].total, state.rows[k].fixed_principal = one.get("amount_cents"), one.get("principal_cents")
            state.rows[k].interest_only = one.get("principal_cents") == 0
        state.assign(first, carried, carried=True)
    else:
        for k in numbers:
            state.rows[k].fixed_principal = 0 if state.rows[k].interest_only else None
        recalculate(state, numbers, "opening", carried, gather=True, amount=terms.payment_amount)
    for one in state.rows[1:-1]:
        one.written = []
    row.recognised = accrued
    state.assign(first, accrued)
