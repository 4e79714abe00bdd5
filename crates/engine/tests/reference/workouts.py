"""Re-amortising, re-ageing, restructuring and capitalising."""

import plan
import posting
from dates import day_of
from late import DELINQUENT
from pouring import Pouring, lend
from rates import Window
from recalculation import move_parts, recalculate
from refusal import Refused
from series import SEMI_MONTH, anchored
from terms import exact, parse_cycle


class Workouts:
    def re_amortization(self, wanted):
        state = self.state
        if self.idle():
            return
        if self.terms.kept:
            raise Refused
        behind = [k for k in self.behind() if not state.is_paid(k)]
        if not behind:
            return
        state.accrue()
        freed = sum(posting.retire(state, state.rows[k]) for k in behind)
        recalculate(
            state, state.ahead(), wanted["id"], freed, self.coming_interest(), wanted.get("interest") == "SPREAD", True
        )

    def behind(self):
        state = self.state
        rows = [k for k in range(1, state.count + 1) if state.rows[k].due <= state.today]
        return [k for k in rows if not state.rows[k].retired and not state.rows[k].silent]

    def coming_interest(self):
        """The open period's interest that a retired row leaves, which is due on this very date."""
        state = self.state
        row = state.rows[state.owner]
        return state.open_interest() if row.retired and row.due == state.today else 0

    # --- Capitalising ---

    def capitalization(self, wanted):
        state = self.state
        if state.closed:
            return
        if self.terms.kept:
            raise Refused
        state.accrue()
        interest = wanted.get("interest") or "ALL"
        added = 0
        if interest != "NONE":
            added += self.take_off_interest("CAPITALIZED", interest == "ALL")
        if wanted.get("fees") == "ALL":
            added += self.capitalize_fees()
        if added and wanted.get("level_payment", "RECALCULATE") == "RECALCULATE":
            recalculate(state, state.ahead(), wanted["id"], gather=True)

    def take_off_interest(self, reason, open_too=True):
        """Interest that is owed leaves by an offset, and becomes principal if it is capitalised."""
        state = self.state
        state.accrue()
        amount = state.interest_balance() + (state.open_interest() if open_too else 0)
        if not amount:
            return 0
        state.round_off()
        pouring = Pouring(state, amount, ("change", reason))
        for k in range(1, state.tail + 1):
            pouring.pay_posted(k)
        if open_too:
            pouring.pay_without_room()
        pouring.add_items()
        assert pouring.money == 0
        self.offset(amount, reason)
        return amount

    def capitalize_fees(self):
        amount = self.state.fees_balance()
        for fee in self.state.fees:
            fee.unpaid = 0
        if amount:
            self.offset(amount, "CAPITALIZED")
        return amount

    def offset(self, amount, reason):
        state = self.state
        state.net -= amount
        state.add_item("DEBIT_OFFSET", -amount, reason=reason)
        if reason == "CAPITALIZED":
            state.add_item("CREDIT_OFFSET", amount, reason=reason)
            state.net += amount
            lend(state, amount)

    # --- Re-ageing ---

    def restructure(self, wanted):
        state = self.state
        if state.closed:
            return
        if self.terms.kept:
            raise Refused
        ahead, cycle = state.ahead(), self.frequency(wanted)
        first = wanted.get("first_due_date")
        if first is None:
            after = self.terms.calendar.plus
            first = state.rows[ahead[0]].due.isoformat() if ahead else after(state.today, cycle).isoformat()
        self.check_first_due_date(first, cycle)
        forgiven = min(wanted.get("principal_forgiven_cents") or 0, state.principal)
        if forgiven:
            self.pour(forgiven, "PRINCIPAL", ("offset", wanted["id"]))
            state.add_item("DEBIT_OFFSET", -forgiven, reason="PRINCIPAL_FORGIVEN")
        if wanted.get("interest_rate_percent") is not None:
            state.accrue()
            state.rates = state.rates.copy()
            rate = exact(wanted["interest_rate_percent"]) / 100
            state.rates.plain.append(Window(state.today, None, rate, by=wanted["id"]))
            state.refix_interest()
        self.re_age({**wanted, "first_due_date": first, "installments": wanted.get("am_len") or max(1, len(ahead))})

    def frequency(self, wanted):
        return parse_cycle(wanted["frequency"]) if wanted.get("frequency") else self.state.series.cycle

    def check_first_due_date(self, first, cycle):
        day = day_of(first)
        on_days = any(plan.day_in_month(day, one) == day for one in self.state.semi_days)
        if day < self.state.today or (cycle == SEMI_MONTH and not on_days):
            raise Refused

    def re_age(self, wanted):
        state = self.state
        if state.closed:
            return
        if self.terms.kept:
            raise Refused
        self.check_first_due_date(wanted["first_due_date"], self.frequency(wanted))
        state.accrue()
        interest = wanted.get("interest") or "FIRST"
        if interest in ("WAIVE", "CAPITALIZE"):
            self.take_off_interest({"WAIVE": "INTEREST_WAIVED", "CAPITALIZE": "CAPITALIZED"}[interest])
        if wanted.get("fees") == "CAPITALIZE":
            self.capitalize_fees()
        freed = sum(posting.retire(state, state.rows[k]) for k in self.behind() if not state.is_paid(k))
        coming = self.coming_interest()
        freed += self.free_tail()
        start, recognised = self.running_period()
        freed += self.remove_rows_ahead()
        new = self.new_rows(wanted, start, recognised)
        self.give_fees(wanted.get("fees") or "FIRST", new, wanted["id"])
        self.ask_new_rows(wanted, new, freed, coming, interest == "SPREAD")
        state.late_count = state.opening_count = 0
        if state.status == DELINQUENT:
            self.set_status(state.left)

    def free_tail(self):
        """Interest after maturity is carried, too."""
        state = self.state
        tail = state.rows[-1]
        freed, left = tail.unpaid_interest, tail.interest_paid
        tail.interest = tail.interest_paid
        tail.carried = min(tail.carried, tail.interest)
        postings = []
        for day, cents in state.tail_postings:
            postings.append((day, min(cents, left)))
            left -= postings[-1][1]
        state.tail_postings = postings
        return freed

    def running_period(self):
        """The beginning of the first new period, and its interest that has become items."""
        state = self.state
        row = state.rows[state.owner]
        if state.period <= state.count and row.due <= state.today:
            last = max(row.due for row in state.rows[1 : state.count + 1] if row.due <= state.today)
            return last, 0
        return state.start_of(state.period), row.recognised

    def remove_rows_ahead(self):
        """What was paid into the rows ahead shows in one retired row. Returns their unpaid interest."""
        state = self.state
        last = max([k for k in range(1, state.count + 1) if state.rows[k].due <= state.today], default=0)
        tail = state.rows[-1]
        ahead = state.rows[last + 1 : state.count + 1]
        freed = sum(row.unpaid_interest for row in ahead)
        old = state.new_row()
        old.retired = old.silent = True
        old.start = old.due = state.today
        for row in ahead:
            old.absorb(row)
            state.moved[row.id] = old.id
        if tail.interest_paid:
            old.absorb(tail)
            state.moved[tail.id] = old.id
            state.rows[-1], state.tail_postings = state.new_row(), []
            state.rows[-1].principal = 0
        free = state.end_paid - sum(row.from_end for row in state.rows[1:])
        state.end_paid -= free
        old.principal_paid += free
        move_parts(state, "END", "PREPAID", old.id, free)
        old.interest, old.principal, old.recognised = old.interest_paid, old.principal_paid, 0
        old.carried = old.top_interest = old.held = old.held_free = old.deferred = 0
        state.rows[-1].recognised = 0
        due_today = state.passed < last
        passed = state.passed = min(state.passed, last)
        for receipt in state.receipts:
            receipt["after"] = min(receipt["after"], passed)
        behind = state.rows[1 : last + 1]
        for row in behind:
            if row.principal is None and row.takes_rest:  # It was the last row, and is paid.
                row.fixed_principal = row.principal_paid
        if due_today and (old.paid_into or old.extra):
            # The row that falls due today shows it.
            behind[-1].retired = True
            behind[-1].absorb(old)
            state.moved[old.id] = behind[-1].id
        elif old.paid_into or old.extra:
            behind.insert(passed, old)
            state.passed += 1
        state.rows = [None, *behind, state.rows[-1]]
        return freed

    def new_rows(self, wanted, start, recognised):
        state, cycle = self.state, self.frequency(wanted)
        first = state.count + 1
        new = [state.new_row(number) for number in range(1, wanted["installments"] + 1)]
        for row in self.lost_rows():
            state.moved[row] = new[0].id
        state.rows = [*state.rows[:-1], *new, state.rows[-1]]
        state.series = anchored(self.terms.calendar, cycle, day_of(wanted["first_due_date"]), 1, state.semi_days)
        new[0].start, new[0].begins_apart, new[0].recognised = start, True, recognised
        plan.set_dates(state, first)
        for row in new:
            row.years = state.series.years
        plan.count_length(new[0])
        state.to_spread = []
        if state.begun and not self.terms.daily and state.bases[0][1] == 0:
            state.bases = [(state.today, state.earning_principal)]  # Nothing was earned before.
        state.refix_interest()
        return new

    def lost_rows(self):
        """Ids of rows that were removed without anything paid into them."""
        there, moved = {row.id for row in self.state.rows[1:]}, self.state.moved
        return {target for target in moved.values() if target not in there and target not in moved}

    def give_fees(self, how, new, by):
        state = self.state
        unpaid = state.fees_balance()
        if how in ("WAIVE", "SPREAD"):
            for fee in [fee for fee in state.fees if fee.unpaid]:
                self.waive(fee)
        for fee in state.fees:
            fee.row = new[0].id
        if how == "SPREAD" and unpaid:
            each = unpaid // len(new)
            for number, row in enumerate(new):
                cents = each if number < len(new) - 1 else unpaid - each * (len(new) - 1)
                if cents:
                    state.add_fee(f"fee {number + 1} of {by}", "MANUAL_FEE", False, cents).row = row.id

    def ask_new_rows(self, wanted, new, freed, coming, spread):
        state = self.state
        state.balloon = state.amortization_cycles = None
        for row in new[: wanted.get("interest_only_cycles") or 0]:
            if row is not new[-1]:
                row.interest_only, row.fixed_principal = True, 0
        numbers = [state.rows.index(row) for row in new]
        amount = wanted.get("payment_amount_cents")
        recalculate(state, numbers, wanted["id"], freed, coming, spread, gather=True, amount=amount)
