"""boarding.py SEED COUNT: boards random loans in mid-life, with the figures of the model at the end of a period, and
checks that what follows is as with the whole history."""

import random
import sys
from datetime import timedelta

from dates import parse_moment, show_moment
from fold import Fold
from model import by_time, mark_cancelled, run
from situations import exactly
from terms import Terms

SAME = (
    "status", "substatus", "principal_cents", "interest_cents", "fees_cents", "surplus_cents", "payoff_cents",
    "days_past_due", "past_due_cents", "consecutive_late_fees",
)  # fmt: skip
ROW = ("due_date", "interest_cents", "principal_cents", "total_cents", "outstanding_cents")


def whole(rng):
    life = {
        "billing_cycle_policies": {"product_time_zone": "UTC", "close_of_business_time": "17:00:00"},
        "interest_policies": {
            "interest_calc_method": rng.choice(["DAILY", "PERIODIC"]),
            "day_count": rng.choice(["THIRTY_360", "ACTUAL_365", "ACTUAL_ACTUAL"]),
        },
        "payment_due_policies": {"delinquent_on_n_consecutive_late_fees": rng.choice([1, 2])},
        "default_attributes": {"default_late_fee_cents": rng.choice([0, 1500])},
        "amortization_policies": {"method": rng.choice(["LEVEL", "LEVEL", "EQUAL_PRINCIPAL"])},
    }
    rate = rng.choice([5, 12, 36])
    lending = {"post_promo_len": rng.randint(3, 12), "post_promo_default_interest_rate_percent": rate}
    product = {"product_lifecycle_policies": life, "post_promotional_policies": lending}
    account = {"effective_at": "2025-01-15T12:00:00Z", "summary": {"initial_principal_cents": 120000}}
    return {"product": product, "account": account}


def fold_to(case, at):
    inputs = sorted(({**one, "at": parse_moment(one["effective_at"])} for one in case["inputs"]), key=by_time)
    fold = Fold(Terms(exactly(case["product"]), exactly(case["account"])), mark_cancelled(inputs))
    for one in inputs:
        fold.apply({**one, "cancelled": False})
    fold.pass_moments(at, inclusive=True)
    fold.state.move_to(at)
    return fold.state


def opening(state, at):
    """The figures of an account after a due moment."""
    rows = [state.rows[k] for k in state.past_due_rows()]
    coming = state.rows[state.passed + 1]
    past = [
        {
            "due_date": row.due.isoformat(), "principal_cents": row.unpaid_principal,
            "interest_cents": row.unpaid_interest, "total_cents": row.whole,
        }
        for row in rows
    ]  # fmt: skip
    by_id = {row.id: row.due.isoformat() for row in state.rows[1:-1]}
    fees = [
        {
            "line_item_id": f"fee-{fee.name[4:]}", "amount_cents": fee.unpaid, "fee_class": "PENALTY",
            "due_date": by_id[fee.row],
        }
        for fee in state.fees
        if fee.unpaid
    ]  # fmt: skip
    return {
        "as_of": show_moment(at), "principal_cents": state.principal, "next_due_date": coming.due.isoformat(),
        "remaining_installments": state.count - state.passed, "past_due": past, "fees": fees,
        "carried_interest_cents": sum(row.unpaid_interest for row in state.rows[state.passed + 1 : -1]),
        "accrued_from": coming.start.isoformat(), "consecutive_late_fees": state.late_count,
        "account_status": state.status[0], "account_substatus": state.status[1],
        **({"payment_amount_cents": coming.total} if coming.total else {}),
    }  # fmt: skip


def can_be_boarded(state):
    """An opening cannot name a paid row, to which an unpaid fee belongs."""
    paid = {state.rows[k].id for k in range(1, state.passed + 1) if state.is_paid(k)}
    return not any(fee.unpaid and fee.row in paid for fee in state.fees)


def differences(rng):
    case = whole(rng)
    outline = fold_to({**case, "inputs": []}, parse_moment(case["account"]["effective_at"]))
    typical = outline.rows[1].total or 40000
    inputs = []
    for k in range(1, outline.count + 2):
        at = outline.end_moment(k) + timedelta(days=rng.choice([-9, -1, 0, 3, 20]), minutes=rng.choice([-5, 0]))
        if rng.random() < 0.7:
            cents = rng.choice([typical, typical, typical // 2, typical * 2])
            payment = {"id": f"p{k}", "kind": "payment", "effective_at": show_moment(at)}
            inputs.append({**payment, "original_amount_cents": cents})
    at = outline.end_moment(rng.randint(1, outline.count - 1)) + timedelta(hours=1)
    before = [one for one in inputs if parse_moment(one["effective_at"]) <= at]
    after = [one for one in inputs if one not in before]
    state = fold_to({**case, "inputs": before}, at)
    if state.closed or state.end_paid or not can_be_boarded(state):
        return []
    account = {"effective_at": case["account"]["effective_at"], "opening": opening(state, at)}
    boarded = {"product": case["product"], "account": account, "inputs": after}
    reads = [show_moment(at + timedelta(days=days)) for days in (0, 9, 40, 100, 300)]
    one, other = (run(exactly({**given, "read_at": reads})) for given in ({**case, "inputs": inputs}, boarded))
    found = []
    for full, part in zip(one["reads"], other["reads"]):
        found += [f"{full['at']} {name}: {full[name]}, {part[name]}" for name in SAME if full[name] != part[name]]
        rows = zip(reversed(full["schedule"]), reversed(part["schedule"]))
        coming = list(rows)[: state.count - state.passed]
        found += [f"{full['at']} row {a['row']} {n}: {a[n]}, {b[n]}" for a, b in coming for n in ROW if a[n] != b[n]]
    return found


def main():
    rng, count, failures = random.Random(int(sys.argv[1])), int(sys.argv[2]), 0
    for number in range(count):
        found = differences(rng)
        failures += bool(found)
        if found:
            print(f"case {number}: {'; '.join(found[:4])}")
    print(f"boarded {count} loans: {failures} differ")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
