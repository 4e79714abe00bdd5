"""cases.py SEED COUNT LEVEL: random cases, one JSON line each.

Level 0: payments of loans that differ in interest and dates. 1: also methods, due intervals, fees, statuses and their
effects. 2: also orders of payment, reversals, offsets, waivers, replays. 3: also notices, the largest amounts, and
refused terms. 4: also contract terms, tolerances, tiers of late fees, openings, precomputed interest. 5: also changes
of rates and of the plan.

Levels 4 and 5 leave out (see `left_out`): tolerances with payments that are undone; openings with surplus; openings or
given schedules with payments that are undone and debt that is added; `precomputed_refund` NONE. Of changes: deferrals
with rates, new rows, re-amortisations, undone payments, kept interest, openings, given schedules or tolerances; any with
rounding at PAYMENT; new rows or extensions twice a month; new rows or skips after an opening; new rows with added debt,
undone payments, cancelled changes or tolerances; caps that lower instalments with changes of the plan or undone
payments; extensions with undone payments. New rows are those of re-ages and restructures.
"""

import json
import random
import sys
from datetime import date, time

from contract import Contract
from dates import Zone
from effects import EFFECTS, STOPPED
from inputs import make_inputs
from left_out import is_left_out
from outline import Outline
from situations import Situations, exactly
from terms import Terms

ZONES = [
    "America/New_York", "Europe/London", "America/St_Johns", "America/Sao_Paulo", "Pacific/Apia", "Asia/Kathmandu",
    "Australia/Lord_Howe", "Africa/Cairo",
]  # fmt: skip
RATES = [0, 1, 5, 6.2, 9.99, 12, 12, 18.25, 24, 36, 59.9, 60, 3.123456]


