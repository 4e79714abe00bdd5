"""Line items, and the parts of them that are owed by rows of the plan."""

from dataclasses import dataclass, field

CARRIED = "CARRIED"  # interest that no row has taken yet
TAIL = "TAIL"  # interest that accrued after the last row

FEE_TYPES = ("LATE_FEE", "ORIG_FEE", "MANUAL_FEE", "RETURN_CHECK_FEE")


@dataclass(eq=False)
class Part:
    """What of an item is owed in one place: a row, CARRIED, TAIL, or None for a fee that belongs to no row."""

    item: object
    row: object
    left: int
    top: bool = False  # asked on top of the row's own amount


@dataclass(eq=False)
class Item:
    id: str
    type: str
    effective_at: object
    applied_at: object
    amount: int
    status: str = "VALID"
    owes: str = None  # INTEREST or FEE
    is_penalty: bool = False
    parts: list = field(default_factory=list)
    splits: list = field(default_factory=list)  # of money: (component, row, part, cents)
    allocation: str = None
    reversed: bool = False
    surplus: int = 0  # of money: what paid no debt and is still there
    fed_by: list = field(default_factory=list)  # of surplus that was used or refunded: (source, cents)
    lowered: dict = field(default_factory=dict)  # rows that it made smaller: (what they asked before, what since)
    cuts: list = field(default_factory=list)  # of money from the end of the loan: what it took off deferred principal
    waived: int = 0  # of a fee
    write_off: object = None  # of a payment: the small balance that was taken off after it
    is_ahead: bool = False  # interest that was paid before its period began

    @property
    def left(self):
        return sum(part.left for part in self.parts)
