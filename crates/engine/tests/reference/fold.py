"""The fold: inputs at their own time, in loading order, followed by the moments of that time."""

from datetime import timedelta

import surplus
from dates import parse_interval, parse_time, times
from pouring import Pouring, take_back
from reading import schedule
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
CHARGED_OFF = ("CLOSED", "CHARGE_OFF")
DELINQUENT = ("SUSPENDED", "DELINQUENT")


class Refused(Exception):
    pass


class Setting:
    """A configured notice: the times at which it fires after it takes effect, in order."""

    def __init__(self, terms, wanted, at):
        self.kind, self.next = wanted["notification_type"], 0
        calendar, zone = terms.calendar, terms.zone
        clock = parse_time(wanted["time"]) if wanted.get("time") else None
        if self.kind == "account_summary":
            every, start = parse_interval(wanted["interval"]), zone.local(at)
            clock = clock or start.time()
            self.key = (self.kind,)
            self.nth = lambda n: (zone.at(calendar.plus(start.date(), times(every, n + 1)), clock), None)
            return
        days = parse_interval(wanted["time_offset"])[1]
        self.key = (self.kind, days)
        anchor = calendar.fee_date if self.kind == "late_fee_date" else calendar.due_date
        ends = self.kind == "loan_end_date"
        moments = []
        for k in [terms.count] if ends else range(1, terms.count + 1):
            day = zone.existing(anchor(k) + timedelta(days=days))
            moment = zone.at(day, clock) if clock else calendar.close_of(day)
            if moment >= at:
                moments.append((moment, None if ends else k))
        self.nth = lambda n: moments[n] if n < len(moments) else None