class Cases(Contract):
    def __init__(self, seed, level):
        self.rng, self.level = random.Random(seed * 10 + level), level

    def chance(self, share):
        return self.rng.random() < share

    def maybe(self, where, name, share, choices):
        if self.chance(share):
            where[name] = self.rng.choice(choices)

    def case(self):
        while True:
            zone, effective_at = self.start()
            product, account = self.product(zone), self.account(effective_at)
            if self.level >= 4:
                self.add_contract(product, account)
            try:
                outline = Outline(Terms(exactly(product), exactly(account)))
            except ValueError:
                if self.level == 3 and self.chance(0.02):
                    return {"product": product, "account": account, "inputs": [], "read_at": [effective_at]}
                continue
            case = {"product": product, "account": account, "inputs": [], "read_at": []}
            make_inputs(self.rng, self.level, case, outline)
            Situations(self.rng, self.level, case, outline).add_some()
            if self.level < 4 or not is_left_out(case):
                return case

    def start(self):
        """Often the end of a month, or the weeks around the day that Samoa skipped."""
        rng = self.rng
        zone = rng.choice(ZONES if self.level >= 2 or self.chance(0.3) else ZONES[:2])
        if zone == "Pacific/Apia" and self.chance(0.6):
            day = date(2011, rng.choice([9, 10, 11, 12]), rng.choice([1, 15, 28, 29, 30]))
        elif self.chance(0.5):
            year = rng.choice([2007, 2010, 2018, 2019, 2023, 2024, 2025])
            day = date(year, rng.choice([1, 3, 5, 7, 8, 10, 12]), rng.choice([28, 29, 30, 31]))
        elif self.chance(0.2):
            day = date(rng.choice([2020, 2024]), 2, rng.choice([28, 29]))
        else:
            day = date(rng.randint(2006, 2026), rng.randint(1, 12), rng.randint(1, 28))
        any_time = time(rng.randint(0, 23), rng.randint(0, 59), rng.randint(0, 59))
        clock = rng.choice([time(0), time(9, 30), time(12), time(23, 59, 59), any_time])
        zone = Zone(zone)
        return zone.zone.key, zone.local(zone.at(day, clock)).isoformat()

    # --- The product ---

    def product(self, zone):
        level = self.level
        policies = {"billing_cycle_policies": self.cycles(zone), "interest_policies": self.interest()}
        policies["amortization_policies"] = self.plan()
        defaults = policies["default_attributes"] = {}
        if level >= 1:
            policies["fee_policies"] = self.late_fees()
            self.maybe(defaults, "default_late_fee_cents", 0.7, [0, 1500, 2500, 999])
            if self.chance(0.5):
                policies["payment_due_policies"] = {
                    "delinquent_on_n_consecutive_late_fees": self.rng.choice([1, 2, 3]),
                    "charge_off_on_n_consecutive_late_fees": self.rng.choice([3, 4, 5, 99999, 99999]),
                }
            if self.chance(0.3):
                policies["status_effects"] = self.status_effects()
        if level >= 2:
            policies["payment_pouring_policies"] = self.pouring()
            self.maybe(policies, "backdating_policy", 0.4, ["AS_POSTED", "REPLAY", "REPLAY"])
            self.maybe(defaults, "default_payment_reversal_fee_cents", 0.5, [0, 2500, 1000])
        return {
            "product_overview": {"product_name": "reference", "product_type": "INSTALLMENT"},
            "product_lifecycle_policies": policies,
            "post_promotional_policies": {
                "post_promo_len": self.rng.choice([1, 2, 3, 4, 4, 6, 6, 12, 12, 24, 36]),
                "post_promo_default_interest_rate_percent": self.rng.choice(RATES),
            },
        }

    def cycles(self, zone):
        cycles = {"product_time_zone": zone}
        self.maybe(cycles, "cycle_interval", 0.4, ["1 month", "14 days", "7 days", "3 months", "30 days"])
        if self.level >= 1:
            due = ["0 days", "5 days", "-3 days", "10 days", "-5 days", "21 days", "1 days", "-1 days"]
            if "month" in cycles.get("cycle_interval", "1 month"):
                due += ["1 month", "-1 month", "1 month - 3 days"]
            self.maybe(cycles, "cycle_due_interval", 0.35, due)
            first = ["1 month", "14 days", "1 month - 10 days", "2 months", "0 days", "45 days", "3 months"]
            self.maybe(cycles, "first_cycle_interval", 0.3, first)
            close = ["17:00:00", "00:00:00", "12:00:00", "23:00:00", "02:30:00", "00:30:00", "00:00:30"]
            self.maybe(cycles, "close_of_business_time", 0.3, close)
        return cycles

    def interest(self):
        interest = {}
        self.maybe(interest, "interest_calc_method", 0.6, ["DAILY", "DAILY", "PERIODIC"])
        self.maybe(interest, "day_count", 0.7, ["THIRTY_360", "ACTUAL_365", "ACTUAL_360", "ACTUAL_ACTUAL"])
        self.maybe(interest, "rounding", 0.3, ["HALF_EVEN", "HALF_UP"])
        self.maybe(interest, "interest_after_maturity", 0.3, ["ACCRUE", "NONE"])
        return interest

    def plan(self):
        plan = {}
        self.maybe(plan, "month_end", 0.25, ["ROLL"])
        if self.level >= 1:
            self.maybe(plan, "method", 0.4, ["EQUAL_PRINCIPAL", "FLAT", "LEVEL"])
            self.maybe(plan, "interest_only_cycles", 0.2, [0, 1, 2, 3])
            self.maybe(plan, "installment_rounding_cents", 0.2, [1, 5, 100, 1000])
            self.maybe(plan, "smooth_last_installment", 0.2, [True])
        return plan

    def late_fees(self):
        fees = {}
        grace = ["0 days", "1 days", "5 days", "10 days", "15 days", "7 days", "35 days"]
        self.maybe(fees, "late_fee_grace", 0.6, grace)
        self.maybe(fees, "late_fee_grace_counts_due_date", 0.2, [True])
        types = ["FLAT", "FLAT", "PERCENT_OF_UNPAID", "PERCENT_OF_UNPAID_PRINCIPAL", "PERCENT_OF_PAYMENT"]
        self.maybe(fees, "late_fee_type", 0.8, types)
        self.maybe(fees, "late_fee_percent", 0.8, [5, 2.5, 10, 0.333333, 1])
        self.maybe(fees, "late_fee_min_cents", 0.2, [0, 500, 1500])
        self.maybe(fees, "late_fee_max_cents", 0.2, [1500, 2500, 10000])
        self.maybe(fees, "late_fee_cap_percent", 0.2, [5, 10, 25.5])
        self.maybe(fees, "late_fee_pyramiding", 0.5, ["RECEIPTS", "FEES_ONLY", "FEES_ONLY"])
        return fees

    def status_effects(self):
        """Random effects for some status pairs."""
        rng, effects = self.rng, {}
        words = {"late_fees": "CHARGE", "interest": "ACCRUE", "delinquency": "COUNT", "notices": "SEND"}
        for pair in rng.sample(list(STOPPED), rng.randint(1, 5)):
            named = rng.sample(list(EFFECTS), rng.randint(1, 4))
            effects[pair] = {effect: rng.choice([words[effect], "STOP"]) for effect in named}
        return effects

    def pouring(self):
        pouring = {}
        self.maybe(pouring, "surplus", 0.6, ["LAST_INSTALLMENT", "NEXT_INSTALLMENT", "REDUCE_PRINCIPAL"])
        self.maybe(pouring, "span", 0.35, ["BUCKET_FIRST", "OLDEST_INSTALLMENT_FIRST", "INSTALLMENTS_FIRST"])
        if self.chance(0.35):
            kinds = ("FEE", "PENALTY", "INTEREST", "PRINCIPAL")
            order = [f"{standing}_{kind}" for standing in ("PAST_DUE", "DUE") for kind in kinds]
            if self.chance(0.5):
                order += [f"IN_ADVANCE_{kind}" for kind in kinds]
            self.rng.shuffle(order)
            pouring["order"] = order[: self.rng.randint(1, len(order))]
        return pouring

    # --- The account ---

    def account(self, effective_at):
        level, rng = self.level, self.rng
        amounts = [1000000, 120000, 250000, 99999, rng.choice([1, 7, 100, 1001]), 777777, 350000, 2000000]
        amounts.append(rng.randint(1000, 5000000))
        if level == 3 and self.chance(0.1):
            amounts.append(10**13)
        summary = {"initial_principal_cents": rng.choice(amounts)}
        account = {"effective_at": effective_at, "summary": summary}
        if level >= 1:
            self.maybe(summary, "late_fee_cents", 0.2, [0, 700, 3000])
            self.maybe(summary, "late_fee_cap_percent", 0.1, [3, 50])
            self.maybe(summary, "origination_fee_cents", 0.2, [5000, 1234])
            cycles = account["cycle_type"] = {}
            self.maybe(cycles, "late_fee_grace", 0.1, ["3 days", "0 days"])
            self.maybe(cycles, "first_cycle_interval", 0.08, ["20 days", "2 months"])
            if self.chance(0.1):
                account["post_promo_overview"] = {
                    "post_promo_len": rng.randint(1, 10),
                    "post_promo_impl_interest_rate_percent": rng.choice(RATES),
                }
        if level >= 2:
            self.maybe(summary, "payment_reversal_fee_cents", 0.2, [0, 1500])
        return account


def main():
    seed, count, level = (int(text) for text in sys.argv[1:4])
    cases = Cases(seed, level)
    for _ in range(count):
        print(json.dumps(cases.case()))


if __name__ == "__main__":
    main()
