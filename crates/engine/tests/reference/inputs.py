"""Random inputs and reading times for a case: mostly near the account's moments, and often at the same instant."""

from datetime import timedelta

from dates import show_moment
from story_changes import add_changes

NO_TIME, MICRO, SECOND = timedelta(0), timedelta(microseconds=1), timedelta(seconds=1)
OPEN = [
    ("ACTIVE", "HARDSHIP"), ("ACTIVE", "EXEMPTIONS"), ("ACTIVE", "SCRA"), ("ACTIVE", "SCRA"), ("SUSPENDED", "FRAUD"),
    ("SUSPENDED", "FRAUD"), ("SUSPENDED", "DELINQUENT"), ("SUSPENDED", "BANKRUPTCY"), ("SUSPENDED", "RISK_REVIEW"),
    ("SUSPENDED", "INACTIVITY"), ("SUSPENDED", "DECEASED"), ("SUSPENDED", "HARDSHIP"),
]  # fmt: skip
CLOSED = [
    ("CLOSED", "CUSTOMER_REQUEST"), ("CLOSED", "SETTLEMENT"), ("CLOSED", "CHARGE_OFF"), ("CLOSED", "DECEASED"),
    ("CLOSED", "BANKRUPTCY"),
]  # fmt: skip


def make_inputs(rng, level, case, outline):
    story = Story(rng, level, outline)
    story.pay_instalments()
    for _ in range(rng.choice([0, 0, 1, 2, 3])):
        story.payment(story.any_time(), story.amount())
    if level >= 1:
        for _ in range(rng.choice([0, 0, 0, 1, 1, 2])):
            story.status_and_end()
    if level >= 2:
        story.change_payments()
        story.fees_and_offsets()
    if level >= 3:
        for _ in range(rng.choice([0, 1, 2, 3])):
            story.notice()
    case["inputs"], case["read_at"] = story.inputs, [show_moment(moment) for moment in story.readings()]
    if level >= 5:
        add_changes(story, case)
    rng.shuffle(case["inputs"])


