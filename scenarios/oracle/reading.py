"""What a reader sees: the account and its schedule as of a moment, in the words of the API."""

from terms import rounded


def shown(account, at):
    """The fields of an account that a case may expect."""
    terms = account.terms
    past_due = account.past_due_rows()
    today = terms.local_date(at)
    fees_past_due = sum(cents for item in account.fee_items for row, cents in item.unpaid if account.when(row) == "PAST_DUE")
    cents_past_due = sum((account.principal_left(k) if k else 0) + account.interest_left(k) for k in past_due)
    cents_past_due += fees_past_due
    payments = [item for item in account.items.values() if item.type == "PAYMENT" and not item.reversed]
    received = [item for item in payments if item.status in ("VALID", "PENDING")]
    splits = [split for item in account.items.values() for split in item.splits]
    interest_paid = sum(cents for what, _, _, cents in splits if what == "INTEREST")
    owed = account.principal + account.interest + account.fees
    return {
        "account_overview.account_status": account.status,
        "account_overview.account_status_subtype": account.subtype,
        "summary.principal_cents": account.principal,
        "summary.interest_balance_cents": account.interest,
        "summary.fees_balance_cents": account.fees,
        "summary.surplus_cents": account.surplus,
        "summary.total_balance_cents": owed - account.surplus,
        "summary.total_payoff_cents": owed + account.open_interest(at),
        "summary.per_diem_interest_cents": per_diem(account, at),
        "summary.total_paid_to_date_cents": -sum(item.amount for item in received),
        "summary.total_interest_paid_to_date_cents": interest_paid,
        "delinquency.days_past_due": days_past_due(account, today, past_due),
        "delinquency.past_due_cents": cents_past_due,
        "delinquency.consecutive_late_fees": account.late_in_a_row,
    }


def days_past_due(account, today, past_due):
    """Since the oldest due date that is unpaid; interest after maturity is due when it is posted."""
    if not past_due:
        return 0
    if past_due[0] is not None:
        return (today - account.terms.due_on(past_due[0])).days
    interest = [item for item in account.items.values() if item.type == "INTEREST"]
    posted = [item.applied_at for item in interest for row, cents in item.unpaid if row is None and cents]
    return (today - account.terms.local_date(min(posted))).days


def per_diem(account, at):
    """What one more day costs."""
    terms, today = account.terms, account.terms.local_date(at)
    if not terms.daily or account.status == "CLOSED" or not account.accrues:
        return 0
    period = account.period + (today >= terms.due_on(account.period))
    if period > terms.count and not terms.accrues_after_maturity:
        return 0
    tomorrow = today.fromordinal(today.toordinal() + 1)
    return rounded(account.principal * terms.rate * terms.share_of_days(period, today, tomorrow), terms.rounding)


def schedule(account, at):
    """Elapsed rows as they were; the others as they will be if what is past due is paid today, the rest on its day."""
    terms, rows, paid_so_far = account.terms, [], 0
    overdue = sum(account.principal_left(k) for k in account.past_due_rows() if k)
    principal = account.principal - overdue  # as the coming rows will find it
    today = terms.local_date(at)
    carried = 0
    splits = [split for item in account.items.values() for split in item.splits]
    from_the_end = sum(cents for what, _, _, cents in splits if what == "PRINCIPAL_FROM_THE_END")
    for k, row in account.rows.items():
        interest_paid = row.charged - account.interest_left(k)
        fees = sum(item.amount for item in account.fee_items for fee_row, _ in item.unpaid if fee_row == k)
        if row.fell_due:
            interest, left = row.charged, account.principal_left(k)
            due_principal = left + row.principal_paid + row.extra
        else:
            interest = row.charged + carried + coming_interest(account, k, principal, today)
            carried = 0
            if k == terms.count:
                due_principal = principal
            elif k in account.totals:
                cap = max(0, account.totals[k] - row.principal_paid)
                carried, interest = max(0, interest - cap), min(interest, cap)
                due_principal = min(principal, account.totals[k] - interest - row.principal_paid)
            else:
                due_principal = min(principal, account.principals[k] - row.principal_paid)
            left = due_principal
            principal -= due_principal
            due_principal += row.principal_paid + row.extra
        if k == terms.count:
            due_principal += from_the_end
        start = terms.principal - paid_so_far
        paid_so_far += due_principal
        total_paid = interest_paid + due_principal - left
        rows.append({
            "min_pay_due_at": terms.due_at(k),
            "am_min_pay_cents": interest + due_principal,
            "am_interest_cents": interest,
            "am_principal_cents": due_principal,
            "am_start_principal_balance_cents": start,
            "am_end_principal_balance_cents": start - due_principal,
            "am_fees_cents": fees,
            "paid_cents": total_paid,
            "outstanding_cents": interest + due_principal - total_paid,
            "paid_on_time": row.on_time if row.fell_due else None,
        })  # fmt: skip
    return rows


def coming_interest(account, k, principal, today):
    """Interest of a period that is open or to come, beyond what is in items."""
    terms = account.terms
    if account.status == "CLOSED":
        return 0
    if k == account.period:
        exact = account.exact(min(today, terms.due_on(k)))
        if terms.daily:
            rest = terms.share_of_days(k, max(today, account.counted_to), terms.due_on(k))
            exact += principal * terms.rate * rest
        return max(0, rounded(exact, terms.rounding) - account.made)
    if terms.method == "FLAT":
        return terms.flat_interest
    return rounded(principal * terms.rate * terms.share(k), terms.rounding)


def line_items(account):
    """The line items, with the fields that a case may expect."""
    for item in account.items.values():
        of = lambda *kinds: sum(cents for what, _, _, cents in item.splits if what in kinds)  # noqa: E731
        balance = item.left
        if item.type == "LOAN":
            balance = account.principal
        elif item.type == "PAYMENT":
            balance = -of("SURPLUS")
        yield {
            "line_item_id": item.id,
            "line_item_type": item.type,
            "line_item_status": item.status,
            "effective_on": account.terms.local_date(item.effective_at).isoformat(),
            "applied_on": account.terms.local_date(item.applied_at).isoformat(),
            "effective_at": item.effective_at,
            "applied_at": item.applied_at,
            "original_amount_cents": item.amount,
            "balance_cents": balance,
            "principal_cents": -of("PRINCIPAL", "EXTRA", "PRINCIPAL_FROM_THE_END"),
            "interest_cents": -of("INTEREST"),
            "fees_cents": -of("FEE"),
        }