class Fold:
    def __init__(self, terms, inputs, undone=frozenset(), decided=frozenset()):
        """`undone` are payments that count as if they had never been made. `decided` are authorised payments that
        became valid later, and count from their own time."""
        self.terms, self.inputs, self.undone, self.decided = terms, inputs, undone, decided
        self.state = State(terms)
        self.applied = []
        for wanted in inputs:
            if wanted["kind"] == "payment":
                given = wanted.get("line_item_status") or "VALID"
                payment = {"state": "SCHEDULED", "given": given, "decided": None, "parts": None}
                self.state.payments[wanted["id"]] = {**payment, "input": wanted}

    # --- Moments ---

    def next_moment(self):
        state, calendar = self.state, self.terms.calendar
        coming = [(calendar.due_moment(state.period), 0, 0, self.due)]
        if state.fee_moments < self.terms.count:
            coming.append((calendar.fee_moment(state.fee_moments + 1), 1, 0, self.grace_end))
        for number, setting in enumerate(state.settings.values()):
            if found := setting.nth(setting.next):
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
        state, terms = self.state, self.terms
        k = state.period
        state.accrue(terms.calendar.due_date(k))
        state.post_open()
        if k <= terms.count:
            state.fix_row(k)
            state.rows[k].fell_due_closed = state.closed
        state.end_period()
        self.use_surplus()
        if k <= terms.count and not state.closed:
            state.notices.append(("due_date_passed", state.now, k))
            if not state.is_paid(k):
                state.notices.append(("payment_missed", state.now, k))

    def grace_end(self):
        state = self.state
        state.fee_moments += 1
        row, paid = state.rows[state.fee_moments], state.is_paid(state.fee_moments)
        stopped = not state.closed and (self.stopped("late_fees") or self.stopped("delinquency"))
        row.counts = not row.fell_due_closed and not stopped
        if paid:
            row.judged = "PAID"
            state.late_count = 0 if not state.closed else state.late_count
        elif state.closed or row.fell_due_closed or self.stopped("late_fees"):
            row.judged = "STOPPED"
        elif self.received_for(state.fee_moments) >= row.unpaid_interest + row.unpaid_principal + row.paid_into:
            row.judged = "SPARED"
        else:
            row.judged = "LATE"
            self.charge_late_fee(row)
            if row.counts:
                state.late_count += 1
                self.move_for_lateness()

    def charge_late_fee(self, row):
        fee = self.late_fee(row)
        if fee > 0:
            self.state.add_fee(f"dbk_late_fee_{self.state.fee_moments}", "LATE_FEE", True, fee)

    def received_for(self, k):
        """Payments since the previous row's due moment, and earlier payments made partly in advance for the row, less
        their parts that went to earlier rows that were paid or are not judged yet; parts in late rows are deducted only
        under FEES_ONLY."""
        state, received = self.state, 0
        judged = (None, "PAID") if self.terms.pyramiding == "RECEIPTS" else (None, "PAID", "LATE")
        for receipt in state.receipts:
            in_advance = any(part[:2] in (("INTEREST", k), ("PRINCIPAL", k)) for part in receipt["parts"])
            if k > 1 and receipt["after"] < k - 1 and not in_advance:
                continue
            received += receipt["cents"]
            for kind, key, cents in receipt["parts"] + receipt["used"]:
                if kind in ("INTEREST", "PRINCIPAL") and key < k and state.rows[key].judged in judged:
                    received -= cents
        return received

    def late_fee(self, row):
        terms = self.terms
        unpaid = row.unpaid_interest + row.unpaid_principal
        percent = lambda amount: terms.cents(terms.late_percent / 100 * amount)
        fee = {
            "FLAT": terms.late_cents,
            "PERCENT_OF_UNPAID": percent(unpaid),
            "PERCENT_OF_UNPAID_PRINCIPAL": percent(row.unpaid_principal),
            "PERCENT_OF_PAYMENT": percent(unpaid + row.paid_into),
        }[terms.late_type]
        fee = min(max(fee, terms.late_min), terms.late_max)
        return fee if terms.late_cap is None else min(fee, terms.cents(terms.late_cap / 100 * unpaid))

    def move_for_lateness(self):
        if self.moves_by_itself() and not self.stopped("delinquency"):
            if self.state.late_count >= self.terms.charge_off_after:
                self.set_status(CHARGED_OFF)
            elif self.state.late_count >= self.terms.delinquent_after:
                self.set_status(DELINQUENT)

    def count_again(self):
        """The latest unbroken run of unpaid rows whose grace has ended. Spared and stopped rows are skipped: they count
        neither as late nor as paid."""
        state, run = self.state, 0
        for k in range(state.fee_moments, 0, -1):
            row = state.rows[k]
            if row.judged not in ("PAID", "LATE") or not row.counts:
                continue
            if not state.is_paid(k):
                run += 1
            elif run:
                break
        return run

    def notice(self, setting, at, k):
        state = self.state
        setting.next += 1
        if state.closed or self.stopped("notices") or (setting.kind == "late_fee_date" and not self.asks(k)):
            return
        if setting.kind != "account_summary" and (setting.key, k) in state.announced:
            return
        state.announced.add((setting.key, k))
        state.notices.append((setting.kind, at, k))

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
        if amount > 0:
            surplus.use(self.state, amount, self.pour)

    # --- Inputs ---

    def apply(self, wanted):
        self.pass_moments(wanted["at"], inclusive=wanted.get("posted_late", False))
        amount = wanted.get("original_amount_cents", wanted.get("amount_cents", 1))
        try:
            if wanted["at"] < self.terms.effective_at or not 1 <= amount <= LARGEST:
                raise Refused
            self.step(wanted["at"], lambda: getattr(self, wanted["kind"])(wanted))
        except Refused:
            self.state.refused.append(wanted["id"])
        self.applied.append(wanted)

    def pour(self, amount, allocation, source):
        state = self.state
        state.accrue()
        parts = Pouring(state, amount, source).run(allocation)
        assert sum(cents for _, _, cents in parts) == amount
        state.net -= amount
        return parts

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
        before = state.balance(), [k for k in range(1, state.fee_moments + 1) if state.is_paid(k)]
        surplus.take_back_uses(state, name, undone_by)
        take_back(state, state.payments[name]["parts"], name, undone_by)
        state.net += state.payments[name]["input"]["original_amount_cents"]
        state.receipts = [receipt for receipt in state.receipts if receipt["payment"] != name]
        return before

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
        if any(not state.is_paid(k) for k in paid) and not self.stopped("delinquency"):
            state.late_count = self.count_again()
            self.move_for_lateness()

    def manual_fee(self, wanted):
        penalty = wanted.get("fee_class") == "PENALTY"
        self.state.add_fee(wanted["id"], "MANUAL_FEE", penalty, wanted["amount_cents"])

    def fee_waiver(self, wanted):
        state = self.state
        for fee in state.fees:
            if fee.name == wanted["fee"] and fee.unpaid > 0:
                state.net -= fee.unpaid
                state.add_item("FEE_WAIVER", -fee.unpaid)
                fee.unpaid = 0
                return
        raise Refused

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
            state.assign(state.owner, amount)
        else:
            state.accrue()
            state.principal += amount
            state.lent += amount
            state.rest_to_last_row()

    def status(self, wanted):
        status = (wanted["account_status"], wanted.get("account_substatus"))
        if status[1] not in SUBSTATUSES[status[0]]:
            raise Refused
        self.set_status(status)

    def notification_config(self, wanted):
        setting = Setting(self.terms, wanted, self.state.now)
        self.state.settings.pop(setting.key, None)
        if wanted.get("enabled", True):
            self.state.settings[setting.key] = setting