class Story:
    def __init__(self, rng, level, outline):
        self.rng, self.level, self.terms, self.outline = rng, level, outline.terms, outline
        self.count, self.start, self.typical = outline.count, outline.start, outline.typical
        self.reach = min(self.count, rng.choice([2, 4, 8, 14, 40])) + rng.choice([0, 0, 1, 2, 3, 6])
        self.reach = max(self.reach, outline.first)
        self.end = outline.due_moment(self.reach) + timedelta(days=rng.choice([0, 1, 9, 40]))
        self.inputs, self.payments, self.fees = [], [], {}

    def add(self, kind, at, **fields):
        name = f"{kind[0]}{len(self.inputs) + 1}"
        self.inputs.append({"id": name, "kind": kind, "effective_at": show_moment(at), **fields})
        return self.inputs[-1]

    def within(self, moment):
        return max(self.start, min(moment, self.end))

    def any_time(self):
        rng, draw = self.rng, self.rng.random()
        k = rng.randint(1, self.reach)
        due = self.outline.due_moment(k)
        if draw < 0.15:
            return self.within(due)
        if draw < 0.25:
            return self.within(due + rng.choice([SECOND, -SECOND, MICRO, -MICRO]))
        if draw < 0.3:
            return self.within(self.outline.fee_moment(k) + rng.choice([SECOND, -SECOND, NO_TIME]))
        if draw < 0.33:
            return self.start
        if draw < 0.6:
            return self.within(due + timedelta(days=rng.randint(-12, 12), seconds=rng.randint(0, 86399)))
        return self.start + timedelta(seconds=rng.randint(0, int((self.end - self.start).total_seconds())))

    def amount(self):
        rng, draw, typical = self.rng, self.rng.random(), self.typical
        if self.terms.tolerance_cents and rng.random() < 0.5:
            return typical - rng.randint(1, self.terms.tolerance_cents)
        if draw < 0.45:
            return typical
        if draw < 0.6:
            return typical * rng.randint(1, 99) // 100
        if draw < 0.75:
            return typical * rng.randint(2, 4) + rng.choice([0, 1, -1])
        if draw < 0.85:
            return typical + rng.choice([-1, 1, 100, -100, 1500])
        if draw < 0.88:
            return self.terms.principal + rng.randint(0, max(1, self.terms.principal // 10))
        return rng.randint(1, max(2, self.terms.principal // 4))

    # --- Payments ---

    def payment(self, at, amount):
        payment = self.add("payment", at, original_amount_cents=max(1, amount))
        if self.level >= 2:
            if self.rng.random() < 0.12:
                payment["allocation"] = self.rng.choice(["PRINCIPAL", "INTEREST", "FEE"])
            if self.rng.random() < 0.25:
                payment["line_item_status"] = self.rng.choice(["PENDING", "AUTHORIZED"] * 2 + ["VALID"])
        self.payments.append((payment, at))

    def pay_instalments(self):
        rng = self.rng
        habit = rng.choice(["on time", "on time", "early", "late", "mixed", "mixed", "never", "now and then"])
        for k in range(self.outline.first, min(self.reach, self.count) + 1):
            due, today = self.outline.due_moment(k), habit
            if habit == "mixed":
                today = rng.choice(["on time", "early", "late", "never", "in part"])
            elif habit != "never" and rng.random() < 0.08:
                today = rng.choice(["never", "late", "early"])
            if today == "on time":
                before = rng.choice([NO_TIME, SECOND, timedelta(hours=rng.randint(1, 40))])
                short = self.terms.tolerance_cents and rng.random() < 0.3
                self.payment(self.within(due - before), self.amount() if short else self.typical)
            elif today == "early":
                before = timedelta(days=rng.randint(1, 25), seconds=rng.randint(0, 86399))
                self.payment(self.within(due - before), self.typical)
            elif today == "late":
                days = timedelta(days=rng.randint(0, 20), seconds=rng.randint(1, 86399))
                self.payment(self.within(due + rng.choice([SECOND, MICRO, days])), self.typical)
            elif today == "in part":
                self.payment(self.within(due - timedelta(days=rng.randint(0, 5))), self.amount())
            elif today == "now and then" and rng.random() < 0.3:
                self.payment(self.within(due - timedelta(hours=rng.randint(0, 300))), self.amount())

    def near_due(self, at):
        """The next due moment, or a microsecond or some days from it."""
        k = next(k for k in range(1, 2000) if self.outline.due_moment(k) >= at)
        return self.outline.due_moment(k) + self.rng.choice([NO_TIME, NO_TIME, MICRO, -MICRO, timedelta(days=3)])

    def change_payments(self):
        """Decisions about payments, and reversals; some before the payment's own time."""
        rng = self.rng
        for payment, at in self.payments:
            soon = at + timedelta(days=rng.randint(0, 15), seconds=rng.randint(0, 9999))
            later = self.within(rng.choice([self.any_time(), soon, at, self.near_due(at)]))
            if rng.random() < 0.05:
                later = self.end + timedelta(days=rng.randint(1, 60))
            waiting = payment.get("line_item_status") in ("PENDING", "AUTHORIZED")
            if waiting and rng.random() < 0.85:
                decision = rng.choice(["VALID", "VALID", "INVALID"])
                self.add("payment_status", later, payment=payment["id"], line_item_status=decision)
            if rng.random() < (0.1 if len(self.payments) > 3 else 0.25):
                bounce = self.within(rng.choice([self.any_time(), soon, at]))
                if bounce < at and rng.random() < 0.9:
                    bounce = self.within(at + timedelta(days=rng.randint(0, 30)))
                if payment.get("line_item_status") == "AUTHORIZED":
                    bounce = max(bounce, later + MICRO)  # Before the decision the payment cannot be reversed.
                self.add("payment_reversal", bounce, payment=payment["id"])

    # --- Statuses ---

    def set_status(self, at, pair):
        self.add("status", at, account_status=pair[0], account_substatus=pair[1])

    def status_and_end(self):
        """A status for some days or months, on one date only, or for good."""
        rng, at = self.rng, self.any_time()
        if rng.random() < 0.15:
            self.set_status(at, rng.choice(CLOSED))
            if rng.random() < 0.3:
                self.set_status(self.within(at + timedelta(days=rng.randint(0, 40))), ("ACTIVE", None))
            return
        self.set_status(at, rng.choice(OPEN))
        while rng.random() < 0.7:
            later = at + timedelta(days=rng.randint(0, 90), seconds=rng.randint(0, 86399))
            at = rng.choice([at, later, self.any_time()])
            self.set_status(self.within(at), rng.choice([("ACTIVE", None)] * 6 + OPEN))

    # --- Fees, offsets, notices ---

    def fees_and_offsets(self):
        rng, terms = self.rng, self.terms
        fees = {"dbk_orig_fee": self.start}
        for k in range(1, min(self.count, self.reach) + 1):
            fees[f"dbk_late_fee_{k}"] = self.outline.fee_moment(k)
        for _ in range(rng.choice([0, 0, 1, 2])):
            at, amount = self.any_time(), rng.choice([1, 500, 2500])
            fee = self.add("manual_fee", at, amount_cents=amount, fee_class=rng.choice(["FEE", "PENALTY"]))
            fees[fee["id"]] = at
        for _ in range(rng.choice([0, 0, 1, 2])):
            fee, at = rng.choice(list(fees.items()))
            soon = at + timedelta(days=rng.randint(0, 20), seconds=5)
            self.add("fee_waiver", self.within(rng.choice([at, at + SECOND, soon, self.any_time()])), fee=fee)
        for _ in range(rng.choice([0, 0, 0, 1, 2])):
            kind = rng.choice(["credit_offset", "debit_offset"])
            amount = rng.choice([1, 1000, self.typical, max(1, self.typical // 3), terms.principal // 2 + 1])
            allocation = rng.choice(["PRINCIPAL", "INTEREST", "FEE"])
            self.add(kind, self.any_time(), amount_cents=amount, allocation=allocation)

    def notice(self):
        rng = self.rng
        kinds = ["payment_due_date", "payment_due_date", "late_fee_date", "loan_end_date", "account_summary"]
        fields = {"notification_type": rng.choice(kinds)}
        times = ["09:00:00", "00:00:00", "02:30:00", "23:59:59", "00:30:00"]
        if fields["notification_type"] == "account_summary":
            fields["interval"] = rng.choice(["7 days", "1 month", "30 days"])
        else:
            offsets = ["-1 days", "0 days", "3 days", "-7 days", "10 days", "-100 days"]
            fields["time_offset"] = rng.choice(offsets)
        if rng.random() < 0.5:
            fields["time"] = rng.choice(times)
        if rng.random() < 0.15:
            fields["enabled"] = False
        self.add("notification_config", self.any_time(), **fields)

    def readings(self):
        rng = self.rng
        due = self.outline.due_moment(min(self.reach, rng.randint(1, self.count)))
        moments = {due, self.end, self.any_time()}
        moments.update(self.near_due(at) for _, at in rng.sample(self.payments, min(2, len(self.payments))))
        if rng.random() < 0.3:
            moments.add(self.start)
        while len(moments) < rng.randint(2, 6):
            moments.add(self.any_time() + rng.choice([NO_TIME, timedelta(hours=3)]))
        if rng.random() < 0.3:
            moments.add(self.end + timedelta(days=rng.choice([30, 100, 400])))
        return sorted({max(self.start, moment) for moment in moments})
