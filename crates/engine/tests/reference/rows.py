"""Rows of the plan, and fees."""


class Row:
    """An instalment. It asks for a fixed total (LEVEL), for a fixed principal (the other methods, interest-only rows),
    or for neither (the last row, which takes the rest). What it asks on top of that was moved to it from other rows."""

    def __init__(self, number, index=None):
        self.id = number  # It stays the same when the row gets another place in the plan.
        self.index = index  # in the series of due dates
        self.series = None  # if it is not that of the rows after it
        self.start = self.due = None  # the dates of its period
        self.begins_apart = False  # not with the due date of the row before
        self.years = None  # THIRTY_360: the agreed length of its period
        self.counted = False  # Its length is counted between its dates.
        self.total = None
        self.fixed_principal = None
        self.interest_only = False
        self.kept = None  # FLAT and PRECOMPUTED: its interest
        self.written = []  # earlier amounts: (the input that changed it, total, fixed principal)
        self.settled = None  # the total that was asked when it was paid, while a cap lowers it

        self.interest = 0  # of this row, paid or not
        self.carried = 0  # the part of it that other periods earned
        self.interest_paid = 0
        self.principal_paid = 0
        self.recognised = 0  # interest of its own period that has become items
        self.principal = None  # known once the row has fallen due
        self.from_end = 0  # the part of it already paid into the end of the loan by then
        self.extra = 0  # principal paid in addition, which lowered later rows

        self.top_interest = 0  # the part of `interest` that is asked on top
        self.held = 0  # principal that is asked on top
        self.held_free = 0  # the part of it that earns no interest
        self.deferred = 0  # the part of both that comes from deferrals
        self.deferrals = []  # (row id, balance, whether its principal earns): take effect when the row falls due
        self.retired = False
        self.silent = False  # It has no due moment.
        self.shortfall = 0

        self.fell_due_closed = False
        self.judged = None  # at its first fee moment: PAID, LATE, SPARED, STOPPED
        self.fee_moments = 0  # that have passed
        self.counts = True  # towards delinquency, if it is late now or after a bounce
        self.at_opening = False  # judged before the opening
        self.named_total = None  # of a row that was past due at the opening

    @property
    def paid_into(self):
        return self.interest_paid + self.principal_paid

    @property
    def takes_rest(self):
        """The last row, and for a moment new rows."""
        return self.total is None and self.fixed_principal is None

    @property
    def unpaid_principal(self):
        """For a row that has fallen due."""
        return self.principal - self.from_end - self.principal_paid

    @property
    def unpaid_interest(self):
        return self.interest - self.interest_paid

    @property
    def unpaid(self):
        """For a row that has fallen due."""
        return self.unpaid_interest + self.unpaid_principal

    @property
    def unpaid_carried(self):
        return min(self.carried, self.unpaid_interest)

    @property
    def whole(self):
        """The total of a row that has fallen due."""
        return self.named_total or self.unpaid + self.paid_into

    @property
    def unpaid_held(self):
        return max(0, self.held - self.principal_paid)

    def absorb(self, other):
        """Takes over what was paid into another row, and its interest."""
        for name in ("interest", "carried", "interest_paid", "principal_paid", "recognised", "extra"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("top_interest", "held", "held_free", "deferred"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


class Fee:
    def __init__(self, name, penalty, amount, row, late=False):
        """`row` is the id of the row that it belongs to."""
        self.name, self.penalty, self.unpaid, self.row, self.late = name, penalty, amount, row, late
        self.charged = amount
        self.waived = 0

    def waive(self):
        self.waived += self.unpaid
        self.unpaid = 0
