"""compare.py CASES RESULTS: computes every case again and compares with the engine's results, one JSON line each.

Prints the first few cases that differ, each with everything needed to understand it, and a count as the last line.
Exits with 1 if any differ. Two results are compared regardless of split or order: interest items of the same time by
their sum (the model does not split a payment's interest by period), and notices as a set. The parts of a reversal by
component are left out; they only repeat the balances.
"""

import json
import sys
import traceback
from collections import Counter
from decimal import Decimal

from dates import parse_moment, show_moment
from model import run

SHOWN_CASES, SHOWN_DIFFERENCES = 3, 12


def same_moment(text):
    return show_moment(parse_moment(text))


def comparable(result):
    if "reads" not in result:
        return {"refused": "error" in result, "failed": result.get("failed")}
    interest, items = Counter(), []
    for item in result["items"]:
        at = same_moment(item["effective_at"])
        if item["type"] == "INTEREST":
            interest[at] += item["amount_cents"]
        elif not item["type"].startswith("PAYMENT_REVERSAL_"):
            items.append(f"{at} {item['type']} {item['amount_cents']} {item.get('reason') or ''}")
    items += [f"{at} INTEREST {cents}" for at, cents in interest.items()]
    notices = [f"{same_moment(notice['at'])} {notice['event']} {notice['row']}" for notice in result["notices"]]
    return {"reads": result["reads"], "items": items, "notices": notices, "rejected": result["rejected"]}


def differences(model, engine, path=""):
    """Lines `where: the model's, not the engine's`."""
    if model == engine:
        return []
    lines = []
    if isinstance(model, dict) and isinstance(engine, dict):
        for name in [*model, *(name for name in engine if name not in model)]:
            lines += differences(model.get(name), engine.get(name), f"{path}.{name}" if path else name)
    elif path in ("items", "notices", "rejected"):
        missing, more = Counter(model) - Counter(engine), Counter(engine) - Counter(model)
        lines += [f"{path}: the model has {line}" for line in sorted(missing.elements())]
        lines += [f"{path}: the engine has {line}" for line in sorted(more.elements())]
    elif isinstance(model, list) and isinstance(engine, list) and len(model) == len(engine):
        for number, (mine, other) in enumerate(zip(model, engine)):
            lines += differences(mine, other, f"{path}[{number}]")
    else:
        lines.append(f"{path}: model {model}, engine {engine}")
    return lines


def show(number, line, found):
    case = json.loads(line)
    print(f"case {number}: {len(found)} differences")
    for name in ("product_lifecycle_policies", "post_promotional_policies"):
        print(f"  {name} {json.dumps(case['product'].get(name))}")
    print(f"  account {json.dumps(case['account'])}")
    for wanted in sorted(case["inputs"], key=lambda wanted: parse_moment(wanted["effective_at"])):
        rest = {name: value for name, value in wanted.items() if name not in ("effective_at", "kind", "id")}
        print(f"  {wanted['effective_at']} {wanted['kind']} {wanted['id']} {json.dumps(rest)}")
    print(f"  read at {' '.join(case['read_at'])}")
    for difference in found[:SHOWN_DIFFERENCES]:
        print(f"  * {difference}")
    if len(found) > SHOWN_DIFFERENCES:
        print(f"  * ... {len(found) - SHOWN_DIFFERENCES} more")


def computed(case):
    try:
        return run(case)
    except Exception:  # The case is shown with the error.
        return {"failed": traceback.format_exc()}


def main():
    cases, results = (open(name, encoding="utf-8").read().splitlines() for name in sys.argv[1:3])
    assert len(cases) == len(results), f"{len(cases)} cases, {len(results)} results"
    differing = reads = refused = 0
    for number, (line, result) in enumerate(zip(cases, results)):
        model, engine = computed(json.loads(line, parse_float=Decimal)), json.loads(result)
        found = differences(comparable(model), comparable(engine))
        reads += len(model.get("reads", []))
        refused += "error" in model
        differing += bool(found)
        if found and differing <= SHOWN_CASES:
            show(number, line, found)
    print(f"compared {len(cases)} cases, {refused} of them refused, {reads} readings: {differing} cases differ")
    sys.exit(differing > 0)


if __name__ == "__main__":
    main()
