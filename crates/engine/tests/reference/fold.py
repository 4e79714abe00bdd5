"""The fold: inputs at their own time, in loading order, followed by the moments of that time."""

import opening
import posting
import shortfall
import surplus
from changes import Changes
from late import CHARGED_OFF, DELINQUENT, Lateness
from notices import Setting
from pouring import Pouring, lend, take_back
from reading import schedule
from refusal import Refused
from state import CLOSED_BY_ITSELF, State
from terms import LARGEST

SUBSTATUSES = {
    "ACTIVE": {None, "HARDSHIP", "EXEMPTIONS", "SCRA"},
    "SUSPENDED": {"DELINQUENT", "BANKRUPTCY", "FRAUD", "INACTIVITY", "RISK_REVIEW", "DECEASED", "HARDSHIP"},
    "CLOSED": {
        "CHARGE_OFF", "PAID_OFF", "SURPLUS_BALANCE", "BANKRUPTCY", "FRAUD", "INACTIVITY", "RISK", "CUSTOMER_REQUEST",
        "GRANTOR_REQUEST", "CUSTOMER_REQUEST_PENDING_PAYOFF", "GRANTOR_REQUEST_PENDING_PAYOFF", "DECEASED",
        "SETTLEMENT", "ADMINISTRATIVE",
    },
}  # fmt: skip


