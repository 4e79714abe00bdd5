"""The fold: inputs at their own time, in loading order, and then the moments of that time."""

from datetime import timedelta

from dates import parse_interval, parse_time, times
from pouring import Pouring, take_back
from state import State
from terms import LARGEST

SUBSTATUSES = {
    "ACTIVE": {None, "HARDSHIP/EXEMPTIONS"},
    "SUSPENDED": {"DELINQUENT", "BANKRUPTCY", "FRAUD", "INACTIVITY", "RISK_REVIEW"},
    "CLOSED": {
        "CHARGE_OFF", "PAID_OFF", "SURPLUS_BALANCE", "BANKRUPTCY", "FRAUD", "INACTIVITY", "RISK", "CUSTOMER_REQUEST",
        "GRANTOR_REQUEST", "CUSTOMER_REQUEST_PENDING_PAYOFF", "GRANTOR_REQUEST_PENDING_PAYOFF", "DECEASED",
        "SETTLEMENT", "ADMINISTRATIVE",
    },
}  # fmt: skip
CHARGED_OFF = ("CLOSED", "CHARGE_OFF")
DELINQUENT = ("SUSPENDED", "DELINQUENT")
CLOSED_BY_ITSELF = [("CLOSED", "PAID_OFF"), ("CLOSED", "SURPLUS_BALANCE")]


class Refused(Exception):
    pass


