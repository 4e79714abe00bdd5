"""A row falls due: its interest and principal become known, and what it defers leaves it."""


def post_row(state, k):
    """Everything at the due date of row k that concerns amounts."""
    row = state.rows[k]
    if row.total is not None and not row.retired:
        row.total = state.asks(k)
    state.post_open()
    fix_row(state, k)
    for target, balance, earns in row.deferrals:
        defer(state, row, state.row(target), balance, earns)
    row.deferrals = []


def fix_row(state, k):
    """Its principal is as planned, at most the rest of the loan. The part of it that is not owed was paid from the end
    of the loan."""
    row, rows = state.rows[k], state.rows[1:]
    if row.retired:
        row.principal = row.principal_paid
        return
    left = state.lent - sum(row.extra for row in rows)
    left -= sum(row.principal for row in rows[: k - 1]) + sum(row.principal_paid for row in rows[k:])
    left -= state.held_after(k, lambda later: later.unpaid_held)
    if k == state.count:
        planned = left
    elif row.total is not None:
        planned = max(0, row.total + row.top_interest + row.held - row.interest)
    else:
        planned = row.fixed_principal + row.held
    principal = max(min(planned, left), row.principal_paid)
    not_asked_for = state.principal - sum(row.unpaid_principal for row in rows[: k - 1]) - state.held_after(k)
    row.from_end = max(0, principal - row.principal_paid - max(0, not_asked_for))
    row.principal = principal


def rest_to_last_row(state):
    """After maturity, principal that belongs to no row is added to the last."""
    if state.passed >= state.count:
        asked = sum(row.unpaid_principal for row in state.rows[1:])
        last = next(row for row in reversed(state.rows[1 : state.count + 1]) if not row.silent)
        last.principal += state.principal - asked


def defer(state, row, target, balance, earns=True):
    """What a row that has fallen due still asks is asked by a later row, on top of its own."""
    interest = row.unpaid_interest if balance in ("ALL", "INTEREST") else 0
    principal = row.unpaid_principal if balance in ("ALL", "PRINCIPAL") else 0
    if principal and not earns:
        principal_stops_earning(state, target, principal)
    row.interest -= interest
    row.carried = min(row.carried, row.interest)
    row.principal -= principal
    target.interest += interest
    target.top_interest += interest
    target.held += principal
    target.deferred += interest + principal
    if balance in ("ALL", "FEE"):
        for fee in state.fees:
            if fee.unpaid and fee.row is not None and state.row(fee.row) is row:
                fee.row = target.id
    if balance == "ALL":
        row.retired = True


def principal_stops_earning(state, target, principal):
    """PERIODIC: the open period's interest is fixed without it from today on."""
    state.accrue()
    target.held_free += principal
    if state.begun and not state.terms.daily:
        state.bases = [*state.bases, (state.today, -principal)]
        state.refix_interest()


def retire(state, row):
    """The row asks nothing more. Returns its unpaid interest; its unpaid principal goes to the rows ahead."""
    freed = row.unpaid_interest
    row.interest = row.interest_paid
    row.carried = row.top_interest = row.held = row.held_free = row.deferred = 0
    row.deferrals, row.retired = [], True
    if row.principal is not None:
        row.principal = row.principal_paid + row.from_end
    return freed


def release(state, amount, k=None):
    """Interest that no row asks for is taken by the next unpaid rows."""
    if amount > 0:
        state.assign(k or state.owner, amount, carried=True)
