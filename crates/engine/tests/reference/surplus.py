"""Using surplus, and undoing its use. A lot is surplus with its origin: [source, cents], oldest first."""

from pouring import owe_refund, take_back


def use(state, amount, pour):
    source = ("surplus", len(state.applications) + 1)
    fed = take_lots(state, amount)
    state.surplus -= amount
    state.add_item("SURPLUS_APPLIED", -amount)
    state.net += amount  # No money is added or removed: debt and surplus decrease together.
    parts = pour(amount, None, source)
    state.applications.append({"source": source, "amount": amount, "fed": fed, "parts": parts})
    note_parts(state, fed, parts, 1)


def take_lots(state, amount):
    fed = []
    while amount:
        lot = state.lots[0]
        part = min(amount, lot[1])
        fed.append((lot[0], part))
        lot[1] -= part
        amount -= part
        if not lot[1]:
            state.lots.pop(0)
    return fed


def take_back_uses(state, name, undone_by):
    """Undoes the uses of a payment's surplus, newest first."""
    for used in reversed(state.applications[:]):
        if all(source != name for source, _ in used["fed"]):
            continue
        take_back(state, used["parts"], used["source"], undone_by)
        state.add_item("SURPLUS_APPLIED", used["amount"])
        state.surplus += used["amount"]
        for source, cents in reversed(used["fed"]):
            give_back(state, source, cents)
        note_parts(state, used["fed"], used["parts"], -1)
        used["fed"] = []


def give_back(state, source, cents):
    for lot in state.lots:
        if lot[0] == source:
            lot[1] += cents
            return
    state.lots.append([source, cents])
    state.lots.sort(key=lambda lot: state.sources.index(lot[0]))


def note_parts(state, fed, parts, sign):
    """Records where the surplus of each payment went, for late fees."""
    receipts = {receipt["payment"]: receipt for receipt in state.receipts}
    parts = [list(part) for part in parts]
    for source, cents in fed:
        while cents:
            kind, key, there = parts[0]
            part = min(cents, there)
            if source in receipts:
                receipts[source]["used"].append((kind, key, sign * part))
            parts[0][2] -= part
            cents -= part
            if not parts[0][2]:
                parts.pop(0)


# --- Refunds ---


def refund(state, name, amount):
    """Surplus is paid out. What is not there is owed."""
    covered = min(amount, state.surplus)
    state.add_item("REFUND", amount)
    fed = take_lots(state, covered)
    state.surplus -= covered
    state.net += amount
    if amount > covered:
        owe_refund(state, amount - covered)
    state.refunds[name] = {"amount": amount, "fed": fed, "reversed": False}


def take_back_refund(state, name):
    """The money is surplus again, of the payments that it came from as far as they still stand."""
    refunded = state.refunds[name]
    refunded["reversed"] = True
    state.add_item("REFUND_REVERSAL", -refunded["amount"])
    state.surplus += refunded["amount"]
    state.net -= refunded["amount"]
    left = refunded["amount"]
    for source, cents in refunded["fed"]:
        if source in state.payments and state.payments[source]["state"] in ("VALID", "PENDING"):
            give_back(state, source, cents)
            left -= cents
    if left:
        state.sources.append(("refund", name))
        give_back(state, ("refund", name), left)
