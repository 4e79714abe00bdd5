#!/usr/bin/env python3
"""Checks on random histories what must hold of every loan, whatever happens to it.

    python3 scenarios/oracle/properties.py 200        that many histories of each kind
    python3 scenarios/oracle/properties.py 1 4711     one, from this seed on
"""

import copy
import sys
import traceback
from datetime import timedelta
from fractions import Fraction

from case import Input
from histories import Maker
from reading import schedule, shown

MONEY = ["payment", "payment", "payment", "payment_reversal", "manual_fee", "fee_waiver", "debit_offset",
         "credit_offset", "refund"]  # fmt: skip
RATES = ["interest_rate", "temp_promo", "interest_pause"]
PLAN = [
    "due_date", "skip", "extension", "payment_deferral", "re_amortization", "re_age", "restructure", "capitalization",
]  # fmt: skip
ALL = MONEY + RATES + PLAN + ["status"]


def balances(account):
    """What two ways of getting somewhere must agree in."""
    seen = {name: value for name, value in shown(account, account.now).items() if "is_active_scra" not in name}
    names = ("min_pay_due_at", "am_interest_cents", "am_principal_cents", "paid_cents", "retired")
    return seen, [[row[name] for name in names] for row in schedule(account, account.now)]


# Every cent is somewhere


def check_cents(account):
    total = 0
    for item in account.items.values():
        counts = item.status in ("VALID", "PENDING") and item.type in RAISES | LOWERS
        reversed_by_replay = item.type == "PAYMENT" and item.id in account.without
        total += item.amount if counts and not reversed_by_replay else 0
    owed = account.principal + account.interest + account.fees - account.surplus
    assert total == owed, f"items add up to {total}, the balances to {owed}"
    assert min(account.principal, account.interest, account.fees, account.surplus) >= 0, "something is negative"
    assert all(part.left >= 0 for item in account.items.values() for part in item.parts), "a part is negative"
    check_rows(account)


RAISES = {"LOAN", "INTEREST", "LATE_FEE", "ORIG_FEE", "MANUAL_FEE", "RETURN_CHECK_FEE", "CREDIT_OFFSET",
          "PAYMENT_REVERSAL", "REFUND"}  # fmt: skip
LOWERS = {"PAYMENT", "DEBIT_OFFSET", "FEE_WAIVER", "REFUND_REVERSAL"}


def check_rows(account):
    """What rows ask of principal is the unpaid principal; splits add up."""
    rows = schedule(account, account.now)
    asked = sum(row["outstanding_cents"] for row in rows) if account.status != "CLOSED" else None
    for row, plan in zip(rows, account.rows):
        assert row["am_interest_cents"] >= 0 and row["am_principal_cents"] >= 0, f"row {plan.number} asks less than 0"
        least = min(plan.principal_paid, plan.charged, plan.charged_on_top)
        assert least >= 0, f"row {plan.number} is below 0"
    left = sum(row.principal_paid + row.extra for row in account.rows)
    assert asked is None or asked >= account.principal, f"rows ask {asked}, {account.principal} of principal is unpaid"
    for item in account.items.values():
        if item.type == "PAYMENT" and item.splits:
            parts = sum(cents for *_, cents in item.splits)
            assert parts == -item.amount, f"splits of {item.id} add up to {parts}"
    assert left <= sum(item.amount for item in account.items.values() if item.type in RAISES), "more was paid than lent"


def cents_are_somewhere(maker):
    history = maker.history(ALL)
    maker.posted_late(history)
    yield history
    check_cents(history.at())


# Identity


def identity(maker):
    """A change that changes nothing: no cent, row or item differs."""
    history = maker.history(MONEY + RATES + PLAN)
    yield history
    at = history.terms.opened_at + timedelta(hours=maker.whole(1, 3000))
    at = min(at, history.until)
    account = history.at(at)
    kind, body = maker.pick(nothing_changes(account))
    one = maker.input(history, kind, at, body)
    history.inputs.append(one)
    expected = history.at(inputs=history.inputs[:-1])
    assert balances(history.at()) == balances(expected), f"{kind} {body} at {at} is not without effect"


