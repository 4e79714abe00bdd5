"""Tools to check the model against numbers worked out by hand.

The loan: 1,200.00 at 12 % in three months from 15 January 2025, THIRTY_360, DAILY, 5 days of grace, late fee 15.00; the
level payment is 408.03. Some cases have twelve months, from 15 January 2027, and no grace.
"""

from model import run


def loan(count=3, start="2025-01-15T12:00:00Z", grace="5 days", fee=1500, **policies):
    life = {
        "billing_cycle_policies": {"product_time_zone": "UTC"},
        "interest_policies": {"interest_calc_method": policies.pop("interest", "DAILY")},
        "fee_policies": {"late_fee_grace": grace, **policies.pop("fees", {})},
        "payment_pouring_policies": policies.pop("pouring", {}),
        "amortization_policies": policies.pop("plan", {}),
        "default_attributes": {"default_late_fee_cents": fee},
        **policies,
    }
    lending = {"post_promo_len": count, "post_promo_default_interest_rate_percent": 12}
    product = {"product_lifecycle_policies": life, "post_promotional_policies": lending}
    return {"product": product, "account": {"effective_at": start, "summary": {"initial_principal_cents": 120000}}}


def moment(day):
    return day if "T" in day else f"{day}T12:00:00Z"


def pay(name, day, cents, **fields):
    fields = {"original_amount_cents": cents, **fields}
    return {"id": name, "kind": "payment", "effective_at": moment(day), **fields}


def reverse(payment, day):
    return {"id": f"reversal of {payment}", "kind": "payment_reversal", "effective_at": moment(day), "payment": payment}


def decide(payment, day, status):
    fields = {"effective_at": moment(day), "payment": payment, "line_item_status": status}
    return {"id": f"decision on {payment}", "kind": "payment_status", **fields}


def status(day, standing, reason=None):
    fields = {"effective_at": moment(day), "account_status": standing, "account_substatus": reason}
    return {"id": f"{standing} {reason} {day}", "kind": "status", **fields}


def offset(kind, day, cents, allocation):
    fields = {"effective_at": moment(day), "amount_cents": cents, "allocation": allocation}
    return {"id": f"{kind} {day}", "kind": kind, **fields}


def fee(day, cents):
    return {"id": f"fee {day}", "kind": "manual_fee", "effective_at": moment(day), "amount_cents": cents}


def at(case, day, *inputs):
    """The account on a day."""
    result = run({**case, "inputs": list(inputs), "read_at": [moment(day)]})
    found = {**result["reads"][0], "items": result["items"], "rejected": result["rejected"]}
    for row in found["schedule"]:
        found[f"row {row['row']}"] = row["interest_cents"], row["principal_cents"]
        found[f"principal {row['row']}"] = row["principal_cents"]
        found[f"total {row['row']}"] = row["total_cents"]
        names = {"open": "outstanding", "short": "shortfall", "deferred": "deferred", "interest": "interest"}
        for name, field in names.items():
            found[f"{name} {row['row']}"] = row[f"{field}_cents"]
        found[f"due {row['row']}"], found[f"retired {row['row']}"] = row["due_date"], row["retired"]
    found["late_fees"] = [item["effective_at"][:10] for item in found["items"] if item["type"] == "LATE_FEE"]
    offsets = [item for item in found["items"] if "reason" in item]
    found["offsets"] = [(one["type"], one["effective_at"], one["amount_cents"], one["reason"]) for one in offsets]
    found["used"] = [item["amount_cents"] for item in found["items"] if item["type"] == "SURPLUS_APPLIED"]
    return found


OFF, SEEN = [], []


def expect(name, found, **wanted):
    SEEN.append(name)
    for field, value in wanted.items():
        field = field.replace("_of_", " ") if field.split("_of_")[-1].isdigit() else field
        if found[field] != value:
            OFF.append(f"{name}: {field} is {found[field]}, not {value}")
