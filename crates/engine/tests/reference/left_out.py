"""Combinations that the cases leave out: the rules leave room there, and model and engine read them differently."""

RATES = {"interest_rate", "interest_pause", "temp_promo"}
NEW_ROWS = {"re_age", "restructure"}
PLAN = NEW_ROWS | {"due_date", "skip", "extension", "re_amortization", "capitalization"}


class Drawn:
    """What a case has."""

    def __init__(self, case):
        self.life, self.inputs = case["product"]["product_lifecycle_policies"], case["inputs"]
        self.kinds = {one["kind"] for one in self.inputs}
        self.schedule = "schedule" in case["account"]
        self.opening = case["account"].get("opening")
        due = self.life.get("payment_due_policies") or {}
        self.tolerance = bool(due.keys() & {"shortfall_tolerance_cents", "shortfall_tolerance_percent"})
        self.undone = "payment_reversal" in self.kinds or any(
            one["kind"] == "payment_status" and one["line_item_status"] == "INVALID" for one in self.inputs
        )

    def lends(self):
        return any(one["kind"] == "credit_offset" and one["allocation"] != "FEE" for one in self.inputs)

    def reduces(self):
        lowering = lambda one: one.get("level_payment", "REDUCE" if (one.get("tags") or {}).get("scra") else None)
        return any(lowering(one) == "REDUCE" for one in self.inputs)

    def keeps_refund(self):
        plan = self.life["amortization_policies"]
        return plan.get("method") == "PRECOMPUTED" and plan.get("precomputed_refund") == "NONE"


def is_left_out(case):
    drawn = Drawn(case)
    return in_contract(drawn) or in_changes(drawn)


def in_contract(drawn):
    if (drawn.opening or drawn.schedule) and drawn.undone and drawn.lends():
        return True
    if drawn.opening and "surplus_cents" in drawn.opening:
        return True
    return (drawn.tolerance and drawn.undone) or drawn.keeps_refund()


def in_changes(drawn):
    kinds, new = drawn.kinds, drawn.kinds & NEW_ROWS
    others = new | kinds & (RATES | {"re_amortization"})
    if "payment_deferral" in kinds:
        kept = drawn.life["amortization_policies"].get("method") in ("FLAT", "PRECOMPUTED")
        if others or kept or drawn.undone or drawn.opening or drawn.schedule or drawn.tolerance:
            return True
    changed = kinds & (PLAN | RATES | {"payment_deferral"})
    if changed and drawn.life["interest_policies"].get("interest_rounding_at") == "PAYMENT":
        return True
    if drawn.life["billing_cycle_policies"].get("cycle_interval") == "semi-month" and (new or "extension" in kinds):
        return True
    if drawn.opening and (new or "skip" in kinds):
        return True
    if new and (drawn.lends() or drawn.undone or "change_cancel" in kinds):
        return True
    if drawn.reduces() and (kinds & PLAN or drawn.undone):
        return True
    return bool((drawn.tolerance and new) or (drawn.undone and "extension" in kinds))
