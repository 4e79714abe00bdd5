"""What somebody asks for: payments and their fates, fees, waivers, offsets, refunds, status, notices."""

from items import TAIL, Item, Part
from surplus import BY_ITSELF
from terms import money


class Inputs:
    def apply(self, one):
        was_past_due = bool(self.past_due_rows())
        body = one.body
        cents = body.get("original_amount_cents", body.get("amount_cents", 0))
        name = body.get("line_item_id", f"dbk_{one.kind}_{one.seq}")
        getattr(self, f"apply_{one.kind}")(one, name, cents)
        self.use_surplus()
        self.settle_status(was_past_due)

    # Payments

    def apply_payment(self, one, name, cents):
        status = one.body.get("line_item_status", "VALID")
        item = self.add(Item(name, "PAYMENT", one.effective_at, self.now, -cents, status))
        item.allocation = one.body.get("allocation")
        if status in ("VALID", "PENDING") or (status == "AUTHORIZED" and name in self.valid_later):
            self.receive(item)

    def receive(self, item):
        if item.id in self.without:  # under REPLAY a payment that bounced was never made
            item.reversed = True
            return
        self.receipts.append((self.now, -item.amount, item))
        self.pour(-item.amount, item, item.allocation)
        self.write_off_rest(item)

    def apply_payment_status(self, one, name, cents):
        target, status = self.items[one.target], one.body["line_item_status"]
        self.announce("line_item_update")
        is_authorized = target.status == "AUTHORIZED" and target.id not in self.valid_later
        if status == "VALID" and is_authorized:
            target.applied_at = self.now
            self.receive(target)
        elif status != "VALID" and target.status == "PENDING":
            self.undo(target)
        target.status = status

    def apply_payment_reversal(self, one, name, cents):
        payment = self.items[one.target]
        back = self.undo(payment) if payment.id not in self.without else {}
        self.add(Item(name, "PAYMENT_REVERSAL", one.effective_at, self.now, -payment.amount))
        for what, part in back.items():
            if part:
                child, kind = f"dbk_reversed_{what.lower()}:{name}", f"PAYMENT_REVERSAL_{what}"
                self.add(Item(child, kind, one.effective_at, self.now, part))
        self.announce("payment_reversed")
        if self.terms.reversal_fee and self.subtype != "CHARGE_OFF":
            self.charge(f"dbk_return_check_fee:{name}", "RETURN_CHECK_FEE", self.terms.reversal_fee, is_penalty=True)
        self.tell(f"payment {payment.id} bounces")

    def undo(self, payment):
        """A payment is taken back, and what followed from it."""
        if payment.reversed or payment.id in self.without:
            return {}
        owed_before, unpaid_before = self.principal + self.interest + self.fees, self.unpaid_after_grace()
        self.undo_uses(payment)
        back = self.take_back(payment)
        self.take_back_write_off(payment)
        self.owe_refunds(payment)
        self.use_surplus()
        owes_more = self.principal + self.interest + self.fees > owed_before
        if (self.status, self.subtype) in BY_ITSELF and owes_more:
            self.reopen()
        if self.terms.policy == "AS_POSTED":
            self.count_late_again(unpaid_before)
        return back

    # Fees and offsets

    def apply_manual_fee(self, one, name, cents):
        penalty = one.body.get("fee_class", "FEE") == "PENALTY"
        self.charge(name, "MANUAL_FEE", cents, one.effective_at, penalty)
        self.tell(f"manual fee {name} of {money(cents)}")

    def apply_fee_waiver(self, one, name, cents):
        self.waive(self.items[one.target], name, one.effective_at)

    def waive(self, fee, name, effective_at):
        left = fee.left
        fee.waived += left
        for part in fee.parts:
            part.left = 0
        self.add(Item(name, "FEE_WAIVER", effective_at, self.now, -left))
        self.tell(f"{money(left)} of {fee.id} is waived")

    def apply_debit_offset(self, one, name, cents):
        item = self.add(Item(name, "DEBIT_OFFSET", one.effective_at, self.now, -cents))
        self.pour(cents, item, one.body.get("allocation"))

    def apply_credit_offset(self, one, name, cents):
        """More is owed: principal of the last row, interest of the open one, or a fee."""
        what = one.body.get("allocation", "PRINCIPAL")
        item = self.add(Item(name, "CREDIT_OFFSET", one.effective_at, self.now, cents))
        if what == "PRINCIPAL":
            self.raise_principal(cents)
        elif what == "INTEREST":
            row = self.open_row
            item.owes, item.parts = "INTEREST", [Part(item, row or TAIL, cents, top=row is not None)]
            if row is not None:
                row.charged_on_top += cents
        else:
            item.owes, item.parts = "FEE", [Part(item, self.row_of(self.now), cents)]
        self.tell(f"credit offset of {money(cents)} to {what.lower()}")

    def raise_principal(self, cents):
        self.count_today()
        self.principal += cents

    # Refunds

    def apply_refund(self, one, name, cents):
        self.refund(one, name, cents)

    def apply_refund_reversal(self, one, name, cents):
        self.reverse_refund(one, self.items[one.target])

    # The account

    def apply_status(self, one, name, cents):
        self.set_by_hand(one.body["account_status"], one.body.get("account_substatus"))

    def apply_notification_config(self, one, name, cents):
        key = (one.body["notification_type"], one.body.get("time_offset"))
        self.notices[key] = (self.now, one.body) if one.body.get("enabled", True) else None
        self.announce("account_update")