class Fold(Changes, Lateness):
    def __init__(self, terms, inputs, undone=frozenset(), decided=frozenset()):
        """`undone` are payments that count as if they had never been made. `decided` are authorised payments that
        became valid later, and count from their own time."""
        self.terms, self.inputs, self.undone, self.decided = terms, inputs, undone, decided
        self.state = State(terms)
        if terms.opening:
            opening.begin(self.state)
            if not self.state.closed:
                self.state.stop_interest(self.stopped("interest"))
        else:
            self.state.begin()
        self.start = self.state.now
        self.applied = []
        for wanted in inputs:
            if wanted["kind"] == "payment":
                given = wanted.get("line_item_status") or "VALID"
                payment = {"state": "SCHEDULED", "given": given, "decided": None, "parts": None}
                self.state.payments[wanted["id"]] = {**payment, "input": wanted}

    # --- Moments ---

    def next_moment(self):
        state = self.state
        coming = [(state.end_moment(state.period), 0, 0, self.due)]
        for at, k in self.fee_moments():
            coming.append((at, 1, k, lambda k=k: self.grace_end(k)))
        for number, setting in enumerate(state.settings.values()):
            if found := setting.coming(state.now):
                coming.append((found[0], 2, number, lambda setting=setting, found=found: self.notice(setting, *found)))
        return min(coming, key=lambda moment: moment[:3])

    def pass_moments(self, until, inclusive):
        while True:
            at, _, _, what = self.next_moment()
            if at > until or (at == until and not inclusive):
                return
            self.step(at, what)

    def due(self):
        """A period ends. Due dates also pass for a closed account, without interest or announcement."""
        state = self.state
        k = state.period
        state.accrue(state.end_of(k))
        if k > state.count:
            state.post_open()
        else:
            posting.post_row(state, k)
            state.rows[k].fell_due_closed = state.closed
        state.end_period()
        state.waiting_surplus = False
        state.judging = k if k <= state.count else None
        self.use_surplus()
        state.judging = None
        if k == state.count:
            self.write_off()
        if k <= state.count:
            shortfall.tolerate(state, k)
        if k <= state.count and not state.closed:
            state.notices.append(("due_date_passed", state.now, k))
            if not state.is_paid(k):
                state.notices.append(("payment_missed", state.now, k))

    def notice(self, setting, at, row):
        state = self.state
        setting.fired(at, row)
        k = row and state.rows.index(row)
        if state.closed or self.stopped("notices") or (setting.kind == "late_fee_date" and not self.asks(k)):
            return
        key = setting.key, row and row.id
        if setting.kind != "account_summary" and key in state.announced:
            return
        state.announced.add(key)
        state.notices.append((setting.kind, at, None if setting.kind == "loan_end_date" else k))

    def asks(self, k):
        """Whether a row requires money. Earlier rows whose interest is not known yet may leave a future row more
        principal than they do now: then the plan decides."""
        state = self.state
        if k <= state.period or not state.is_paid(k):
            return not state.is_paid(k)
        return schedule(state)[k - 1]["outstanding_cents"] > 0

    # --- Steps ---

    def step(self, now, what):
        self.state.move_to(now)
        self.was_past_due = bool(self.state.past_due_rows())
        self.had_surplus = self.state.surplus > 0
        what()
        self.use_surplus()
        state = self.state
        cured = self.was_past_due and not state.past_due_rows()
        if cured:
            state.late_count = 0
        if self.moves_by_itself():
            if state.payoff() == 0:
                self.set_status(("CLOSED", "SURPLUS_BALANCE" if state.surplus else "PAID_OFF"))
            elif cured and state.status == DELINQUENT and not self.stopped("delinquency"):
                self.set_status(state.left)
        elif state.status in CLOSED_BY_ITSELF and self.had_surplus != (state.surplus > 0):
            self.set_status(("CLOSED", "SURPLUS_BALANCE" if state.surplus else "PAID_OFF"))
        state.check()

    def moves_by_itself(self):
        return self.state.status[0] == "ACTIVE" or self.state.status == DELINQUENT

    def stopped(self, effect):
        """A delinquent account keeps the stops on late fees and interest of its last ACTIVE pair."""
        state = self.state
        if state.closed:
            return effect in ("delinquency", "notices")
        pairs = [state.status]
        if state.status == DELINQUENT and effect in ("late_fees", "interest"):
            pairs.append(state.left)
        return any(effect in self.terms.effects["/".join(filter(None, pair))] for pair in pairs)

    def set_status(self, status):
        state = self.state
        if state.status == status:
            return
        state.accrue()
        if status[0] == "CLOSED" and not state.closed:
            state.post_open()
            if self.terms.keeps_refund:
                state.post_rest()
        if status == CHARGED_OFF and state.balance() > 0:
            state.add_item("CHARGE_OFF", state.balance())
        if state.status[0] == "ACTIVE":
            state.left = state.status
        state.status = status
        if not state.closed:
            state.stop_interest(self.stopped("interest"))

    def use_surplus(self):
        """Uses surplus as soon as something is owed again."""
        amount = min(self.state.surplus, self.state.payoff())
        if amount > 0 and not self.state.waiting_surplus:
            surplus.use(self.state, amount, self.pour)

    # --- Inputs ---

    def apply(self, wanted):
        if wanted.get("cancelled"):
            return
        self.pass_moments(wanted["at"], inclusive=wanted.get("posted_late", False))
        amount = wanted.get("original_amount_cents", wanted.get("amount_cents", 1))
        try:
            if wanted["at"] < self.start or not 1 <= amount <= LARGEST:
                raise Refused
            self.step(wanted["at"], lambda: getattr(self, wanted["kind"])(wanted))
        except Refused:
            self.state.refused.append(wanted["id"])
        self.applied.append(wanted)

    def pour(self, amount, allocation, source):
        state = self.state
        state.accrue()
        state.round_off()
        lowered = self.lowered()
        parts = Pouring(state, amount, source).run(allocation)
        assert sum(cents for _, _, cents in parts) == amount
        state.net -= amount
        self.settle(lowered)
        shortfall.tolerate_all(state)
        return parts

    def lowered(self):
        """The total of the open row, if a cap lowers it."""
        state = self.state
        row = state.rows[state.owner]
        return state.asks(state.period) if row.total is not None and not row.retired and state.forgiven() else None

    def settle(self, lowered):
        """A row whose lowered total was paid stays paid, though less principal earns from now on."""
        state = self.state
        row = state.rows[state.owner]
        if lowered is not None and row.paid_into - row.top_interest - row.held >= lowered:
            row.settled = lowered

    def write_off(self, payment=None):
        """A small rest is written off."""
        state = self.state
        amount = state.payoff()
        if not 1 <= amount <= self.terms.write_off or not self.moves_by_itself():
            return
        source = ("write-off", len(state.write_offs) + 1)
        parts = self.pour(amount, None, source)
        state.add_item("DEBIT_OFFSET", -amount, reason="WRITE_OFF")
        state.write_offs.append({"source": source, "amount": amount, "parts": parts, "payment": payment})

    def payment(self, wanted):
        payment = self.state.payments[wanted["id"]]
        if payment["state"] == "SCHEDULED":
            payment["state"] = payment["decided"] or payment["given"]
            if wanted["id"] in self.decided:
                payment["state"] = "DECIDED"
                self.receive(wanted)
            if payment["state"] in ("VALID", "PENDING"):
                self.receive(wanted)

    def receive(self, wanted):
        state, name, amount = self.state, wanted["id"], wanted["original_amount_cents"]
        state.add_item("PAYMENT", -amount, at=wanted["at"], of=name)
        if name not in self.undone:
            after = state.passed
            parts = state.payments[name]["parts"] = self.pour(amount, wanted.get("allocation"), name)
            state.receipts.append({"payment": name, "cents": amount, "after": after, "parts": parts, "used": []})
            self.write_off(name)

    def payment_status(self, wanted):
        name, decision = wanted["payment"], wanted["line_item_status"]
        payment = self.state.payments.get(name)
        if payment is None:
            raise Refused
        if payment["state"] == "SCHEDULED" and payment["given"] != "VALID" and not payment["decided"]:
            payment["decided"] = decision  # Applied at the payment's own time.
        elif payment["state"] == "DECIDED" and decision == "VALID":
            payment["state"] = "VALID"  # It has already counted from its own time.
        elif payment["state"] == "AUTHORIZED":
            if decision == "VALID" and self.terms.replays:
                self.fold_again(self.undone, self.decided | {name})
                payment = self.state.payments[name]
            elif decision == "VALID":
                self.receive(payment["input"])
            payment["state"] = decision
        elif payment["state"] == "PENDING":
            if decision == "INVALID":
                before = self.undo(name, wanted["id"])
                self.after_undoing(before)
            self.state.payments[name]["state"] = decision
        else:
            raise Refused

    def payment_reversal(self, wanted):
        name = wanted["payment"]
        payment = self.state.payments.get(name)
        if payment is None or payment["decided"] == "INVALID":
            raise Refused
        if payment["state"] == "SCHEDULED":
            payment["state"] = "CALLED_OFF"
            return
        if payment["state"] not in ("VALID", "PENDING"):
            raise Refused
        before = self.undo(name, wanted["id"])
        state = self.state
        state.payments[name]["state"] = "REVERSED"
        state.add_item("PAYMENT_REVERSAL", payment["input"]["original_amount_cents"])
        if self.terms.reversal_fee and state.status != CHARGED_OFF:
            state.add_fee("fee of " + wanted["id"], "RETURN_CHECK_FEE", True, self.terms.reversal_fee)
        self.after_undoing(before)

    def undo(self, name, undone_by):
        """Undoes a payment: under REPLAY, by folding again without it; else by exact negatives now. Returns the balance
        before, and the paid rows that may count as late again."""
        if self.terms.replays:
            if name not in self.undone:
                self.fold_again(self.undone | {name}, self.decided)
            return self.state.balance(), []
        state = self.state
        state.accrue()
        judged = [row for row in state.rows[1:-1] if row.judged and not row.retired]
        before = state.balance(), [row for row in judged if row.unpaid == 0]
        surplus.take_back_uses(state, name, undone_by)
        self.take_back_write_off(name, undone_by)
        take_back(state, state.payments[name]["parts"], name, undone_by)
        state.net += state.payments[name]["input"]["original_amount_cents"]
        state.receipts = [receipt for receipt in state.receipts if receipt["payment"] != name]
        return before

    def take_back_write_off(self, name, undone_by):
        state = self.state
        for one in state.write_offs:
            if one["payment"] == name:
                take_back(state, one["parts"], one["source"], undone_by)
                state.net += one["amount"]
                state.add_item("DEBIT_OFFSET", one["amount"], reason="WRITE_OFF")
                one["payment"] = None

    def fold_again(self, undone, decided):
        again = Fold(self.terms, self.inputs, undone, decided)
        for wanted in self.applied:
            again.apply(wanted)
        now = self.state.now
        again.pass_moments(now, inclusive=False)
        self.state, self.undone, self.decided = again.state, undone, decided
        self.state.move_to(now)
        self.was_past_due = bool(self.state.past_due_rows())
        self.had_surplus = self.state.surplus > 0

    def after_undoing(self, before):
        """An account that owes again reopens, and rows that are unpaid again count as late again."""
        balance, paid = before
        self.use_surplus()
        state = self.state
        if state.status in CLOSED_BY_ITSELF and state.balance() > balance:
            self.set_status(state.left)
        if any(row.unpaid for row in paid) and not self.stopped("delinquency"):
            state.late_count = self.count_again()
            self.move_for_lateness()

    def manual_fee(self, wanted):
        penalty = wanted.get("fee_class") == "PENALTY"
        self.state.add_fee(wanted["id"], "MANUAL_FEE", penalty, wanted["amount_cents"])

    def fee_waiver(self, wanted):
        state = self.state
        for fee in state.fees:
            if fee.name == wanted["fee"] and fee.unpaid > 0:
                self.waive(fee)
                return
        raise Refused

    def waive(self, fee):
        self.state.net -= fee.unpaid
        self.state.add_item("FEE_WAIVER", -fee.unpaid)
        fee.waive()

    def debit_offset(self, wanted):
        self.pour(wanted["amount_cents"], wanted["allocation"], ("offset", wanted["id"]))
        self.state.add_item("DEBIT_OFFSET", -wanted["amount_cents"])

    def credit_offset(self, wanted):
        state, amount = self.state, wanted["amount_cents"]
        if wanted["allocation"] == "FEE":
            state.add_fee(wanted["id"], "CREDIT_OFFSET", False, amount)
            return
        state.add_item("CREDIT_OFFSET", amount)
        state.net += amount
        if wanted["allocation"] == "INTEREST":
            state.assign(state.owner, amount, carried=True)
        else:
            lend(state, amount)

    def status(self, wanted):
        status = (wanted["account_status"], wanted.get("account_substatus"))
        if status[1] not in SUBSTATUSES[status[0]]:
            raise Refused
        self.set_status(status)

    def notification_config(self, wanted):
        setting = Setting(self, wanted, self.state.now)
        self.state.settings.pop(setting.key, None)
        if wanted.get("enabled", True):
            self.state.settings[setting.key] = setting
