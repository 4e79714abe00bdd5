"""Surplus: what paid no debt, its use, and its refund."""

from items import Item
from terms import money

BY_ITSELF = (("CLOSED", "PAID_OFF"), ("CLOSED", "SURPLUS_BALANCE"))


class Surplus:
    @property
    def surplus(self):
        return sum(item.surplus for item in self.items.values())

    def draw(self, cents, item):
        """Takes surplus from where it is, the oldest first."""
        for source in list(self.items.values()):
            part = min(cents, source.surplus)
            if part and source is not item:
                source.surplus -= part
                item.fed_by.append((source, part))
                cents -= part

    def give_back(self, item):
        for source, cents in item.fed_by:
            source.surplus += cents
        item.fed_by = []

    def use_surplus(self):
        """As soon as something is owed, surplus pays it."""
        owed = self.payoff(self.now) if self.surplus and not self.surplus_waits else 0
        cents = min(self.surplus, owed)
        if cents <= 0:
            return
        number = 1 + sum(item.type == "SURPLUS_APPLIED" for item in self.items.values())
        item = Item(f"dbk_surplus_{number}", "SURPLUS_APPLIED", self.now, self.now, -cents)
        self.draw(cents, item)
        self.add(item)
        self.pour(cents, item)

    def undo_uses(self, payment):
        """Uses of a payment's surplus are reversed, the newest first."""
        for used in reversed(list(self.items.values())):
            if used.type == "SURPLUS_APPLIED" and any(source is payment for source, _ in used.fed_by):
                self.take_back(used)
                number = 1 + sum(item.type == "SURPLUS_APPLIED" for item in self.items.values())
                self.add(Item(f"dbk_surplus_{number}", "SURPLUS_APPLIED", self.now, self.now, -used.amount))
                self.give_back(used)

    def owe_refunds(self, payment):
        """What was refunded of a payment's surplus is owed when the payment is undone."""
        for refund in [item for item in self.items.values() if item.type == "REFUND"]:
            cents = sum(part for source, part in refund.fed_by if source is payment)
            refund.fed_by = [(source, part) for source, part in refund.fed_by if source is not payment]
            self.owe_refund(refund, cents)

    def owe_refund(self, refund, cents):
        if cents:
            name = f"dbk_refund_excess:{refund.id}"
            name += f".{len(self.items)}" if name in self.items else ""
            self.add(Item(name, "CREDIT_OFFSET", self.now, self.now, cents))
            self.raise_principal(cents)

    def refund(self, one, name, cents):
        item = Item(name, "REFUND", one.effective_at, self.now, cents)
        self.draw(cents, item)
        self.add(item)
        self.owe_refund(item, cents - sum(part for _, part in item.fed_by))
        self.tell(f"refund of {money(cents)}")

    def reverse_refund(self, one, refund):
        name = f"dbk_refund_reversal:{refund.id}"
        item = Item(name, "REFUND_REVERSAL", one.effective_at, self.now, -refund.amount, surplus=refund.amount)
        refund.reversed, refund.fed_by = True, []
        self.add(item)
        self.tell(f"refund {refund.id} of {money(refund.amount)} came back")

    def name_what_is_left(self):
        """PAID_OFF with money is SURPLUS_BALANCE, and without it again PAID_OFF."""
        if (self.status, self.subtype) in BY_ITSELF and not self.payoff(self.now):
            self.set_status("CLOSED", "SURPLUS_BALANCE" if self.surplus else "PAID_OFF")

    # Small balances

    def write_off_rest(self, payment=None):
        """A payoff so small is taken off."""
        cents = self.payoff(self.now)
        if 1 <= cents <= self.terms.write_off and self.moves_by_itself() and not self.is_projection:
            number = 1 + sum(item.id.startswith("dbk_write_off_") for item in self.items.values())
            item = self.add(Item(f"dbk_write_off_{number}", "DEBIT_OFFSET", self.now, self.now, -cents))
            self.pour(cents, item)
            if payment is not None:
                payment.write_off = item

    def take_back_write_off(self, payment):
        item, payment.write_off = payment.write_off, None
        if item is not None:
            self.take_back(item)
            self.add(Item(f"{item.id}.back", "CREDIT_OFFSET", self.now, self.now, -item.amount))
