"""Statuses: what they stop, when they move by themselves, and closing."""

from rates import Rate


class Statuses:
    @property
    def pair(self):
        return self.status + (f"/{self.subtype}" if self.subtype else "")

    def stops(self, effect):
        """A delinquent account keeps what its earlier ACTIVE pair stopped of fees and interest."""
        if self.terms.stops(self.pair, effect):
            return True
        left = "ACTIVE" + (f"/{self.left_subtype}" if self.left_subtype else "")
        keeps = self.pair == "SUSPENDED/DELINQUENT" and effect in ("late_fees", "interest")
        return keeps and self.terms.stops(left, effect)

    def moves_by_itself(self):
        return self.status == "ACTIVE" or (self.status, self.subtype) == ("SUSPENDED", "DELINQUENT")

    def set_status(self, status, subtype):
        if (status, subtype) == (self.status, self.subtype):
            return
        was_closed, is_delinquent = self.status == "CLOSED", (status, subtype) == ("SUSPENDED", "DELINQUENT")
        if is_delinquent and self.status != "CLOSED":
            self.left_subtype = self.subtype if self.status == "ACTIVE" else None
        self.status, self.subtype = status, subtype
        self.announce("account_status_change")
        if status == "CLOSED" and not was_closed:
            self.announce("account_closed")
        self.stop_or_resume_interest()
        self.tell(f"status {status}/{subtype}")

    def stop_or_resume_interest(self):
        """A status that stops interest is a cap of 0 while it lasts."""
        if self.status == "CLOSED":
            return
        self.count_today()
        if self.stops("interest") and self.status_cap is None:
            self.status_cap = Rate(0, self.today, None, self.now, is_cap=True, tag="status")
            self.rates.all.append(self.status_cap)
        elif self.status_cap is not None and not self.stops("interest"):
            self.status_cap.end = self.today
            self.status_cap = None

    def settle_status(self, was_past_due):
        """Closing when nothing is owed, and else curing: a step moves the status once."""
        is_cured = was_past_due and not self.past_due_rows()
        if is_cured and not self.stops("delinquency"):
            self.late_in_a_row = 0
        if self.payoff(self.now) == 0 and self.moves_by_itself():
            self.set_status("CLOSED", "SURPLUS_BALANCE" if self.surplus else "PAID_OFF")
        elif is_cured:
            self.cure()
        self.name_what_is_left()

    def cure(self):
        if self.pair == "SUSPENDED/DELINQUENT" and not self.stops("delinquency"):
            self.set_status("ACTIVE", self.left_subtype)

    def set_by_hand(self, status, subtype):
        if status == "CLOSED" and self.status != "CLOSED":
            self.post_open_interest()
        elif self.status == "CLOSED" and status != "CLOSED":
            self.pass_until_now()
            self.count_to(self.today)
        self.set_status(status, subtype)

    def post_open_interest(self):
        self.count_today()
        cents = self.open_interest(self.now)
        if cents:
            self.make_interest(cents, self.open_row)
