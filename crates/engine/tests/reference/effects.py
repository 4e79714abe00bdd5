"""What a status pair stops, unless the product configures it: late fees, interest, delinquency, notices."""

STOPPED = {
    "ACTIVE": "", "ACTIVE/EXEMPTIONS": "", "ACTIVE/HARDSHIP": "LD", "ACTIVE/SCRA": "L",
    "SUSPENDED/DELINQUENT": "", "SUSPENDED/INACTIVITY": "", "SUSPENDED/RISK_REVIEW": "", "SUSPENDED/HARDSHIP": "LD",
    "SUSPENDED/BANKRUPTCY": "LDN", "SUSPENDED/DECEASED": "LDN", "SUSPENDED/FRAUD": "LIDN",
}  # fmt: skip
EFFECTS = {"late_fees": "L", "interest": "I", "delinquency": "D", "notices": "N"}


def status_effects(given):
    """By pair: the effects that are stopped."""
    return {
        pair: {
            effect
            for effect, letter in EFFECTS.items()
            if (given.get(pair) or {}).get(effect, "STOP" if letter in stopped else None) == "STOP"
        }
        for pair, stopped in STOPPED.items()
    }
