"""The reference model: an account computed a second time, plainly and exactly, from the rules alone.

It shares no code with the engine. It keeps no snapshots and no running sums, computes interest in exact fractions, and
folds again from the beginning wherever the rules require it. `run` takes a case and returns its result, like the
engine's test tools.
"""

from dates import parse_moment, show_moment
from fold import Fold
from reading import read
from terms import Terms

RATES = ("interest_rate", "temp_promo", "interest_pause")
PLAN = (
    "due_date", "skip", "extension", "payment_deferral", "re_amortization", "re_age", "restructure", "capitalization",
)  # fmt: skip


def run(case):
    # Equal times keep the loading order.
    inputs = sorted(({**wanted, "at": parse_moment(wanted["effective_at"])} for wanted in case["inputs"]), key=by_time)
    try:
        fold = Fold(Terms(case["product"], case["account"]), mark_cancelled(inputs))
    except ValueError as error:
        return {"error": str(error)}
    waiting, reads = list(fold.inputs), []
    for text in case["read_at"]:
        at = parse_moment(text)
        while waiting and waiting[0]["at"] <= at:
            fold.apply(waiting.pop(0))
        fold.pass_moments(at, inclusive=True)
        fold.state.move_to(at)
        reads.append({"at": text, **read(fold.state)})
    state = fold.state
    items = [
        {"type": item["kind"], "effective_at": show_moment(item["at"]), "amount_cents": item["amount"]}
        | ({"reason": item["reason"]} if item["reason"] else {})
        for item in state.items
        if item["kind"] != "PAYMENT" or state.payments[item["of"]]["state"] != "INVALID"
    ]
    notices = [{"event": event, "at": show_moment(at), "row": row} for event, at, row in state.notices]
    return {"reads": reads, "items": items, "notices": notices, "rejected": state.refused}


def by_time(wanted):
    """At one instant rates come first, then changes of the plan. An input posted late sorts after the moments of its
    instant."""
    late = wanted.get("posted_late", False)
    return wanted["at"], late, 0 if late else 1 if wanted["kind"] in RATES else 2 if wanted["kind"] in PLAN else 3


def mark_cancelled(inputs):
    """A held change that is cancelled is as if it had never been made."""
    held = [wanted for wanted in inputs if wanted["kind"] == "change_cancel" and not wanted.get("posted_late")]
    cancelled = {wanted["change"] for wanted in held}
    mark = lambda wanted: wanted["id"] in cancelled and wanted["kind"] in RATES + PLAN
    return [{**wanted, "cancelled": mark(wanted)} for wanted in inputs]
