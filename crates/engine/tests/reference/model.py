"""The reference model: an account computed a second time, plainly and exactly, from the rules alone.

It shares no code with the engine. It keeps no snapshots and no running sums, computes interest in exact fractions, and
folds again from the beginning wherever the rules require it. `run` takes a case and returns its result, like the
engine's test tools.
"""

from dates import parse_moment, show_moment
from fold import Fold
from reading import read
from terms import Terms


def run(case):
    try:
        terms = Terms(case["product"], case["account"])
    except ValueError as error:
        return {"error": str(error)}
    # Equal times keep the loading order.
    inputs = sorted(({**wanted, "at": parse_moment(wanted["effective_at"])} for wanted in case["inputs"]), key=by_time)
    fold, waiting, reads = Fold(terms, inputs), list(inputs), []
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
        for item in state.items
        if item["kind"] != "PAYMENT" or state.payments[item["of"]]["state"] != "INVALID"
    ]
    notices = [{"event": event, "at": show_moment(at), "row": row} for event, at, row in state.notices]
    return {"reads": reads, "items": items, "notices": notices, "rejected": state.refused}


def by_time(wanted):
    """An input posted late sorts after the moments of its instant."""
    return wanted["at"], wanted.get("posted_late", False)
