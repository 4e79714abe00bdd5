"""Fee moments: rows that are late, their fees, and the count that makes an account delinquent."""

CHARGED_OFF = ("CLOSED", "CHARGE_OFF")
DELINQUENT = ("SUSPENDED", "DELINQUENT")


class Lateness:
    """The part of the fold that concerns lateness."""

    def fee_moments(self):
        """(moment, row number) of each row's next fee moment."""
        state, moments = self.state, []
        for k in range(1, state.count + 1):
            row = state.rows[k]
            if row.retired or row.silent or row.fee_moments == len(self.terms.tiers):
                continue
            moments.append((self.fee_moment(row, row.fee_moments), k))
        return moments

    def fee_date(self, row, tier=0):
        return self.terms.calendar.plus(row.due, self.terms.tiers[tier].after)

    def fee_moment(self, row, tier=0):
        return self.terms.calendar.close_of(self.fee_date(row, tier))

    def grace_end(self, k):
        row = self.state.rows[k]
        row.fee_moments += 1
        if row.fee_moments == 1:
            self.judge(k, row)
        elif not self.state.is_paid(k) and row.judged != "SPARED" and not self.stays_free(row):
            if self.received_for(k) < row.whole:
                self.charge_late_fee(row, k)

    def stays_free(self, row):
        return self.state.closed or row.fell_due_closed or self.stopped("late_fees")

    def judge(self, k, row):
        state, paid = self.state, self.state.is_paid(k)
        stopped = not state.closed and (self.stopped("late_fees") or self.stopped("delinquency"))
        row.counts = not row.fell_due_closed and not stopped
        if paid:
            row.judged = "PAID"
            state.late_count = 0 if not state.closed else state.late_count
        elif self.stays_free(row):
            row.judged = "STOPPED"
        elif self.received_for(k) >= row.whole:
            row.judged = "SPARED"
        else:
            row.judged = "LATE"
            self.charge_late_fee(row, k)
            if row.counts:
                state.late_count += 1
                self.move_for_lateness()

    # --- The fee ---

    def charge_late_fee(self, row, k):
        state, number = self.state, row.fee_moments
        fee = self.late_fee(row, self.terms.tiers[number - 1])
        if self.terms.loan_cap is not None:
            charged = state.late_fees_before + sum(fee.charged - fee.waived for fee in state.late_fees)
            fee = min(fee, max(0, self.terms.loan_cap - charged))
        if fee > 0:
            name = f"dbk_late_fee_{k}" + (f".{number}" if number > 1 else "")
            state.late_fees.append(state.add_fee(name, "LATE_FEE", True, fee))

    def late_fee(self, row, tier):
        terms, promo = self.terms, self.promo()
        percent = lambda amount: terms.cents(tier.percent / 100 * amount)
        fee = {
            "FLAT": tier.cents,
            "PERCENT_OF_UNPAID": percent(row.unpaid),
            "PERCENT_OF_UNPAID_PRINCIPAL": percent(row.unpaid_principal),
            "PERCENT_OF_PAYMENT": percent(row.whole),
        }[tier.kind]
        fee = min(max(fee, tier.smallest), tier.largest) if promo is None else promo.rate
        return fee if terms.late_cap is None else min(fee, terms.cents(terms.late_cap / 100 * row.unpaid))

    def promo(self):
        """A promo may set another, flat fee; the one that started last counts."""
        covering = [promo for promo in self.state.promos if promo.covers(self.state.today)]
        return max(covering, key=lambda promo: promo.start) if covering else None

    # --- Sparing ---

    def received_for(self, k):
        """Payments since the previous row's due moment, and earlier payments made partly in advance for the row, less
        their parts that went to earlier rows that were paid or are not judged yet; parts in late rows are deducted only
        under FEES_ONLY."""
        state = self.state
        received = state.received.get(state.rows[k].id, 0)
        judged = (None, "PAID") if self.terms.pyramiding == "RECEIPTS" else (None, "PAID", "LATE")
        before = max((j for j in range(1, k) if not state.rows[j].silent), default=0)
        for receipt in state.receipts:
            parts = self.parts_by_number(receipt["parts"])
            if receipt["after"] < before and not any(number == k for number, _ in parts):
                continue
            received += receipt["cents"]
            for number, cents in parts + self.parts_by_number(receipt["used"]):
                if number < k and state.rows[number].judged in judged:
                    received -= cents
        return received

    def parts_by_number(self, parts):
        number = self.state.number
        return [(number(key), cents) for kind, key, cents in parts if kind in ("INTEREST", "PRINCIPAL")]

    # --- Delinquency ---

    def move_for_lateness(self):
        if self.moves_by_itself() and not self.stopped("delinquency"):
            if self.state.late_count >= self.terms.charge_off_after:
                self.set_status(CHARGED_OFF)
            elif self.state.late_count >= self.terms.delinquent_after:
                self.set_status(DELINQUENT)

    def count_again(self):
        """The latest unbroken run of unpaid rows whose grace has ended, with the opening's count if it reaches the
        first row. Spared, stopped and retired rows are skipped: they count neither as late nor as paid."""
        state, run, unpaid = self.state, 0, False
        for k in range(state.count, 0, -1):
            row = state.rows[k]
            if row.judged not in ("PAID", "LATE") or row.retired or not row.counts:
                continue
            if not state.is_paid(k):
                unpaid = True
                run += not row.at_opening
            elif unpaid:
                return run
        return run + (state.opening_count if unpaid else 0)
