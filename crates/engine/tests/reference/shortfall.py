"""Rows of which hardly anything is missing count as paid."""


def tolerance(terms, total):
    cents = terms.tolerance_cents
    percent = terms.tolerance_percent
    by_percent = None if percent is None else int(total * percent / 100)
    amounts = [amount for amount in (cents, by_percent) if amount is not None]
    if not amounts:
        return 0
    return max(amounts) if terms.tolerance_rule == "HIGHER" else min(amounts)


def tolerate_all(state):
    for k in range(1, min(state.passed, state.count) + 1):
        tolerate(state, k)


def tolerate(state, k):
    """What is missing of a row that has fallen due is asked by the next row, or at the end of the loan. No row is
    excused once the last has fallen due."""
    row = state.rows[k]
    missing = row.unpaid
    if state.passed >= state.count or row.retired or not row.paid_into or not missing:
        return
    if missing > tolerance(state.terms, row.whole):
        return
    interest, principal = row.unpaid_interest, row.unpaid_principal
    row.interest -= interest
    row.carried = min(row.carried, row.interest)
    row.principal -= principal
    row.shortfall += missing
    row.named_total = None
    if state.terms.shortfall_goes_to == "NEXT_INSTALLMENT":
        ask_more(state, next_unpaid(state, k), interest, principal, row.id)
    elif interest:
        state.assign(state.owner, interest, carried=True)


def next_unpaid(state, k):
    for following in range(k + 1, state.count):
        row = state.rows[following]
        if not row.retired and not paid_in_full(state, following):
            return row
    return state.rows[state.count]


def paid_in_full(state, k):
    if k <= state.passed:
        return state.is_paid(k)
    row = state.rows[k]
    return bool(row.total) and row.paid_into >= state.asks(k) + row.top_interest + row.held


def ask_more(state, row, interest, principal, by):
    row.interest += interest
    row.carried += interest
    if row.principal is not None:
        row.principal += principal
        return
    if row.total is not None or row.fixed_principal is not None:
        row.written = [*row.written, (("shortfall", by), row.total, row.fixed_principal)]
    if row.total is not None:
        row.total += interest + principal
    elif row.fixed_principal is not None:
        row.fixed_principal += principal
