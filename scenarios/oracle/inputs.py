"""What somebody asks for: payments and their fates, fees, waivers, offsets, status, notices."""

from items import Item
from terms import money

CLOSED_BY_ITSELF = ("PAID_OFF", "SURPLUS_BALANCE")


class Inputs:
    def apply(self, one):
        body, was_past_due = one.body, bool(self.past_due_rows())
        cents = body.get("original_amount_cents", body.get("amount_cents", 0))
        name = body.get("line_item_id", f"dbk_{one.kind}_{one.seq}")
        target = self.items.get(one.target)
        if one.kind == "payment":
            status = body.get("line_item_status", "VALID")
            item = self.add(Item(name, "PAYMENT", one.effective_at, self.now, -cents, status))
            item.allocation = body.get("allocation")
            if status in ("VALID", "PENDING") or (status == "AUTHORIZED" and name in self.valid_later):
                self.receive(item)
        elif one.kind == "payment_status":
            self.announce("line_item_update")
            is_authorized = target.status == "AUTHORIZED" and target.id not in self.valid_later
            if body["line_item_status"] == "VALID" and is_authorized:
                target.applied_at = self.now
                self.receive(target)
            elif body["line_item_status"] != "VALID" and target.status == "PENDING":
                self.undo(target)
            target.status = body["line_item_status"]
        elif one.kind == "payment_reversal":
            self.reverse(one, target, name)
        elif one.kind == "manual_fee":
            penalty = body.get("fee_class", "FEE") == "PENALTY"
            self.charge(name, "MANUAL_FEE", cents, one.effective_at, penalty)
            self.tell(f"manual fee {name} of {money(cents)}")
        elif one.kind == "fee_waiver":
            left = target.left
            target.unpaid = [(row, 0) for row, _ in target.unpaid]
            self.add(Item(name, "FEE_WAIVER", one.effective_at, self.now, -left))
            self.tell(f"{money(left)} of {target.id} is waived")
        elif one.kind == "debit_offset":
            item = self.add(Item(name, "DEBIT_OFFSET", one.effective_at, self.now, -cents))
            self.pour(cents, item, body.get("allocation"))
        elif one.kind == "credit_offset":
            if body.get("allocation", "PRINCIPAL") != "PRINCIPAL":
                raise NotImplementedError("the oracle knows credit offsets to principal only")
            self.count_to(min(self.terms.local_date(self.now), self.terms.due_on(self.period)))
            self.add(Item(name, "CREDIT_OFFSET", one.effective_at, self.now, cents))
            self.principal += cents
            self.tell(f"credit offset of {money(cents)} to principal")
        elif one.kind == "status":
            if body["account_status"] == "CLOSED" and self.status != "CLOSED":
                self.post_open_interest()
            self.set_status(body["account_status"], body.get("account_substatus"))
        elif one.kind == "notification_config":
            key = (body["notification_type"], body.get("time_offset"))
            self.notices[key] = (self.now, body) if body.get("enabled", True) else None
            self.announce("account_update")
        self.settle_status(was_past_due)

    def receive(self, item):
        if item.id in self.without:  # under REPLAY a payment that bounced was never made
            item.reversed = True
            return
        self.receipts.append((self.now, -item.amount, item))
        self.pour(-item.amount, item, item.allocation)

    def undo(self, item):
        owed_before = self.principal + self.interest + self.fees
        back = self.take_back(item)
        owes_more = self.principal + self.interest + self.fees > owed_before
        if self.status == "CLOSED" and self.subtype in CLOSED_BY_ITSELF and owes_more:
            self.reopen()
        if not self.without:
            self.count_late_again()
        return back

    def count_late_again(self):
        """As posted, instalments that are unpaid again after their grace are late again, without a fee."""
        count = 0
        for row in reversed([row for row in self.rows.values() if row.judged]):
            if self.is_paid(row.number):
                if count:
                    break
            else:
                count += not row.spared
        self.late_in_a_row = count
        if count >= self.terms.delinquent_after and self.status == "ACTIVE" and self.moves_by_itself():
            self.set_status("SUSPENDED", "DELINQUENT")

    def reverse(self, one, payment, name):
        back = self.undo(payment) if payment.id not in self.without else {}
        self.add(Item(name, "PAYMENT_REVERSAL", one.effective_at, self.now, -payment.amount))
        for what, cents in back.items():
            if cents:
                child, kind = f"dbk_reversed_{what.lower()}:{name}", f"PAYMENT_REVERSAL_{what}"
                self.add(Item(child, kind, one.effective_at, self.now, cents))
        self.announce("payment_reversed")
        if self.terms.reversal_fee and self.subtype != "CHARGE_OFF":
            self.charge(f"dbk_return_check_fee:{name}", "RETURN_CHECK_FEE", self.terms.reversal_fee, is_penalty=True)
        self.tell(f"payment {payment.id} bounces")