class Setting:
    """A notice that is to be sent: the moments from when it takes effect on, in order."""

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
    def __init__(self, terms, inputs, undone=frozenset()):
        """`undone` are payments that count as if they had never been made."""
        self.terms, self.inputs, self.undone = terms, inputs, undone
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
        """A period ends. Dates pass for a closed account too, without interest or announcement."""
        state, terms = self.state, self.terms
        k = state.period
        state.accrue(terms.calendar.due_date(k))
        state.post_open()
        if k <= terms.count:
            state.fix_row(k)
            state.rows[k].fell_due_closed = state.closed
        state.passed = k
        state.begin_period()
        if k <= terms.count and not state.closed:
            state.notices.append(("due_date_passed", state.now, k))
            if not state.is_paid(k):
                state.notices.append(("payment_missed", state.now, k))

    def grace_end(self):
        state, terms = self.state, self.terms
        state.fee_moments += 1
        k = state.fee_moments
        row = state.rows[k]
        if state.closed:
            return
        if state.is_paid(k):
            state.late_count = 0
            return
        unpaid = row.unpaid_interest + row.unpaid_principal
        asked = unpaid + row.interest_paid + row.principal_paid
        before = terms.calendar.due_moment(k - 1)
        received = sum(cents for at, cents, _ in state.receipts if k == 1 or at > before)
        if row.fell_due_closed or received >= asked:
            return
        fee = self.late_fee(unpaid, row.unpaid_principal, asked)
        if fee > 0:
            state.add_fee(f"dbk_late_fee_{k}", "LATE_FEE", True, fee)
        state.late_count += 1
        if self.moves_by_itself():
            if state.late_count >= terms.charge_off_after:
                self.set_status(CHARGED_OFF)
            elif state.late_count >= terms.delinquent_after:
                self.set_status(DELINQUENT)

    def late_fee(self, unpaid, unpaid_principal, asked):
        terms = self.terms
        payment = self.state.level if terms.method == "LEVEL" else asked
        percent = lambda amount: terms.cents(terms.late_percent / 100 * amount)
        fee = {
            "FLAT": terms.late_cents,
            "PERCENT_OF_UNPAID": percent(unpaid),
            "PERCENT_OF_UNPAID_PRINCIPAL": percent(unpaid_principal),
            "PERCENT_OF_PAYMENT": percent(payment),
        }[terms.late_type]
        fee = min(max(fee, terms.late_min), terms.late_max)
        return fee if terms.late_cap is None else min(fee, terms.cents(terms.late_cap / 100 * unpaid))

    def notice(self, setting, at, k):
        state = self.state
        setting.next += 1
        if state.closed or (setting.kind == "late_fee_date" and state.is_paid(k)):
            return
        if setting.kind != "account_summary" and (setting.key, k) in state.announced:
            return
        state.announced.add((setting.key, k))
        state.notices.append((setting.kind, at, k))

    # --- Steps ---

    def step(self, now, what):
        self.state.now = now
        self.was_past_due = bool(self.state.past_due_rows())
        what()
        state = self.state
        cured = self.was_past_due and not state.past_due_rows()
        if cured:
            state.late_count = 0
        if self.moves_by_itself():
            if state.payoff() == 0:
                self.set_status(("CLOSED", "SURPLUS_BALANCE" if state.surplus else "PAID_OFF"))
            elif cured and state.status == DELINQUENT:
                self.set_status(("ACTIVE", None))
        state.check()

    def moves_by_itself(self):
        return self.state.status[0] == "ACTIVE" or self.state.status == DELINQUENT

    def set_status(self, status):
        state = self.state
        if state.status == status:
            return
        state.accrue()
        if status[0] == "CLOSED" and not state.closed:
            state.post_open()
            if state.passed and state.now <= self.terms.calendar.due_moment(state.passed):
                state.fixed = 0  # The next period begins while the account is closed.
        if status == CHARGED_OFF and state.balance() > 0:
            state.add_item("CHARGE_OFF", state.balance())
        state.status = status

    # --- Inputs ---

    def apply(self, wanted):
        self.pass_moments(wanted["at"], inclusive=False)
        amount = wanted.get("original_amount_cents", wanted.get("amount_cents", 1))
        try:
            if wanted["at"] < self.terms.effective_at or not 1 <= amount <= LARGEST:
                raise Refused
            self.step(wanted["at"], lambda: getattr(self, wanted["kind"])(wanted))
        except Refused:
            self.state.refused.append(wanted["id"])
        self.applied.append(wanted)

    def pour(self, amount, allocation, payment=None):
        state = self.state
        state.accrue()
        parts = Pouring(state, amount, payment).run(allocation)
        assert sum(cents for _, _, cents in parts) == amount
        state.net -= amount
        return parts

    def payment(self, wanted):
        payment = self.state.payments[wanted["id"]]
        if payment["state"] == "SCHEDULED":
            payment["state"] = payment["decided"] or payment["given"]
            if payment["state"] in ("VALID", "PENDING"):
                self.receive(wanted)

    def receive(self, wanted):
        state, name, amount = self.state, wanted["id"], wanted["original_amount_cents"]
        state.add_item("PAYMENT", -amount, at=wanted["at"], of=name)
        if name not in self.undone:
            state.payments[name]["parts"] = self.pour(amount, wanted.get("allocation"), name)
            state.receipts.append((state.now, amount, name))

    def payment_status(self, wanted):
        name, decision = wanted["payment"], wanted["line_item_status"]
        payment = self.state.payments.get(name)
        if payment is None:
            raise Refused
        if payment["state"] == "SCHEDULED" and payment["given"] != "VALID" and not payment["decided"]:
            payment["decided"] = decision  # It is kept for the payment's own time.
        elif payment["state"] == "AUTHORIZED":
            payment["state"] = decision
            if decision == "VALID":
                self.receive(payment["input"])
        elif payment["state"] == "PENDING":
            if decision == "INVALID":
                balance = self.undo(name)
                self.reopen_if_owing_more_than(balance)
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
        balance = self.undo(name)
        state = self.state
        state.payments[name]["state"] = "REVERSED"
        state.add_item("PAYMENT_REVERSAL", payment["input"]["original_amount_cents"])
        if self.terms.reversal_fee and state.status != CHARGED_OFF:
            state.add_fee("fee of " + wanted["id"], "RETURN_CHECK_FEE", True, self.terms.reversal_fee)
        self.reopen_if_owing_more_than(balance)

    def undo(self, name):
        """Takes a payment back, and gives the balance before: as posted, exact negatives now; under REPLAY, the account
        is folded again without it."""
        if self.terms.replays:
            self.fold_again_without(name)
            return self.state.balance()
        state = self.state
        state.accrue()
        balance = state.balance()
        take_back(state, state.payments[name]["parts"], name)
        state.net += state.payments[name]["input"]["original_amount_cents"]
        state.receipts = [receipt for receipt in state.receipts if receipt[2] != name]
        return balance

    def fold_again_without(self, name):
        if name in self.undone:
            return
        again = Fold(self.terms, self.inputs, self.undone | {name})
        for wanted in self.applied:
            again.apply(wanted)
        now = self.state.now
        again.pass_moments(now, inclusive=False)
        self.state, self.undone = again.state, again.undone
        self.state.now = now
        self.was_past_due = bool(self.state.past_due_rows())

    def reopen_if_owing_more_than(self, balance):
        if self.state.status in CLOSED_BY_ITSELF and self.state.balance() > balance:
            self.set_status(("ACTIVE", None))

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
        self.pour(wanted["amount_cents"], wanted["allocation"])
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
