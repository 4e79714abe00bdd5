"""Situations that random inputs rarely produce: paid payoff quotes, surplus that is used again, cures that bounce,
prepayments that are undone. Each is added to a case, with amounts read from the model."""

import json
from datetime import timedelta
from decimal import Decimal

from dates import parse_moment, show_moment
from model import run

MICRO = timedelta(microseconds=1)


def exactly(value):
    """The value as it will be parsed from the JSON line."""
    return json.loads(json.dumps(value), parse_float=Decimal)


class Situations:
    def __init__(self, rng, level, case, outline):
        self.rng, self.level, self.case, self.outline = rng, level, case, outline
        self.terms = outline.terms
        self.count = len(case["inputs"])
        self.refunds = 2 if level >= 5 else 0

    def add_some(self):
        chance = lambda share: self.rng.random() < share
        if chance(0.15):
            self.cure()
        if self.level >= 2 and chance(0.6 if self.terms.surplus == "REDUCE_PRINCIPAL" else 0.1):
            self.prepay()
        if chance(0.25):
            self.pay_off()
        if self.level >= 2 and not self.terms.replays and chance(0.12):
            self.pay_older_rows_by_surplus()
        self.case["read_at"] = sorted(set(self.case["read_at"]), key=parse_moment)

    # --- Tools ---

    def read(self, moment):
        return run(exactly({**self.case, "read_at": [show_moment(moment)]}))["reads"][0]

    def add(self, kind, moment, **fields):
        self.count += 1
        name = f"{kind}-{self.count}"
        moment = max(moment, self.outline.start)
        self.case["inputs"].append({"id": name, "kind": kind, "effective_at": show_moment(moment), **fields})
        if self.rng.random() < 0.4:
            self.read_at(moment)
        return name

    def read_at(self, *moments):
        self.case["read_at"] += [show_moment(max(moment, self.outline.start)) for moment in moments]

    def later(self, moment):
        """The same time, days later, or at or next to one of the next due moments."""
        rng, due = self.rng, self.outline.due_moment
        k = next(k for k in range(1, 2000) if due(k) >= moment)
        days = timedelta(days=rng.choice([0, 1, 3, 10, 33, 70]), hours=rng.choice([0, 0, 5]))
        return rng.choice([moment, moment + days, moment + days, due(k), due(k), due(k) + MICRO, due(k + 1)])

    # --- Situations ---

    def cure(self):
        """Rows are missed, their amounts are paid, and that payment may bounce."""
        rng, outline = self.rng, self.outline
        k = rng.randint(1, min(self.outline.count, 6))
        moment = rng.choice([outline.fee_moment, outline.due_moment])(k) + timedelta(days=rng.choice([0, 1, 4]))
        reading = self.read(moment)
        asked = reading["past_due_cents"] - rng.choice([0, 1, 1]) * reading["past_due_fees_cents"]
        if asked <= 0:
            return
        fields = {} if self.level < 2 or rng.random() < 0.7 else {"line_item_status": "PENDING"}
        cured = self.add("payment", moment, original_amount_cents=asked, **fields)
        bounce = self.later(moment)
        if self.level >= 2 and rng.random() < 0.8:
            self.undo(cured, bounce, fields)
        self.read_at(moment, bounce, bounce + timedelta(days=40))

    def undo(self, payment, moment, fields):
        if "line_item_status" in fields and self.rng.random() < 0.7:
            self.add("payment_status", moment, payment=payment, line_item_status="INVALID")
        else:
            self.add("payment_reversal", moment, payment=payment)

    def prepay(self):
        """One or two payments of much more than an instalment, undone in either order."""
        rng, terms = self.rng, self.terms
        due = self.outline.due_moment(rng.randint(1, self.outline.count))
        moment = max(self.outline.start, due - timedelta(days=rng.choice([0, 1, 20, 40])))
        made = []
        for _ in range(rng.choice([1, 1, 2])):
            amount = rng.choice([terms.principal // 2, terms.principal // 3, self.read(moment)["payoff_cents"] - 1])
            if amount > 0:
                fields = rng.choice([{}, {}, {"line_item_status": "PENDING"}])
                made.append((self.add("payment", moment, original_amount_cents=amount, **fields), fields))
            moment = self.later(moment)
        rng.shuffle(made)
        for payment, fields in made:
            if rng.random() < 0.8:
                self.undo(payment, moment, fields)
                self.read_at(moment)
            moment = self.later(moment)
        self.read_at(moment)

    def pay_older_rows_by_surplus(self):
        """An offset pays the rest of the loan, and later payments are surplus. The surplus pays rows whose payment
        bounces. More is lent, so that later rows require money again, and may be spared by payments since."""
        rng, principal, due = self.rng, self.terms.principal, self.outline.due_moment
        made = [one for one in self.case["inputs"] if one["kind"] == "payment" and "line_item_status" not in one]
        if not made:
            return
        first = rng.choice(made)
        usual, moment = first["original_amount_cents"], parse_moment(first["effective_at"])
        self.drop_inputs_after(moment)
        next_due = next(due(k) for k in range(1, 2000) if due(k) >= moment)
        moment = rng.choice([moment, next_due, self.later(moment)])
        payoff = self.read(moment)["payoff_cents"]
        if payoff <= 0:
            return
        self.add("debit_offset", moment, amount_cents=payoff, allocation="PRINCIPAL")
        soon = lambda moment: moment + timedelta(hours=rng.choice([0, 1, 12, 40]))
        moment, paid = soon(max(moment, rng.choice([moment, next_due + MICRO, next_due + MICRO]))), []
        for _ in range(rng.choice([1, 1, 2])):
            moment, amount = soon(moment), rng.choice([usual, usual, usual // 2 + 1, usual + 1])
            paid.append(self.add("payment", moment, original_amount_cents=amount))
        for bounced in [first["id"], *(paid[-1:] if rng.random() < 0.3 else [])]:
            moment = soon(moment)
            self.add("payment_reversal", moment, payment=bounced)
        moment = soon(moment)
        amount = rng.choice([principal, principal // 2 + 1])
        self.add("credit_offset", moment, amount_cents=amount, allocation="PRINCIPAL")
        self.add("status", soon(moment), account_status="ACTIVE", account_substatus=None)
        self.read_at(*(moment + timedelta(days=days) for days in (0, 20, 45, 80)))

    def drop_inputs_after(self, moment):
        inputs = [one for one in self.case["inputs"] if parse_moment(one["effective_at"]) <= moment]
        left = {one["id"] for one in inputs}
        self.case["inputs"] = [one for one in inputs if one.get("payment", one["id"]) in left]

    def pay_off(self):
        """A payment of the payoff, or nearly, or much more; later inputs may use the surplus or reverse it."""
        rng = self.rng
        moment = parse_moment(rng.choice(self.case["read_at"]))
        more = rng.choice([0, 0, 0, 0, 1, -1, 100, self.terms.principal // 2])
        if self.terms.write_off and rng.random() < 0.6:
            more = -rng.randint(1, self.terms.write_off)
        amount = self.read(moment)["payoff_cents"] + more
        if amount <= 0:
            return
        earlier = [one["id"] for one in self.case["inputs"] if one["kind"] == "payment"]
        payment = self.add("payment", moment, original_amount_cents=amount)
        self.read_at(moment)
        for _ in range(rng.choice([0, 0, 1, 2, 3]) if self.level >= 2 else 0):
            moment = self.later(moment)
            kinds = ["reversal", "reversal", "fee", "credit", "bounce", "payment"]
            what = rng.choice(kinds + ["refund"] * self.refunds)
            if what == "refund":
                amount = rng.choice([1, 100, self.terms.principal // 3 + 1])
                refund = self.add("refund", moment, original_amount_cents=amount)
                if rng.random() < 0.4:
                    self.add("refund_reversal", self.later(moment), refund=refund)
            elif what == "fee":
                self.add("manual_fee", moment, amount_cents=rng.choice([1, 700, 5000]), fee_class="FEE")
            elif what == "credit":
                amount = rng.choice([100, self.terms.principal // 3 + 1])
                allocation = rng.choice(["PRINCIPAL", "INTEREST"])
                self.add("credit_offset", moment, amount_cents=amount, allocation=allocation)
            elif what == "payment":
                self.add("payment", moment, original_amount_cents=rng.choice([1, 5000, self.terms.principal // 4 + 1]))
            elif what == "reversal" and earlier:
                self.add("payment_reversal", moment, payment=rng.choice(earlier))
            else:
                self.add("payment_reversal", moment, payment=payment)
        self.read_at(moment, moment + timedelta(days=40))
