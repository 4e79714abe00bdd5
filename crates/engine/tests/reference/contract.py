"""Random contract terms: what the contract says about payments and dates, tolerances, tiers, openings."""

from datetime import date, timedelta

from dates import Zone, add_interval, parse_interval, parse_moment, show_moment


class Contract:
    """The part of `Cases` that draws them."""

    def add_contract(self, product, account):
        policies = product["product_lifecycle_policies"]
        self.dates(policies["billing_cycle_policies"], account)
        self.precomputed(policies["amortization_policies"])
        kept = policies["amortization_policies"].get("method") in ("FLAT", "PRECOMPUTED")
        self.interest_rounding(policies["interest_policies"], kept)
        self.lateness(policies.setdefault("payment_due_policies", {}))
        self.tiers(policies["fee_policies"], account)
        level = policies["amortization_policies"].get("method", "LEVEL") == "LEVEL"
        if not kept and self.chance(0.2):
            self.opening(product, account, level)
        elif level and self.chance(0.5):
            self.amounts(product, account)
        if "schedule" not in account and "opening" not in account and self.chance(0.15):
            self.first_due_date(policies["billing_cycle_policies"], account)

    # --- Policies ---

    def dates(self, cycles, account):
        if self.chance(0.12):
            cycles["cycle_interval"] = "semi-month"
            self.maybe(cycles, "semi_monthly_days", 0.7, [[1, 15], [15, 31], [5, 20], [14, 28]])
            cycles.pop("cycle_due_interval", None)
            cycles.pop("first_cycle_interval", None)
            account["cycle_type"].pop("first_cycle_interval", None)
        if self.chance(0.25):
            adjust = self.rng.choice(["FOLLOWING", "MODIFIED_FOLLOWING", "PRECEDING", "NONE"])
            days = cycles["business_days"] = {"adjust": adjust}
            self.maybe(days, "weekend", 0.2, [["FRIDAY", "SATURDAY"], ["SUNDAY"], []])
            start = parse_moment(account["effective_at"]).date()
            holidays = sorted({start + timedelta(days=self.rng.randint(1, 200)) for _ in range(30)})
            if self.chance(0.5):
                days["holidays"] = [day.isoformat() for day in holidays]

    def precomputed(self, plan):
        if self.chance(0.12):
            plan["method"] = "PRECOMPUTED"
            self.maybe(plan, "precomputed_split", 0.7, ["ACTUARIAL", "SUM_OF_DIGITS", "EQUAL"])
            self.maybe(plan, "precomputed_refund", 0.5, ["NOT_BEGUN", "NONE"])
            if plan.get("precomputed_split") == "SUM_OF_DIGITS":
                plan.pop("interest_only_cycles", None)

    def interest_rounding(self, interest, kept):
        self.maybe(interest, "interest_rounding", 0.25, ["HALF_EVEN", "HALF_UP", "DOWN"])
        self.maybe(interest, "rounding", 0.1, ["DOWN"])
        if interest.get("interest_calc_method") == "DAILY" and not kept:
            places = ["PERIOD_END", "CARRY", "PAYMENT", "DAILY"]
            self.maybe(interest, "interest_rounding_at", 0.5, places)

    def lateness(self, lateness):
        if self.chance(0.35):
            self.maybe(lateness, "shortfall_tolerance_cents", 0.7, [1, 10, 100, 1000, 5000])
            self.maybe(lateness, "shortfall_tolerance_percent", 0.4, [0.5, 1, 5, 30])
            self.maybe(lateness, "shortfall_tolerance_rule", 0.4, ["HIGHER", "LOWER"])
            self.maybe(lateness, "shortfall_goes_to", 0.5, ["NEXT_INSTALLMENT", "LAST_INSTALLMENT"])
        self.maybe(lateness, "write_off_balance_cents", 0.25, [1, 100, 1000, 10000])

    def tiers(self, fees, account):
        self.maybe(fees, "late_fee_loan_cap_cents", 0.15, [1000, 2000, 5000])
        if not self.chance(0.25):
            return
        for name in ("grace", "grace_counts_due_date", "type", "percent", "min_cents", "max_cents"):
            fees.pop(f"late_fee_{name}", None)
        account["cycle_type"].pop("late_fee_grace", None)
        days = sorted(self.rng.sample([0, 1, 5, 10, 15, 30, 35, 45], self.rng.randint(1, 3)))
        fees["late_fee_tiers"] = [self.tier(after) for after in days]

    def tier(self, after):
        kinds = ["FLAT", "FLAT", "PERCENT_OF_UNPAID", "PERCENT_OF_UNPAID_PRINCIPAL", "PERCENT_OF_PAYMENT"]
        tier = {"after": f"{after} days", "type": self.rng.choice(kinds)}
        if tier["type"] == "FLAT":
            tier["amount_cents"] = self.rng.choice([500, 1000, 1500])
        else:
            tier["percent"] = self.rng.choice([1, 2.5, 5])
            self.maybe(tier, "min_cents", 0.3, [200, 1000])
            self.maybe(tier, "max_cents", 0.3, [1500, 5000])
        return tier

    # --- The contract of one account ---

    def amounts(self, product, account):
        rng = self.rng
        principal = account["summary"]["initial_principal_cents"]
        count = (account.get("post_promo_overview") or product["post_promotional_policies"])["post_promo_len"]
        kind = rng.choice(["payment_amount_cents", "balloon_cents", "amortization_cycles", "schedule"])
        if kind == "payment_amount_cents":
            share = rng.choice([30, 90, 100, 104, 110, 150])
            account[kind] = max(1, principal * share // (100 * count))
        elif kind == "balloon_cents":
            account[kind] = max(1, principal * rng.choice([5, 30, 50, 100]) // 100)
        elif kind == "amortization_cycles":
            account[kind] = count + rng.choice([1, 3, 12, 60])
        else:
            account[kind] = self.given_rows(parse_moment(account["effective_at"]).date(), principal)

    def given_rows(self, day, principal):
        rng, count = self.rng, self.rng.randint(1, 8)
        rows, day = [], day + timedelta(days=rng.choice([1, 5, 20, 31]))
        for _ in range(count):
            each = principal * rng.choice([0, 60, 100, 105, 140]) // (100 * count)
            kind = rng.choice(["amount_cents", "amount_cents", "principal_cents"])
            rows.append({"due_date": day.isoformat(), kind: each if kind == "principal_cents" else max(1, each)})
            day += timedelta(days=rng.choice([7, 14, 28, 30, 31, 31, 45, 61]))
        rows[-1] = {"due_date": rows[-1]["due_date"]}
        return rows

    def first_due_date(self, cycles, account):
        if "first_cycle_interval" in cycles or "first_cycle_interval" in account["cycle_type"]:
            return
        day = parse_moment(account["effective_at"]).date() + timedelta(days=self.rng.randint(2, 70))
        if cycles.get("cycle_interval") == "semi-month":
            day = self.on_semi_day(day, cycles)
        account["first_due_date"] = day.isoformat()

    def on_semi_day(self, day, cycles):
        days = cycles.get("semi_monthly_days", [1, 15])
        last = lambda day: add_interval(day.replace(day=1), (1, 0), "CLAMP") - timedelta(days=1)
        while not any(day == last(day).replace(day=min(one, last(day).day)) for one in days):
            day += timedelta(days=1)
        return day

    # --- Boarding ---

    def opening(self, product, account, level):
        rng = self.rng
        cycles = product["product_lifecycle_policies"]["billing_cycle_policies"]
        zone = Zone(cycles["product_time_zone"])
        principal = account["summary"].pop("initial_principal_cents")
        account["summary"].pop("origination_fee_cents", None)
        account["cycle_type"].pop("first_cycle_interval", None)
        cycles.pop("first_cycle_interval", None)
        age = timedelta(days=rng.randint(70, 400), seconds=rng.randint(0, 9999))
        as_of = parse_moment(account["effective_at"]) + age
        today = zone.date_of(as_of)
        given = account["opening"] = {"as_of": show_moment(as_of), "principal_cents": max(1, principal)}
        next_due = today + timedelta(days=rng.randint(6 if "business_days" in cycles else 1, 28))
        semi = cycles.get("cycle_interval") == "semi-month"
        next_due = self.on_semi_day(next_due, cycles) if semi else next_due
        given["next_due_date"] = next_due.isoformat()
        count = given["remaining_installments"] = rng.choice([1, 2, 3, 6, 12])
        if level and rng.random() < 0.5:
            given["payment_amount_cents"] = max(1, principal * rng.choice([50, 105, 150]) // (100 * count))
        last = None
        if rng.random() < 0.5:
            last = self.past_due(given, today, next_due, semi, cycles)
        elif rng.random() < 0.3:
            last = today - timedelta(days=rng.randint(0, 40))
            given["accrued_from"] = last.isoformat()
        self.maybe(given, "accrued_interest_cents", 0.8, [0, 100, principal // 200])
        self.maybe(given, "carried_interest_cents", 0.2, [1, 500, principal // 100])
        self.maybe(given, "surplus_cents", 0.15, [1, 5000])
        self.maybe(given, "late_fees_charged_cents", 0.2, [500, 1500])
        if rng.random() < 0.3:
            fee = {"line_item_id": "boarded-fee", "amount_cents": 1500, "fee_class": rng.choice(["FEE", "PENALTY"])}
            given["fees"] = [fee]
            if given.get("past_due") and rng.random() < 0.5:
                fee["due_date"] = rng.choice(given["past_due"])["due_date"]

    def past_due(self, given, today, next_due, semi, cycles):
        rng, count = self.rng, self.rng.randint(1, 3)
        cycle = (0, 15) if semi else parse_interval(cycles.get("cycle_interval", "1 month"))
        dates, day = [], next_due
        for _ in range(count):
            day = add_interval(day, (-cycle[0], -cycle[1]), "CLAMP")
            if day < today:
                dates.insert(0, day)
        rows, left = [], given["principal_cents"]
        for day in dates:
            part = rng.randint(0, left // 4)
            left -= part
            interest = rng.randint(0, part // 10 + 100)
            row = {"due_date": day.isoformat(), "principal_cents": part, "interest_cents": interest}
            row["total_cents"] = part + interest + rng.choice([0, 0, 500])
            if row["total_cents"]:
                rows.append(row)
        if not rows:
            return None
        given["past_due"] = rows
        given["consecutive_late_fees"] = rng.choice([0, len(rows)])
        self.maybe(given, "received_since_due_cents", 0.3, [100, rows[-1]["total_cents"]])
        if rng.random() < 0.3:
            given.update(account_status="SUSPENDED", account_substatus="DELINQUENT")
        return date.fromisoformat(rows[-1]["due_date"])
