"""Re-age, restructure and capitalisation: rows made anew, and interest and fees that become principal or leave."""

from dates import Regular, day_of, interval, plus
from items import CARRIED, TAIL, Item
from plan import UNKNOWN, Row
from rates import Rate
from terms import money, percent


class Renewal:
    def apply_re_age(self, one, name, cents):
        if self.status != "CLOSED":
            self.re_age(one, one.body)

    def apply_restructure(self, one, name, cents):
        """A re-age that may also forgive principal and set the rate."""
        body = dict(one.body)
        if self.status == "CLOSED":
            return
        self.count_today()
        if body.get("principal_forgiven_cents"):
            self.forgive(one, body["principal_forgiven_cents"])
        if "interest_rate_percent" in body:
            rate = percent(body["interest_rate_percent"])
            change = Rate(rate, self.today, None, one.effective_at)
            change.change_id = body.get("change_id")
            self.rates.all.append(change)
        ahead = self.rows_ahead()
        if "first_due_date" not in body:
            months, days = interval(body["frequency"]) if "frequency" in body else self.terms.cycle
            body["first_due_date"] = ahead[0].due if ahead else plus(self.today, months, days)
        body["installments"] = body.get("am_len", body.get("installments", len(ahead)))
        self.re_age(one, body)

    def forgive(self, one, cents):
        """Principal leaves as if it were paid: what is past due, what is due, the rest from the end."""
        cents = min(cents, self.principal)
        item = self.add(Item(f"dbk_forgiven:{self.name_of(one)}", "DEBIT_OFFSET", self.now, self.now, -cents))
        self.round_at_payment()
        self.for_row = min(self.open_interest(self.now), self.room(self.open_row))
        left = cents
        for bucket in ("PAST_DUE_PRINCIPAL", "DUE_PRINCIPAL"):
            for row in self.rows:
                left -= self.pay_bucket(row, bucket, left, item)
        self.pay_principal(None, left, item, "PRINCIPAL_FROM_THE_END")
        self.tell(f"{money(cents)} of principal is forgiven")
        self.tolerate_past_due()

    def name_of(self, one):
        return one.body.get("change_id", one.seq)

    # Re-age

    def re_age(self, one, body):
        self.count_today()
        how, fees = body.get("interest", "FIRST"), body.get("fees", "FIRST")
        if how in ("WAIVE", "CAPITALIZE"):
            self.take_off_interest(one, how == "CAPITALIZE")
        behind = [row for row in self.rows_behind() if row.has_period]
        for row in behind:
            if not self.is_paid(row):
                self.retire(row)
        rows = self.fresh_rows(body)
        self.redate(lambda: self.replace_rows(rows))
        self.place_fees(one, rows, fees)
        self.balloon, self.amortization_cycles = 0, None
        self.ask_fresh(rows, body, how == "SPREAD")
        self.late_in_a_row = 0
        if self.pair == "SUSPENDED/DELINQUENT":
            self.set_status("ACTIVE", self.left_subtype)
        self.tell(f"re-aged: {len(rows)} rows from {rows[0].due}")
        self.announce_change()

    def fresh_rows(self, body):
        first = day_of(body["first_due_date"])
        series = self.terms.series_from(first)
        if "frequency" in body:
            series = Regular(first, interval(body["frequency"]), month_end=self.terms.month_end)
        rows = [Row(series, n, series.length) for n in range(body["installments"])]
        rows[0].length = None
        for number, row in enumerate(rows[:-1]):
            interest_only = number < body.get("interest_only_cycles", 0)
            row.ask, row.amount = ("PRINCIPAL", 0) if interest_only else ("TOTAL", UNKNOWN)
        return rows

    def replace_rows(self, rows):
        """Rows ahead are removed; what was paid into them shows in one row that is due today: the one that falls due
        on this very day, or else a retired one of its own."""
        ahead = [row for row in self.rows if not row.fell_due and row.due > self.today and row.has_period]
        self.rows = [row for row in self.rows if row not in ahead]
        due_today = [row for row in self.rows if row.due == self.today]
        own = Row(due=self.today, start=self.today, has_period=False, fell_due=True, judged=True, retired=True)
        past = due_today[-1] if due_today else own
        paid_before = past.principal_paid
        for row in ahead:
            self.retire(row)
            self.hand_over(row, past)
        for item in self.items.values():
            for part in item.parts:
                part.row = CARRIED if part.row == TAIL and part.left else part.row
        self.move_prepaid_to(past)
        past.principal += past.principal_paid - paid_before
        if past is own and (past.charged or past.charged_on_top or past.principal_paid or past.extra):
            self.rows.append(past)
        self.rows += rows
        if self.current.is_tail:
            rows[0].own_start = self.current.start
            ahead = [self.current]
        self.take_over_period(ahead, rows[0])

    def ask_fresh(self, rows, body, spread):
        if "payment_amount_cents" in body:
            for row in rows[:-1]:
                row.amount = body["payment_amount_cents"] if row.is_level else 0
            if spread:
                self.post_retired_interest()
                self.spread_carried(rows)
        else:
            self.renew_amounts(rows, spread)

    # Fees

    def unpaid_fees(self):
        return [item for item in self.fee_items if item.left]

    def place_fees(self, one, rows, how):
        if how == "FIRST":
            for fee in self.unpaid_fees():
                for part in fee.parts:
                    part.row = rows[0] if part.left else part.row
        elif how == "CAPITALIZE":
            self.capitalize_fees(one)
        else:
            self.waive_fees(one, rows if how == "SPREAD" else [])

    def waive_fees(self, one, rows):
        """Unpaid fees are waived and, where rows are given, charged anew in equal parts."""
        totals = {False: 0, True: 0}
        for fee in self.unpaid_fees():
            totals[fee.is_penalty] += fee.left
            self.waive(fee, f"dbk_waived:{self.name_of(one)}:{fee.id}", self.now)
        for is_penalty, total in totals.items():
            for number, row in enumerate(rows, start=1):
                share = total // len(rows)
                cents = share if row is not rows[-1] else total - share * (len(rows) - 1)
                name = f"dbk_fee:{self.name_of(one)}:{'penalty' if is_penalty else 'fee'}:{number}"
                if cents:
                    self.charge(name, "MANUAL_FEE", cents, is_penalty=is_penalty, row=row)

    def capitalize_fees(self, one):
        total = sum(fee.left for fee in self.unpaid_fees())
        if total:
            item = self.add(Item(f"dbk_fees_off:{self.name_of(one)}", "DEBIT_OFFSET", self.now, self.now, -total))
            self.pay_parts(self.all_parts("FEE"), total, item)
            self.add_to_principal(f"dbk_capitalized_fees:{self.name_of(one)}", total)

    # Interest

    def take_off_interest(self, one, becomes_principal, with_open=True):
        """All interest that is owed leaves as if it were paid, and may become principal."""
        row = self.open_row
        spared = [] if with_open or row is None else self.parts("INTEREST", row)
        self.round_at_payment()
        if row is not None and not row.retired:
            self.take_carried(row)
        cents = self.open_interest(self.now) if with_open else 0
        if cents:
            self.make_interest(cents, row)
        parts = [part for part in self.all_parts("INTEREST") if part.left and part not in spared]
        total = sum(part.left for part in parts)
        self.taken = []
        if not total:
            return
        item = self.add(Item(f"dbk_interest_off:{self.name_of(one)}", "DEBIT_OFFSET", self.now, self.now, -total))
        self.pay_parts(parts, total, item)
        self.forget_empty_parts()
        self.tell(f"{money(total)} of interest leaves")
        self.tolerate_past_due()
        if becomes_principal:
            self.add_to_principal(f"dbk_capitalized:{self.name_of(one)}", total)

    def add_to_principal(self, name, cents):
        self.add(Item(name, "CREDIT_OFFSET", self.now, self.now, cents))
        self.raise_principal(cents)

    def apply_capitalization(self, one, name, cents):
        body = one.body
        if self.status == "CLOSED":
            return
        self.count_today()
        if body.get("interest", "ALL") != "NONE":
            self.take_off_interest(one, True, with_open=body.get("interest", "ALL") == "ALL")
        if body.get("fees", "NONE") == "ALL":
            self.capitalize_fees(one)
        if body.get("level_payment", "RECALCULATE") == "RECALCULATE":
            self.recalculate(self.rows_ahead())
        self.announce_change()