def nothing_changes(account):
    rate = account.rates.on(account.today) * 100
    found = [
        ("interest_pause", {"start": account.today, "end": account.today}),
        ("interest_rate", {"interest_rate": Fraction(1000), "tags": {"scra": True}}),
    ]
    if not any(one.start > account.today or one.end for one in account.rates.all) and not account.rates.all:
        found.append(("interest_rate", {"interest_rate": rate, "level_payment": "KEEP"}))
    if account.rows_ahead() and not account.terms.is_semi_monthly:
        found.append(("due_date", {"next_due_date": account.rows_ahead()[0].due}))
    return found


# Order


def order(maker):
    """Loaded in any order is loaded in order."""
    history = maker.history(ALL)
    yield history
    shuffled = list(history.inputs)
    maker.random.shuffle(shuffled)
    assert balances(history.at(inputs=shuffled)) == balances(history.at()), "the order of loading matters"


# A change alone moves no total


def changes_alone(maker):
    history = maker.history(MONEY + RATES + PLAN)
    yield history
    at = history.until
    before = history.at(at)
    if before.status == "CLOSED":
        return
    kind = maker.pick(PLAN)
    one = maker.input(history, kind, at)
    if one is None:
        return
    history.inputs.append(one)
    after = history.at(at)
    made = [item for name, item in after.items.items() if name not in before.items]
    own = sum(item.amount for item in made if item.type in RAISES | LOWERS and item.type != "INTEREST")
    gone = after.payoff(at) - before.payoff(at)
    due_today = before.current.due == before.today or after.current.due == after.today
    moves = due_today or moves_period(before, after)
    assert abs(gone - own) <= 1 or moves, f"{kind}: payoff moved by {gone}, not {own}"


def moves_period(before, after):
    """What was earned in the running period may be restated when its end moves."""
    return before.current.due != after.current.due or not before.terms.daily


# Lower rates


def lower_rates(maker):
    """A pause, a cap or a lower rate never raises the interest earned."""
    history = maker.history(["payment_free"], count=0)
    yield history
    history.until = history.terms.opened_at + timedelta(days=maker.whole(1, 400))
    at = history.terms.opened_at + timedelta(days=maker.whole(0, 300))
    kind = maker.pick(["interest_pause", "interest_rate"])
    account = history.at(at)
    body, _ = getattr(maker, kind)(account, at)
    if kind == "interest_rate":
        body["interest_rate"] = min(body["interest_rate"], account.rates.on(account.today) * 100)
    earned = lambda inputs: history.at(inputs=inputs).payoff(history.until)  # noqa: E731
    assert earned([maker.input(history, kind, at, body)]) <= earned([]), f"{kind} {body} raised the interest"


def reduce_keeps_principal(maker):
    """REDUCE: who pays on time repays principal as without the cap."""
    history = maker.history(["payment_free"], count=0)
    life = history.product["product_lifecycle_policies"]
    life["amortization_policies"]["method"] = "LEVEL"
    life["interest_policies"]["interest_rounding_at"] = "PERIOD_END"
    history.account.pop("payment_amount_cents", None)
    yield history
    at = history.until = history.terms.opened_at + timedelta(hours=maker.whole(1, 100))
    body = {"tags": {"scra": True}}
    capped = schedule(history.at(inputs=[maker.input(history, "interest_rate", at, body)]), at)
    rows = schedule(history.at(), at)
    principal = lambda rows: [row["am_principal_cents"] for row in rows]  # noqa: E731
    assert principal(capped) == principal(rows), "principal differs"


# Cures


def cures(maker):
    """A payment of what the rows past due ask cures the account."""
    history = maker.history(MONEY + RATES + PLAN)
    yield history
    account = history.at()
    if account.status == "CLOSED" or not account.past_due_rows():
        return
    cents = shown(account, account.now)["delinquency.past_due_cents"]
    cents -= shown(account, account.now)["delinquency.past_due_fees_cents"]
    body = {"line_item_id": "cure", "original_amount_cents": cents}
    history.inputs.append(maker.input(history, "payment", history.until, body))
    after = history.at()
    assert not after.past_due_rows(), f"{cents} did not cure"


