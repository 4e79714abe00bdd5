"""Random histories: a product, a loan, and what happens to it."""

import random
from dataclasses import dataclass, field
from datetime import timedelta
from fractions import Fraction

from account import Account
from case import CHANGES, RATES, Input
from terms import Terms


@dataclass
class History:
    product: dict
    account: dict
    inputs: list = field(default_factory=list)
    until: object = None

    @property
    def terms(self):
        return Terms(self.product, self.account)

    def at(self, until=None, inputs=None):
        return Account(self.terms).fold(self.inputs if inputs is None else inputs, until or self.until)

    def told(self):
        lines = [f"product {self.product['product_lifecycle_policies']}", f"account {self.account}"]
        lines += [f"{one.at.isoformat()} {one.kind} {one.target or ''} {one.body}" for one in self.inputs]
        return "\n".join(lines)


class Maker:
    def __init__(self, seed):
        self.random, self.number = random.Random(seed), 0
        self.pick, self.whole = self.random.choice, self.random.randint

    # Products and loans

    def product(self):
        pick = self.pick
        method = pick(["LEVEL", "LEVEL", "LEVEL", "LEVEL", "EQUAL_PRINCIPAL", "EQUAL_PRINCIPAL", "FLAT", "PRECOMPUTED"])
        interest = {
            "interest_calc_method": pick(["DAILY", "DAILY", "PERIODIC"]),
            "day_count": pick(["THIRTY_360", "THIRTY_360", "ACTUAL_365", "ACTUAL_360", "ACTUAL_ACTUAL"]),
            "interest_after_maturity": pick(["ACCRUE", "ACCRUE", "NONE"]),
        }
        if interest["interest_calc_method"] == "DAILY":
            interest["interest_rounding_at"] = pick(["PERIOD_END", "PERIOD_END", "CARRY", "PAYMENT", "DAILY"])
        return {
            "post_promotional_policies": {
                "post_promo_len": self.whole(1, 8),
                "post_promo_default_interest_rate_percent": Fraction(self.whole(0, 300), 10),
            },
            "product_lifecycle_policies": {
                "amortization_policies": {
                    "method": method, "precomputed_split": pick(["ACTUARIAL", "SUM_OF_DIGITS", "EQUAL"]),
                    "precomputed_refund": pick(["NOT_BEGUN", "NOT_BEGUN", "NONE"]),
                },
                "interest_policies": interest,
                "billing_cycle_policies": self.cycle(),
                "fee_policies": self.fees(),
                "payment_pouring_policies": {
                    "surplus": pick(["LAST_INSTALLMENT", "NEXT_INSTALLMENT", "REDUCE_PRINCIPAL"])},
                "payment_due_policies": self.due(),
                "default_attributes": {"default_late_fee_cents": pick([0, 1500])},
            },
        }  # fmt: skip

    def cycle(self):
        found = {"cycle_interval": self.pick(["1 month", "1 month", "14 days", "semi-month", "3 months"])}
        if self.whole(1, 4) == 1:
            found["business_days"] = {"adjust": self.pick(["FOLLOWING", "MODIFIED_FOLLOWING", "PRECEDING"])}
        return found

    def fees(self):
        found = {"late_fee_grace": self.pick(["0 days", "5 days", "10 days"])}
        found["late_fee_pyramiding"] = self.pick(["RECEIPTS", "RECEIPTS", "FEES_ONLY"])
        if self.whole(1, 5) == 1:
            found["late_fee_tiers"] = [
                {"after": 3, "type": "FLAT", "amount_cents": 700},
                {"after": 12, "type": "PERCENT_OF_UNPAID", "percent": 3},
            ]
        if self.whole(1, 5) == 1:
            found["late_fee_loan_cap_cents"] = 4000
        return found

    def due(self):
        found = {"delinquent_on_n_consecutive_late_fees": self.whole(1, 3)}
        if self.whole(1, 4) == 1:
            found["shortfall_tolerance_cents"] = self.whole(0, 2000)
            found["shortfall_goes_to"] = self.pick(["NEXT_INSTALLMENT", "LAST_INSTALLMENT"])
        if self.whole(1, 4) == 1:
            found["write_off_balance_cents"] = self.whole(1, 10_000)
        if self.whole(1, 4) == 1:
            found["charge_off_on_n_consecutive_late_fees"] = 3
        return found

    def loan(self, product):
        day, principal = self.whole(1, 28), self.whole(10_000, 500_000)
        account = {
            "effective_at": f"2025-01-{day:02}T12:00:00-05:00",
            "summary": {"initial_principal_cents": principal},
        }
        count = product["post_promotional_policies"]["post_promo_len"]
        if product["product_lifecycle_policies"]["amortization_policies"]["method"] != "LEVEL":
            return account
        extra = self.pick([None, None, None, "payment_amount_cents", "balloon_cents", "amortization_cycles"])
        if extra == "payment_amount_cents":
            account[extra] = self.whole(principal // (count * 2), principal * 2 // count)
        elif extra == "balloon_cents":
            account[extra] = self.whole(1, principal)
        elif extra:
            account[extra] = count + self.whole(1, 12)
        return account

    def history(self, kinds, count=None):
        product = self.product()
        history = History(product, self.loan(product))
        at = history.terms.opened_at + timedelta(hours=self.whole(1, 200))
        for _ in range(self.whole(1, 10) if count is None else count):
            one = self.input(history, self.pick(self.allowed(history, kinds)), at)
            if one is not None:
                history.inputs.append(one)
            at += timedelta(hours=self.whole(1, 900))
        history.until = at + timedelta(days=self.whole(0, 60))
        return history

    def allowed(self, history, kinds):
        """Agreed interest has no rate and is not recalculated."""
        refused = set(RATES + CHANGES) - {"due_date", "skip", "payment_deferral"} if history.terms.is_kept else ()
        return [kind for kind in kinds if kind not in refused]

    def posted_late(self, history):
        """Some of the inputs were recorded later than they happened, and count from then."""
        opened = history.terms.opened_at
        for one in history.inputs:
            if self.whole(1, 3) == 1:
                one.rank = 2
                one.effective_at = max(opened, one.at - timedelta(hours=self.whole(1, 1500)))
                one.body["retroactive"] = True

    # Inputs

    def input(self, history, kind, at, body=None, target=None):
        self.number += 1
        if body is None:
            account = history.at(at)
            found = getattr(self, kind)(account, at)
            if found is None:
                return None
            body, target = found
        if kind in RATES + CHANGES:
            body = {"change_id": f"c{self.number}", **body}
        group = 1 if kind in RATES else 2 if kind in CHANGES else 3
        return Input(at, 0, self.number, at, at, kind, target, body, group)

    def day(self, account, days):
        return account.today + timedelta(days=days)

    def payment(self, account, at):
        level = max(1, account.payoff(at) // max(1, len(account.rows_ahead())))
        cents = self.pick([level, level, self.whole(1, level * 2), account.payoff(at) or 1])
        return {"line_item_id": f"p{self.number}", "original_amount_cents": min(10**9, max(1, cents))}, None

    def payment_reversal(self, account, at):
        paid = [item for item in account.items.values() if item.type == "PAYMENT" and not item.reversed]
        return ({"line_item_id": f"r{self.number}"}, self.pick(paid).id) if paid else None

    def manual_fee(self, account, at):
        return {"line_item_id": f"f{self.number}", "amount_cents": self.whole(1, 5000)}, None

    def fee_waiver(self, account, at):
        fees = [item for item in account.fee_items if item.left]
        return ({"line_item_id": f"w{self.number}"}, self.pick(fees).id) if fees else None

    def debit_offset(self, account, at):
        return {"line_item_id": f"d{self.number}", "original_amount_cents": self.whole(1, 9000)}, None

    def credit_offset(self, account, at):
        what = self.pick(["PRINCIPAL", "INTEREST", "FEE"])
        cents = self.whole(1, 9000)
        return {"line_item_id": f"k{self.number}", "original_amount_cents": cents, "allocation": what}, None

    def refund(self, account, at):
        if not account.surplus:
            return None
        return {"line_item_id": f"b{self.number}", "original_amount_cents": self.whole(1, account.surplus)}, None

    def interest_rate(self, account, at):
        body = {"interest_rate": Fraction(self.whole(0, 300), 10)}
        if self.whole(1, 3) == 1:
            body["tags"] = {self.pick(["scra", "mla"]): True}
        how = ["RECALCULATE", "KEEP"] + ["REDUCE"] * ("tags" in body)
        body["level_payment"] = self.pick(how)
        if self.whole(1, 2) == 1:
            body["effective_at_exclusive_end"] = self.day(account, self.whole(1, 90))
        return body, None

    def temp_promo(self, account, at):
        return {
            "temp_promo_exclusive_end": self.day(account, self.whole(1, 60)),
            "interest_rate_percent": self.whole(0, 20), "late_fee_cents": self.whole(0, 2000),
        }, None  # fmt: skip

    def interest_pause(self, account, at):
        return {"start": account.today, "end": self.day(account, self.whole(0, 60))}, None

    def named(self, account):
        rows = account.rows_ahead()
        return {} if not rows or self.whole(1, 2) == 1 else {"from_due_date": self.pick(rows).due}

    def due_date(self, account, at):
        body = self.named(account)
        rows = account.rows_from(body)
        if not rows:
            return None
        first = max(account.today, rows[0].start + timedelta(days=1))
        body["next_due_date"] = first + timedelta(days=self.whole(0, 50))
        body["level_payment"] = "KEEP" if account.terms.is_kept else self.pick(["KEEP", "RECALCULATE"])
        if account.terms.is_semi_monthly:
            body["semi_monthly_days"] = [body["next_due_date"].day, body["next_due_date"].day % 28 + 1]
        return body, None

    def skip(self, account, at):
        extends = account.terms.is_kept or self.pick([True, False])
        body = {**self.named(account), "count": self.whole(1, 3), "extend_term": extends}
        return (body, None) if account.rows_ahead() else None

    def extension(self, account, at):
        return ({**self.named(account), "count": self.whole(1, 6)}, None) if account.rows_ahead() else None

    def payment_deferral(self, account, at):
        ahead = account.rows_ahead()
        rows = [row for row in account.rows if not row.retired and row.has_period and not account.is_paid(row)]
        rows = [row for row in rows if row is not account.last]
        if not rows or not ahead:
            return None
        row = self.pick(rows[:2])
        later = [one for one in ahead if one.number > row.number]
        deferral = {"due_date": row.due, "balance": self.pick(["ALL", "ALL", "PRINCIPAL", "INTEREST", "FEE"])}
        if later and self.whole(1, 2) == 1:
            deferral["deferred_to"] = self.pick(later).due
        return {"deferrals": [deferral], "interest_on_deferred": self.pick(["ACCRUE", "ACCRUE", "NONE"])}, None

    def re_amortization(self, account, at):
        return {"interest": self.pick(["FIRST", "SPREAD"])}, None

    def re_age(self, account, at):
        body = {
            "first_due_date": self.day(account, self.whole(0, 45)), "installments": self.whole(1, 6),
            "interest": self.pick(["FIRST", "SPREAD", "WAIVE", "CAPITALIZE"]),
            "fees": self.pick(["FIRST", "SPREAD", "WAIVE", "CAPITALIZE"]),
        }  # fmt: skip
        if account.terms.is_semi_monthly or self.whole(1, 3) == 1:
            body["frequency"] = self.pick(["1 month", "14 days"])
        return body, None

    def restructure(self, account, at):
        body, _ = self.re_age(account, at)
        body["interest_rate_percent"] = self.whole(0, 20)
        body["principal_forgiven_cents"] = self.whole(0, 3000)
        body["interest_only_cycles"] = self.whole(0, 1)
        return body, None

    def capitalization(self, account, at):
        return {
            "interest": self.pick(["ALL", "POSTED", "NONE"]), "fees": self.pick(["ALL", "NONE"]),
            "level_payment": self.pick(["RECALCULATE", "KEEP"]),
        }, None  # fmt: skip

    def status(self, account, at):
        pair = self.pick([
            ("ACTIVE", None), ("ACTIVE", "SCRA"), ("ACTIVE", "HARDSHIP"), ("SUSPENDED", "FRAUD"),
            ("SUSPENDED", "BANKRUPTCY"), ("SUSPENDED", "DELINQUENT"), ("CLOSED", "SETTLEMENT"),
        ])  # fmt: skip
        return {"account_status": pair[0], "account_substatus": pair[1]}, None
