"""properties.py SEED COUNT: checks on random cases what must hold for every account. Prints what does not, and a count
as the last line."""

import json
import random
import sys
from datetime import timedelta
from decimal import Decimal

from cases import Cases
from dates import parse_moment, show_moment
from model import PLAN, RATES, run
from situations import exactly

CHANGING = ("interest_rate_percent", "is_active_scra")


def result(case, without=()):
    found = run(exactly(case))
    for reading in found.get("reads", []):
        for field in without:
            reading.pop(field)
    return found


class Checks:
    def __init__(self, seed, case):
        self.rng, self.case = random.Random(seed), case
        self.plain = result(case)
        self.off = []

    def same(self, name, inputs, without=()):
        plain = result(self.case, without) if without else self.plain
        changed = result({**self.case, "inputs": inputs}, without)
        if changed != plain:
            self.off.append(name)

    def with_input(self, kind, at, **fields):
        one = {"id": "added", "change_id": "added", "kind": kind, "effective_at": show_moment(at), **fields}
        return [*self.case["inputs"], one]

    def moment(self):
        reads = [parse_moment(at) for at in self.case["read_at"]]
        start, end = reads[0], max(reads[-1], reads[0] + timedelta(seconds=1))
        start = max(start, parse_moment((self.case["account"].get("opening") or {}).get("as_of", show_moment(start))))
        return start + timedelta(seconds=self.rng.randint(0, max(0, int((end - start).total_seconds()))))

    def all(self):
        if "error" in self.plain:
            return
        self.any_order()
        self.cancelled()
        self.cents()
        kept = self.case["product"]["product_lifecycle_policies"]["amortization_policies"].get("method")
        if kept not in ("FLAT", "PRECOMPUTED"):
            self.nothing_changes()
            self.less_interest()

    def any_order(self):
        """Equal times keep their order."""
        inputs = list(self.case["inputs"])
        keys = {one["id"]: self.rng.random() for one in inputs}
        times = [parse_moment(one["effective_at"]) for one in inputs]
        groups = {}
        for one, at in zip(inputs, times):
            groups.setdefault(at, []).append(one)
        mixed = sorted(inputs, key=lambda one: keys[one["id"]])
        turns = {at: iter(group) for at, group in groups.items()}
        self.same("any order", [next(turns[parse_moment(one["effective_at"])]) for one in mixed])

    def cancelled(self):
        """A change that is cancelled changes nothing; nor does another input that a cancel names."""
        kinds = [one for one in self.case["inputs"] if one["kind"] in RATES + PLAN]
        if not kinds:
            return
        one = self.rng.choice(kinds)
        if any(other.get("change") == one["id"] for other in self.case["inputs"]):
            return
        cancel = self.with_input("change_cancel", self.moment(), change=one["id"])
        without = [other for other in self.case["inputs"] if other is not one]
        if result({**self.case, "inputs": cancel}) != result({**self.case, "inputs": without}):
            self.off.append("a change and its cancel")

    def nothing_changes(self):
        at = self.moment()
        reading = result({**self.case, "read_at": [show_moment(at)]})["reads"][0]
        inputs = self.with_input("interest_rate", at, interest_rate=999, tags={"mla": True}, level_payment="KEEP")
        self.same("a cap above the rate", inputs)
        day = show_moment(at)[:10]
        self.same("a pause of no days", self.with_input("interest_pause", at, end=day, start=day), CHANGING)
        rates = any(one["kind"] in (*RATES, "restructure") for one in self.case["inputs"])
        if not rates:
            percent = self.case["product"]["post_promotional_policies"]["post_promo_default_interest_rate_percent"]
            own = self.case["account"].get("post_promo_overview")
            percent = own["post_promo_impl_interest_rate_percent"] if own else percent
            inputs = self.with_input("interest_rate", at, interest_rate=percent, level_payment="KEEP")
            self.same("the same rate", inputs)
        ahead = [row["due_date"] for row in reading["schedule"] if row["due_date"] > day and not row["retired"]]
        if ahead and not reading["status"] == "CLOSED":
            date = self.rng.choice(ahead)
            inputs = self.with_input("due_date", at, next_due_date=date, from_due_date=date)
            before, self.plain["rejected"] = self.plain["rejected"], []
            found = result({**self.case, "inputs": inputs})
            rejected = [one for one in found["rejected"] if one != "added"]
            if rejected != before or {**found, "rejected": []} != self.plain:
                self.off.append("a due date moved to itself")
            self.plain["rejected"] = before

    def less_interest(self):
        """A pause never raises the interest earned to any date."""
        at = self.moment()
        day = show_moment(at + timedelta(days=self.rng.choice([3, 20, 60])))[:10]
        paused = result({**self.case, "inputs": self.with_input("interest_pause", at, end=day)})
        for number in range(len(self.case["read_at"])):
            if earned(paused, number) > earned(self.plain, number):
                self.off.append(f"a pause raises interest by {earned(paused, number) - earned(self.plain, number)}")
                return

    def cents(self):
        """Items add up to the balances at the last reading."""
        reading = self.plain["reads"][-1]
        balances = sum(reading[f"{one}_cents"] for one in ("principal", "interest", "fees")) - reading["surplus_cents"]
        total = sum(one["amount_cents"] for one in self.plain["items"] if counts(one))
        total -= (self.case["account"].get("opening") or {}).get("surplus_cents") or 0
        if total != balances:
            self.off.append(f"cents: items {total}, balances {balances}")


def earned(found, number):
    """Interest up to a reading: items, and what has accrued."""
    reading = found["reads"][number]
    at = parse_moment(reading["at"])
    items = [one for one in found["items"] if one["type"] == "INTEREST" and parse_moment(one["effective_at"]) <= at]
    owed = sum(reading[f"{one}_cents"] for one in ("principal", "interest", "fees"))
    return sum(one["amount_cents"] for one in items) + reading["payoff_cents"] - owed


def counts(item):
    """Surplus that is used only moves; what a refund lacks is in the refund or the reversal already."""
    return item["type"] not in ("CHARGE_OFF", "SURPLUS_APPLIED") and item.get("reason") != "REFUND_EXCESS"


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    failures = 0
    for level in (4, 5):
        cases = Cases(seed, level)
        for number in range(count):
            case = cases.case()
            checks = Checks(number, case)
            checks.all()
            failures += bool(checks.off)
            if checks.off:
                print(f"level {level}, case {number}: {', '.join(checks.off)}")
    print(f"checked {2 * count} cases: {failures} do not hold")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
