"""Line items."""

from dataclasses import dataclass, field


@dataclass
class Item:
    """A line item. `unpaid` holds (row, cents) for interest; a fee has one row or none."""

    id: str
    type: str
    effective_at: object
    applied_at: object
    amount: int
    status: str = "VALID"
    unpaid: list = field(default_factory=list)
    is_penalty: bool = False
    splits: list = field(default_factory=list)  # of a payment: (component, row, item, cents)
    reversed: bool = False

    @property
    def left(self):
        return sum(part[1] for part in self.unpaid)