def no_pyramids(maker):
    """No late fee that would not have been charged had earlier fees been waived when charged."""
    history = maker.history(["payment"] * 3 + ["manual_fee"])
    yield history
    fees = [item for item in history.at().items.values() if item.type == "LATE_FEE"]
    for number, fee in enumerate(fees):
        waivers = [waiver(earlier, n) for n, earlier in enumerate(fees[:number])]
        again = history.at(inputs=history.inputs + waivers)
        assert fee.id in again.items or again.status == "CLOSED", f"{fee.id} only follows from earlier fees"


def waiver(fee, number):
    at = fee.applied_at
    return Input(at, 2, -100 + number, at, at, "fee_waiver", fee.id, {"line_item_id": f"waive{number}"})


# Boarding


def boarding(maker):
    """A loan boarded with the figures of a fold at a period's end goes on like it."""
    history = maker.history(["payment", "payment", "manual_fee"], count=3)
    life, terms = history.product["product_lifecycle_policies"], history.terms
    life["billing_cycle_policies"] = {"cycle_interval": "1 month"}
    life["amortization_policies"]["method"] = "LEVEL"
    life["interest_policies"]["interest_rounding_at"] = "PERIOD_END"
    life["payment_pouring_policies"]["surplus"] = "LAST_INSTALLMENT"
    for name in ("balloon_cents", "amortization_cycles"):
        history.account.pop(name, None)
    yield history
    first = history.at(terms.opened_at).rows[maker.whole(0, terms.count - 1)]
    at = terms.at(first.due)
    then = history.at(at)
    if then.status == "CLOSED" or then.current.is_tail or then.current.n < 1:
        return
    later = [one for one in history.inputs if one.at > at]
    boarded = copy.copy(history)
    boarded.account = {"effective_at": history.account["effective_at"], "opening": figures(then, at)}
    boarded.inputs = later
    history.until = boarded.until = max(history.until, at + timedelta(days=40))
    one, other = history.at(), boarded.at()
    for name in ("principal", "interest", "fees", "surplus", "status"):
        assert getattr(one, name) == getattr(other, name), f"boarded at {at}: {name} differs"


def figures(account, at):
    past = [row for row in account.rows if row.fell_due and not account.is_paid(row)]
    listed = [{
        "due_date": row.due, "principal_cents": account.principal_left(row),
        "interest_cents": account.interest_left(row), "total_cents": row.charged + row.principal,
    } for row in past]  # fmt: skip
    coming = [row for row in account.rows if not row.fell_due]
    fees = [
        {"line_item_id": item.id.replace("dbk_", "old_"), "amount_cents": item.left,
         "fee_class": "PENALTY" if item.is_penalty else "FEE"}
        for item in account.fee_items if item.left]  # fmt: skip
    return {
        "as_of": at.isoformat(), "principal_cents": account.principal, "next_due_date": coming[0].due,
        "remaining_installments": len(coming), "payment_amount_cents": coming[0].amount or 1,
        "accrued_from": coming[0].start, "carried_interest_cents": account.carried(), "past_due": listed, "fees": fees,
        "received_since_due_cents": account.received_for(past[-1]) if past else 0,
        "late_fees_charged_cents": account.late_fees_charged(),
        "consecutive_late_fees": account.late_in_a_row, "account_status": account.status,
        "account_substatus": account.subtype,
    }  # fmt: skip


CHECKS = [cents_are_somewhere, identity, order, changes_alone, lower_rates, reduce_keeps_principal, cures, no_pyramids]


def run(check, seed):
    steps = check(Maker(seed))
    history = None
    try:
        history = next(steps)
        next(steps, None)
    except StopIteration:
        return None
    except Exception as error:  # a check that fails, or an oracle that stumbles
        what = str(error) if isinstance(error, AssertionError) else traceback.format_exc()
        return f"{check.__name__} {seed}: {what}\n{history.told() if history else ''}"
    return None


def main(arguments):
    count, first = int(arguments[0]) if arguments else 100, int(arguments[1]) if len(arguments) > 1 else 1
    wrong = 0
    for check in CHECKS + [boarding]:
        failures = [found for seed in range(first, first + count) if (found := run(check, seed))]
        print(f"{check.__name__}: {count - len(failures)} of {count}")
        for failure in failures[:2]:
            print("  " + failure.replace("\n", "\n    "))
        wrong += len(failures)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
