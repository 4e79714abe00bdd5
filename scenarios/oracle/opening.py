"""Boarding from balances: an account that begins in mid-life, with the figures of another system."""

from dates import Given, day_of, moment, plus
from items import CARRIED, Item, Part
from plan import UNKNOWN, Row, link
from terms import money


class Opening:
    def open_from_balances(self, opening):
        self.principal = opening["principal_cents"]
        self.opening_late = opening.get("consecutive_late_fees", 0)
        self.late_in_a_row = self.opening_late
        self.opening_fees = opening.get("late_fees_charged_cents", 0)
        self.received_before_opening = opening.get("received_since_due_cents", 0)
        self.status = opening.get("account_status", "ACTIVE")
        self.subtype = opening.get("account_substatus")
        self.paid_before = opening.get("paid_to_date", {})
        past, coming = self.past_rows(opening), self.coming_from(opening)
        self.rows = past + coming
        coming[0].own_start = self.accrued_from(opening)
        link(self.terms, self.rows, coming[0].own_start)
        self.name_first_length(coming[0])
        self.begin_period(coming[0])
        self.add_balances(opening, past, coming[0])
        self.ask_opening(opening, coming)
        self.stop_or_resume_interest()
        self.tell(f"boarded with {money(self.principal)}; instalment {money(coming[0].amount)}")

    def past_rows(self, opening):
        """Rows that are past due: posted, with what is unpaid of them."""
        rows, before = [], None
        for listed in opening.get("past_due", []):
            due, interest, principal = day_of(listed["due_date"]), listed["interest_cents"], listed["principal_cents"]
            paid = listed.get("total_cents", interest + principal) - interest - principal
            row = Row(due=due, start=before or due, ask="TOTAL", fell_due=True, from_opening=True)
            row.amount, row.principal, row.principal_paid = paid + interest + principal, paid + principal, paid
            self.judge_before_opening(row)
            rows.append(row)
            before = due
        return rows

    def judge_before_opening(self, row):
        passed = [tier for tier in self.terms.tiers if self.fee_moment(row, tier) <= self.now]
        row.tiers_judged = len(passed)
        row.judged = row.late = row.is_judged_before_opening = bool(passed)

    def coming_from(self, opening):
        if opening.get("schedule"):
            series = Given([day_of(one["due_date"]) for one in opening["schedule"]], self.terms.cycle)
            return [Row(series, n) for n in range(len(opening["schedule"]))]
        series = self.terms.series_from(day_of(opening["next_due_date"]))
        return [Row(series, n, series.length) for n in range(opening["remaining_installments"])]

    def accrued_from(self, opening):
        if "accrued_from" in opening:
            return day_of(opening["accrued_from"])
        if opening.get("past_due"):
            return day_of(opening["past_due"][-1]["due_date"])
        return self.one_cycle_before(self.coming_date(opening))

    def coming_date(self, opening):
        return day_of(opening["schedule"][0]["due_date"] if opening.get("schedule") else opening["next_due_date"])

    def one_cycle_before(self, day):
        if self.terms.is_semi_monthly:
            series = self.terms.series_from(day)
            return series.date(-1)
        return plus(day, -self.terms.cycle[0], -self.terms.cycle[1])

    def name_first_length(self, row):
        """Nominal, if it begins one cycle before its due date; else counted."""
        if row.start != self.one_cycle_before(row.series.date(row.n)) or self.terms.is_semi_monthly:
            row.length = None

    def add_balances(self, opening, past, first):
        self.add(Item("dbk_opening_loan", "LOAN", self.now, self.now, self.principal))
        for row, listed in zip(past, opening.get("past_due", [])):
            self.add_interest(f"dbk_opening_interest_{row.number}", listed["interest_cents"], row)
        self.add_interest("dbk_opening_carried", opening.get("carried_interest_cents", 0), CARRIED)
        accrued = opening.get("accrued_interest_cents", 0)
        self.add_interest("dbk_opening_accrued", accrued, first)
        self.made = self.earned = self.earned_without_caps = self.given = accrued
        self.counted_to = self.fixed_from = max(self.today, first.start)
        for fee in opening.get("fees", []):
            self.add_fee(fee, first)
        surplus = opening.get("surplus_cents", 0)
        if surplus:
            self.items["dbk_opening_loan"].surplus = surplus
            self.surplus_waits = True

    def add_interest(self, name, cents, row):
        if cents:
            item = self.add(Item(name, "INTEREST", self.now, self.now, cents, owes="INTEREST"))
            item.parts = [Part(item, row, cents)]
            if row != CARRIED:
                row.charged += cents

    def add_fee(self, fee, first):
        at = moment(fee["effective_at"]) if "effective_at" in fee else self.now
        row = self.row_due_on(fee["due_date"]) if "due_date" in fee else first
        is_penalty = fee.get("fee_class", "FEE") == "PENALTY"
        self.charge(fee["line_item_id"], "MANUAL_FEE", fee["amount_cents"], at, is_penalty, row)

    def ask_opening(self, opening, rows):
        if opening.get("schedule"):
            for row, listed in zip(rows[:-1], opening["schedule"]):
                row.ask = "TOTAL" if "amount_cents" in listed else "PRINCIPAL"
                row.amount = listed.get("amount_cents", listed.get("principal_cents"))
            return
        amount = opening.get("payment_amount_cents")
        for row in rows[:-1]:
            row.ask, row.amount = "TOTAL", amount or UNKNOWN
        if amount is None:
            self.recalculate(rows)
