"""What a reader sees: the account and its schedule as of a moment, in the words of the API."""

import copy

from account import place
from terms import rounded


def shown(account, at):
    """The fields of an account that a case may expect."""
    past_due = account.past_due_rows()
    today = account.terms.local_date(at)
    fees = sum(part.left for item in account.fee_items for part in item.parts if is_past_due(account, part.row))
    cents = sum((account.principal_left(row) if row else 0) + account.interest_left(row) for row in past_due)
    payments = [item for item in account.items.values() if item.type == "PAYMENT" and not item.reversed]
    received = [item for item in payments if item.status in ("VALID", "PENDING")]
    splits = [split for item in account.items.values() if item.type != "DEBIT_OFFSET" for split in item.splits]
    before = account.paid_before
    owed = account.principal + account.interest + account.fees
    return {
        "account_overview.account_status": account.status,
        "account_overview.account_status_subtype": account.subtype,
        "account_overview.is_active_scra": any(one.tag == "scra" and one.covers(today) for one in account.rates.all),
        "summary.principal_cents": account.principal,
        "summary.interest_balance_cents": account.interest,
        "summary.fees_balance_cents": account.fees,
        "summary.surplus_cents": account.surplus,
        "summary.total_balance_cents": owed - account.surplus,
        "summary.total_payoff_cents": account.payoff(at),
        "summary.per_diem_interest_cents": per_diem(account, at),
        "summary.interest_rate_percent": account.rates.on(today) * 100,
        "summary.total_paid_to_date_cents": sum(before.values()) - sum(item.amount for item in received),
        "summary.total_interest_paid_to_date_cents": before.get("interest_cents", 0)
        + sum(cents for what, _, _, cents in splits if what == "INTEREST"),
        "delinquency.days_past_due": days_past_due(account, today, past_due),
        "delinquency.past_due_cents": cents + fees,
        "delinquency.past_due_fees_cents": fees,
        "delinquency.consecutive_late_fees": account.late_in_a_row,
    }


def is_past_due(account, row):
    return row is None or row.fell_due or (row.retired and row.due <= account.today)


def days_past_due(account, today, past_due):
    """Since the oldest due date that is unpaid; interest after maturity is due when it is posted."""
    if not past_due:
        return 0
    if past_due[0] is not None:
        return (today - past_due[0].due).days
    posted = [part.item.applied_at for part in account.parts("INTEREST", None) if part.left]
    return (today - account.terms.local_date(min(posted))).days


def per_diem(account, at):
    """What one more day costs."""
    terms, today = account.terms, account.terms.local_date(at)
    if not terms.daily or account.status == "CLOSED":
        return 0
    period, coming = account.current, [row for row in account.rows if not row.fell_due and row.has_period]
    if today >= period.due:
        coming = [row for row in coming if row.start >= period.due]
        period = coming[0] if coming else account.tail_row(period)
    if period.is_tail and not terms.accrues_after_maturity:
        return 0
    tomorrow = today.fromordinal(today.toordinal() + 1)
    share = terms.share_of_days(period, today, tomorrow)
    return rounded(account.earning_principal * account.rates.on(today) * share, terms.interest_rounding)


# The schedule


def schedule(account, at, inputs=()):
    """Elapsed rows as they were; the others as they will be if what is past due is paid today, the rest on its day."""
    coming, twins = project(account, inputs)
    prepaid = from_the_end(account)
    amounts = []
    for row in coming.rows:
        real = twins.get(row)
        interest, principal = asked(account, real) if real and is_elapsed(account, real) else asked(coming, row)
        amounts.append((interest, principal + (prepaid if row is coming.last else 0)))
    rows, start = [], sum(principal for _, principal in amounts)
    for row, (interest, principal) in zip(coming.rows, amounts):
        rows.append(told(account, twins.get(row), row, interest, principal, start))
        start -= principal
    if rows and prepaid:
        rows[-1]["paid_cents"] += prepaid
        rows[-1]["outstanding_cents"] -= prepaid
    return rows


def is_elapsed(account, row):
    return row.fell_due or (row.retired and row.due <= account.today)


def asked(account, row):
    """Interest and principal of a row that is posted."""
    interest = row.charged + row.charged_on_top
    left = account.principal_left(row)
    return interest, row.principal_paid + row.extra + (left if row.fell_due else 0)


def told(account, real, row, interest, principal, start):
    """A row of the schedule; `real` is the row as it is now, if there is one."""
    paid = fees = 0
    if real is not None:
        unpaid = sum(part.left for part in account.parts("INTEREST", real))
        paid = real.charged + real.charged_on_top - unpaid + real.principal_paid + real.extra
        fees = sum(item.amount for item in account.fee_items for part in item.parts[:1] if part.row is real)
    return {
        "min_pay_due_at": account.terms.at(row.due),
        "am_min_pay_cents": interest + principal,
        "am_interest_cents": interest,
        "am_principal_cents": principal,
        "am_start_principal_balance_cents": start,
        "am_end_principal_balance_cents": start - principal,
        "am_fees_cents": fees,
        "paid_cents": paid,
        "outstanding_cents": interest + principal - paid,
        "paid_on_time": real.on_time if real is not None and real.fell_due else None,
        "retired": row.retired,
        "deferred_cents": row.deferred,
        "shortfall_cents": row.shortfall,
    }


def from_the_end(account):
    splits = [split for item in account.items.values() for split in item.splits]
    return sum(cents for what, _, _, cents in splits if what == "PRINCIPAL_FROM_THE_END")


def project(account, inputs):
    """The account as it will be when every row has been paid on its day. Changes to come take effect at their time."""
    twins = {}
    coming = copy.deepcopy(account, twins)
    twins = {twins[id(row)]: row for row in account.rows}
    coming.is_projection, coming.story = True, []
    coming.pay_past_due()
    inputs = sorted((one for one in inputs if one.at > account.now and one.group in (1, 2)), key=place)
    while not coming.current.is_tail:
        ends_at = coming.terms.at(coming.current.due)
        if inputs and inputs[0].at <= ends_at:
            coming.now = inputs[0].at
            coming.apply(inputs.pop(0))
            continue
        coming.now = ends_at
        coming.settle_start(coming.now)
        coming.end_period()
    return coming, twins


def line_items(account):
    """The line items, with the fields that a case may expect."""
    for item in account.items.values():
        of = lambda *kinds: sum(cents for what, _, _, cents in item.splits if what in kinds)  # noqa: E731
        balance = item.left
        if item.type == "LOAN":
            balance = account.principal
        elif item.type == "PAYMENT":
            balance = -item.surplus
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
