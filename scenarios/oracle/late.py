"""Late: fee moments, what was received for a row, late fees, and the count of late rows."""

from fractions import Fraction

from dates import plus
from items import CARRIED, Item, Part
from plan import settled
from terms import money, rounded


class Late:
    # Fees

    def row_of(self, at):
        """The row whose period holds a moment."""
        rows = (row for row in self.rows if row.has_period and at <= self.terms.at(row.due))
        return next(rows, None)

    def charge(self, name, kind, cents, effective_at=None, is_penalty=False, row=...):
        item = Item(name, kind, effective_at or self.now, self.now, cents, owes="FEE", is_penalty=is_penalty)
        item.parts = [Part(item, self.row_of(self.now) if row is ... else row, cents)]
        return self.add(item)

    def next_fee_moment(self, row):
        if not row.fell_due or row.retired or not row.has_period or row.tiers_judged >= len(self.terms.tiers):
            return None
        at = self.fee_moment(row, self.terms.tiers[row.tiers_judged])
        return at if at >= self.now else None

    def fee_moment(self, row, tier):
        return self.terms.at(plus(row.due, *tier["after"]))

    def end_grace(self, row):
        """A fee moment of a row."""
        tier, is_first = self.terms.tiers[row.tiers_judged], not row.judged
        row.tiers_judged, row.judged = row.tiers_judged + 1, True
        if self.is_paid(row):
            self.late_in_a_row = 0 if is_first else self.late_in_a_row
            return
        if row.spared or self.is_spared(row, is_first):
            return
        unpaid = self.principal_left(row) + self.interest_left(row)
        fee = self.late_fee(row, tier, unpaid)
        name = f"dbk_late_fee_{row.number}" + (f".{row.tiers_judged}" if row.tiers_judged > 1 else "")
        if fee:
            self.charge(name, "LATE_FEE", fee, is_penalty=True)
        self.tell(f"row {row.number} is unpaid ({money(unpaid)}): late fee {money(fee)}")
        if is_first:
            self.count_late(row)
        self.use_surplus()

    def is_spared(self, row, is_first):
        if self.stops("late_fees"):
            row.spared = row.spared or is_first
            return True
        came_in = self.received_for(row)
        if came_in < row.charged + row.charged_on_top + row.principal:
            return False
        self.tell(f"row {row.number} is unpaid, but {money(came_in)} was received for it: no late fee")
        row.spared = row.spared or is_first
        return True

    def late_fee(self, row, tier, unpaid):
        terms, kind = self.terms, tier["type"]
        base = {
            "PERCENT_OF_UNPAID": unpaid,
            "PERCENT_OF_UNPAID_PRINCIPAL": self.principal_left(row),
            "PERCENT_OF_PAYMENT": row.charged + row.charged_on_top + row.principal,
        }
        promo = self.promo_fee()
        if promo is not None:
            fee = promo
        else:
            fee = tier["flat"] if kind == "FLAT" else rounded(base[kind] * tier["percent"], terms.rounding)
        fee = max(fee, tier["min"]) if tier["min"] is not None else fee
        fee = min(fee, tier["max"]) if tier["max"] is not None else fee
        if terms.fee_cap is not None:
            fee = min(fee, rounded(unpaid * Fraction(terms.fee_cap) / 100, terms.rounding))
        if terms.fee_loan_cap is not None:
            fee = min(fee, max(0, terms.fee_loan_cap - self.late_fees_charged()))
        return fee

    def late_fees_charged(self):
        fees = (item for item in self.items.values() if item.type == "LATE_FEE")
        return self.opening_fees + sum(item.amount - item.waived for item in fees)

    def promo_fee(self):
        """The flat late fee of a promo whose window holds today."""
        live = [one for one in self.promo_fees if one[0] <= self.today and (one[1] is None or self.today < one[1])]
        return max(live, key=lambda one: one[0])[2] if live else None

    # What was received for a row

    def received_for(self, row):
        """Payments since the due moment before, and those that paid into the row in advance, less what older rows
        took of them; what spared ones took stays, and (RECEIPTS) what late ones took."""
        index = self.rows.index(row)
        before = [one for one in self.rows[:index] if one.has_period]
        since = self.terms.at(before[-1].due) if before else None
        total = self.received_before_opening if row.from_opening else 0
        for at, cents, item in self.receipts:
            directly = self.into_rows(item.splits)
            if item.reversed or not (since is None or at > since or row in directly):
                continue
            into = self.into_rows(item.splits + self.uses_of(item))
            total += cents - sum(part for one, part in into.items() if self.is_taken_by_older(one, row))
        return total

    def is_taken_by_older(self, one, row):
        counts = one.spared or (one.late and self.terms.receipts_only)
        return one.number < row.number and not counts

    def into_rows(self, splits):
        into = {}
        for what, row, _, cents in splits:
            if what in ("INTEREST", "PRINCIPAL") and row is not None:
                into[settled(row)] = into.get(settled(row), 0) + cents
        return into

    def uses_of(self, payment):
        """Where the surplus of a payment went later."""
        found = []
        for used in self.items.values():
            if used.type != "SURPLUS_APPLIED":
                continue
            skip = 0
            for source, cents in used.fed_by:
                if source is payment:
                    found += slice_of(used.splits, skip, cents)
                skip += cents
        return found

    # Counting

    def count_late(self, row):
        row.late = True
        if self.stops("delinquency"):
            row.stopped = True
            return
        self.late_in_a_row += 1
        self.move_by_count()

    def move_by_count(self):
        if not self.moves_by_itself() or self.stops("delinquency"):
            return
        if self.late_in_a_row >= self.terms.charge_off_after:
            self.charge_off()
        elif self.late_in_a_row >= self.terms.delinquent_after and self.status == "ACTIVE":
            self.set_status("SUSPENDED", "DELINQUENT")

    def unpaid_after_grace(self):
        rows = [row for row in self.rows if row.judged and not row.retired and not row.spared and not row.stopped]
        return {row for row in rows if not self.is_paid(row)}

    def count_late_again(self, unpaid_before):
        """As posted, rows that are unpaid again after their fee moment are late again, without a fee."""
        if not self.unpaid_after_grace() - unpaid_before or self.stops("delinquency"):
            return
        count, reaches_first = 0, True
        for row in reversed([row for row in self.rows if row.judged and row.has_period]):
            if row.retired or row.spared or row.stopped:
                continue
            if not self.is_paid(row):
                count += not row.is_judged_before_opening
            elif count:
                reaches_first = False
                break
        self.late_in_a_row = count + (self.opening_late if reaches_first else 0)
        self.move_by_count()

    def charge_off(self):
        self.post_open_interest()
        owed = self.principal + self.interest + self.fees
        self.add(Item("dbk_charge_off_1", "CHARGE_OFF", self.now, self.now, owed))
        self.set_status("CLOSED", "CHARGE_OFF")

    # Shortfalls

    def tolerate_past_due(self):
        for row in self.rows:
            if row.fell_due:
                self.tolerate(row)

    def tolerance(self, total):
        terms, found = self.terms, []
        if terms.tolerance_cents is not None:
            found.append(terms.tolerance_cents)
        if terms.tolerance_percent is not None:
            found.append(rounded(total * Fraction(terms.tolerance_percent) / 100, "DOWN"))
        if not found:
            return 0
        return max(found) if terms.tolerance_rule == "HIGHER" else min(found)

    def tolerate(self, row):
        """A row that lacks little counts as paid; what is missing goes on to another."""
        if self.is_projection or row.retired or not row.has_period or row is self.last or self.last.fell_due:
            return
        principal, interest = self.principal_left(row), self.interest_left(row)
        total = row.charged + row.charged_on_top + row.principal
        if principal + interest == 0 or total == principal + interest or principal + interest > self.tolerance(total):
            return
        later = [one for one in self.rows[row.number:] if not one.retired and one.has_period and not self.is_paid(one)]
        row.shortfall += principal + interest
        row.principal -= principal
        self.carry_from(row)
        if self.terms.shortfall_goes_on and later:
            self.ask_more(later[0], principal, interest)
        self.tell(f"row {row.number} lacks {money(principal + interest)} only: it counts as paid")

    def carry_from(self, row):
        """Interest that a row does not ask any more is carried."""
        for part in self.unpaid(row):
            row.charged_on_top -= part.left * part.top
            row.charged -= part.left * (not part.top)
            part.item.parts.append(Part(part.item, CARRIED, part.left))
            part.left = 0

    def ask_more(self, row, principal, interest):
        if row.fell_due:
            row.principal += principal
            self.take_up(row, interest)
        elif row.is_level:
            row.amount += principal + interest
        elif row.ask != "REST":
            row.amount += principal

    def take_up(self, row, cents):
        """A row that is posted takes carried interest."""
        for part in self.parts("INTEREST", CARRIED):
            more = min(cents, part.left)
            part.left -= more
            row.charged += more
            cents -= more
            if more:
                part.item.parts.append(Part(part.item, row, more))
        self.forget_empty_parts()


def slice_of(splits, skip, cents):
    """The part of a list of splits after the first so many cents."""
    found = []
    for what, row, part, amount in splits:
        passed = min(skip, amount)
        skip -= passed
        here = min(amount - passed, cents)
        cents -= here
        if here:
            found.append((what, row, part, here))
    return found
