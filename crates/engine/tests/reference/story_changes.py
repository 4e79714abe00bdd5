"""Random changes of rates and of the plan, with due dates read from the model at the time of the change."""

from datetime import date, timedelta

from dates import parse_moment, show_moment
from model import run
from situations import exactly

KEPT = ["due_date", "skip", "payment_deferral"]
KINDS = [
    "interest_rate", "interest_rate", "interest_rate", "temp_promo", "interest_pause", "due_date", "due_date", "skip",
    "skip", "extension", "payment_deferral", "payment_deferral", "re_amortization", "re_age", "re_age", "restructure",
    "capitalization", "refund",
]  # fmt: skip


def add_changes(story, case):
    drawn = Changes(story, case)
    for _ in range(story.rng.choice([1, 2, 2, 3, 3, 5])):
        drawn.add_one()
    case["read_at"] = sorted(set(case["read_at"]), key=parse_moment)


class Changes:
    def __init__(self, story, case):
        self.story, self.case, self.rng, self.terms = story, case, story.rng, story.terms

    def add_one(self):
        rng, terms = self.rng, self.terms
        kind = rng.choice(KEPT if terms.kept and rng.random() < 0.9 else ["refund"] if terms.kept else KINDS)
        moment = self.story.any_time()
        reading = run(exactly({**self.case, "read_at": [show_moment(moment)]}))["reads"][0]
        self.today = terms.zone.date_of(moment)
        self.rows = [row for row in reading["schedule"]]
        self.ahead = [row["due_date"] for row in self.rows if row["due_date"] > self.today.isoformat()]
        fields = getattr(self, kind)(reading)
        if fields is None:
            return
        change = self.story.add(kind, moment, **fields)
        change["change_id"] = change["id"]
        if rng.random() < 0.5:
            self.case["read_at"].append(show_moment(moment))
        if rng.random() < 0.3:
            self.case["read_at"].append(show_moment(moment + timedelta(days=rng.choice([1, 10, 40, 70]))))
        if kind == "refund":
            del change["change_id"]
            if rng.random() < 0.4:
                self.story.add("refund_reversal", self.later(moment), refund=change["id"])
        elif rng.random() < 0.1:
            self.story.add("change_cancel", self.later(moment), change=change["id"])

    # --- Tools ---

    def later(self, moment):
        return moment + timedelta(days=self.rng.choice([0, 1, 5, 20, 60]))

    def window(self):
        days = self.rng.choice([1, 7, 14, 30, 45, 90])
        return self.today + timedelta(days=days)

    def until(self):
        zone = self.terms.zone
        return show_moment(zone.at(self.window(), self.terms.calendar.close))

    def maybe(self, fields, name, share, choices):
        if self.rng.random() < share:
            fields[name] = self.rng.choice(choices)

    def from_row(self, fields, share=0.4):
        if self.ahead and self.rng.random() < share:
            fields["from_due_date"] = self.rng.choice(self.ahead)
        elif self.rows and self.rng.random() < 0.03:
            fields["from_due_date"] = self.rows[0]["due_date"]

    # --- Rates ---

    def interest_rate(self, _):
        rng, fields = self.rng, {"interest_rate": self.rng.choice([0, 3, 6, 9, 9.75, 15, 21.123456])}
        levels = ["RECALCULATE", "KEEP"]
        if rng.random() < 0.35:
            tag = rng.choice(["scra", "scra", "mla"])
            fields["tags"] = {tag: True}
            levels = ["RECALCULATE", "KEEP", "REDUCE"]
            if rng.random() < 0.6:
                del fields["interest_rate"]
        if rng.random() < 0.6:
            fields["effective_at_exclusive_end"] = self.until()
        self.maybe(fields, "level_payment", 0.5, levels)
        return fields

    def temp_promo(self, _):
        fields = {"temp_promo_exclusive_end": self.until()}
        self.maybe(fields, "interest_rate_percent", 0.8, [0, 4.99, 10])
        self.maybe(fields, "late_fee_cents", 0.4, [0, 300])
        self.maybe(fields, "level_payment", 0.3, ["RECALCULATE", "KEEP"])
        return fields if len(fields) > 1 and fields.keys() & {"interest_rate_percent", "late_fee_cents"} else None

    def interest_pause(self, _):
        end = self.rng.choice([self.window(), self.window(), self.today])
        fields = {"start": self.today.isoformat(), "end": end.isoformat()}
        self.maybe(fields, "level_payment", 0.3, ["RECALCULATE", "KEEP"])
        return fields

    # --- The plan ---

    def due_date(self, _):
        fields, rng = {}, self.rng
        if not self.ahead or self.terms.cycle == "semi-month":
            return None
        self.from_row(fields)
        row = date.fromisoformat(fields.get("from_due_date", self.ahead[0]))
        new = row + timedelta(days=rng.choice([-10, -3, 0, 1, 5, 10, 16, 31]))
        room = 5 if self.terms.business_days.adjust != "NONE" else 0
        if new <= self.today + timedelta(days=room):
            return None
        fields["next_due_date"] = new.isoformat()
        if not self.terms.kept:
            self.maybe(fields, "level_payment", 0.4, ["RECALCULATE", "KEEP"])
        self.maybe(fields, "fee_cents", 0.2, [500])
        return fields

    def skip(self, _):
        fields = {}
        self.from_row(fields)
        self.maybe(fields, "count", 0.4, [1, 2, 3])
        if not self.terms.kept:
            self.maybe(fields, "extend_term", 0.5, [True, False])
        return fields

    def extension(self, _):
        fields = {"count": self.rng.choice([1, 2, 6])}
        self.from_row(fields)
        return fields

    def payment_deferral(self, _):
        rng = self.rng
        if len(self.rows) < 2:
            return None
        moves = []
        for row in rng.sample(self.rows[:-1], min(len(self.rows) - 1, rng.choice([1, 1, 2]))):
            move = {"due_date": row["due_date"]}
            later = [day for day in self.ahead if day > row["due_date"]]
            if later and rng.random() < 0.5:
                move["deferred_to"] = rng.choice(later)
            self.maybe(move, "balance", 0.4, ["ALL", "PRINCIPAL", "INTEREST", "FEE"])
            moves.append(move)
        fields = {"deferrals": moves}
        self.maybe(fields, "interest_on_deferred", 0.3, ["NONE", "ACCRUE"])
        return fields

    # --- Workouts ---

    def re_amortization(self, _):
        fields = {}
        self.maybe(fields, "interest", 0.4, ["FIRST", "SPREAD"])
        return fields

    def re_age(self, _):
        rng = self.rng
        first = self.today + timedelta(days=rng.choice([1, 5, 14, 30, 40]))
        if self.terms.business_days.adjust != "NONE":
            first += timedelta(days=5)
        fields = {"first_due_date": first.isoformat(), "installments": rng.choice([1, 2, 3, 6, 12])}
        self.maybe(fields, "frequency", 0.3, ["1 month", "14 days"])
        if self.terms.cycle == "semi-month":
            fields["frequency"] = "1 month"
        self.maybe(fields, "interest", 0.6, ["FIRST", "SPREAD", "WAIVE", "CAPITALIZE"])
        self.maybe(fields, "fees", 0.5, ["FIRST", "SPREAD", "WAIVE", "CAPITALIZE"])
        if self.terms.level:
            self.maybe(fields, "payment_amount_cents", 0.2, [self.story.typical, self.story.typical // 2 + 1])
        return fields

    def restructure(self, reading):
        fields = self.re_age(reading)
        fields["am_len"] = fields.pop("installments")
        if self.rng.random() < 0.3 and self.terms.cycle != "semi-month":
            del fields["first_due_date"]
        self.maybe(fields, "interest_rate_percent", 0.5, [0, 5, 8.5])
        self.maybe(fields, "interest_only_cycles", 0.3, [1, 2])
        self.maybe(fields, "principal_forgiven_cents", 0.3, [1000, max(1, reading["principal_cents"] // 5)])
        if fields.get("interest_only_cycles", 0) >= fields["am_len"]:
            del fields["interest_only_cycles"]
        if fields.get("principal_forgiven_cents", 0) >= reading["principal_cents"]:
            fields.pop("principal_forgiven_cents", None)
        return fields

    def capitalization(self, _):
        fields = {}
        self.maybe(fields, "interest", 0.5, ["ALL", "POSTED", "NONE"])
        self.maybe(fields, "fees", 0.4, ["ALL", "NONE"])
        self.maybe(fields, "level_payment", 0.4, ["RECALCULATE", "KEEP"])
        return fields

    def refund(self, reading):
        surplus = reading["surplus_cents"]
        amount = self.rng.choice([surplus, surplus, surplus // 2 + 1, 700])
        return {"original_amount_cents": amount} if surplus else None
