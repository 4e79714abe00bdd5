"""Changes of rates and of the plan."""

import plan
import posting
import surplus
from dates import day_of, parse_moment
from rates import Window
from recalculation import recalculate
from refusal import Refused
from series import SEMI_MONTH, Series, anchored
from state import CLOSED_BY_ITSELF
from terms import exact
from workouts import Workouts

TAGGED = {"scra": 6, "mla": 36}


class Changes(Workouts):
    """The part of the fold that concerns changes."""

    # --- Rates ---

    def interest_rate(self, wanted):
        tag = next((tag for tag in TAGGED if (wanted.get("tags") or {}).get(tag)), None)
        rate = wanted.get("interest_rate")
        rate = exact(TAGGED[tag] if rate is None else rate) / 100
        level = wanted.get("level_payment") or ("REDUCE" if tag == "scra" else "RECALCULATE")
        if level == "REDUCE" and not tag:
            raise Refused
        if self.state.closed and not tag:
            return
        window = self.window(wanted, "effective_at_inclusive_start", "effective_at_exclusive_end", rate)
        window.tag, window.reduces = tag, level == "REDUCE"
        self.add_rate(window, level, cap=bool(tag), back=tag or wanted.get("retroactive"))

    def temp_promo(self, wanted):
        if self.state.closed:
            return
        window = self.window(wanted, "temp_promo_inclusive_start", "temp_promo_exclusive_end", None)
        if wanted.get("late_fee_cents") is not None:
            promo = Window(window.start, window.end, wanted["late_fee_cents"], window.by)
            self.state.promos = [*self.state.promos, promo]
        if wanted.get("interest_rate_percent") is not None:
            window.rate = exact(wanted["interest_rate_percent"]) / 100
            self.add_rate(window, wanted.get("level_payment") or "KEEP", cap=False)

    def interest_pause(self, wanted):
        if self.state.closed:
            return
        start = day_of(wanted["start"]) if wanted.get("start") else self.state.today
        end = day_of(wanted["end"])
        if end < start:
            raise Refused
        window = Window(max(start, self.state.today), end, exact(0), by=wanted["id"], named_start=start)
        self.add_rate(window, wanted.get("level_payment") or "KEEP", cap=True, back=wanted.get("retroactive"))

    def window(self, wanted, start, end, rate):
        date_of = self.terms.zone.date_of
        until = date_of(parse_moment(wanted[end])) if wanted.get(end) else None
        named = date_of(parse_moment(wanted[start])) if wanted.get(start) else self.state.today
        if until and until < named:
            raise Refused
        return Window(max(named, self.state.today), until, rate, by=wanted["id"], named_start=named)

    def add_rate(self, window, level, cap, back=False):
        """`back`: what its late arrival cost is given back."""
        state = self.state
        if self.terms.kept:
            raise Refused
        state.accrue()
        before = state.rates
        saved = self.saved_by_then(window, cap) if back and window.named_start < window.start else 0
        if window.end is None or window.end > window.start:
            state.rates = with_window(state.rates, window, cap)
            state.refix_interest()
        if saved:
            self.pour(saved, "INTEREST", ("offset", window.by))
            state.add_item("DEBIT_OFFSET", -saved, reason="RETROACTIVE_RATE")
        if level == "RECALCULATE" and self.terms.level and state.rates.has(window):
            if cap and not state.rates.differs_from(before, state.today):
                return
            recalculate(state, state.ahead(), window.by, gather=True)

    def saved_by_then(self, window, cap):
        """Interest is never raised backwards."""
        state = self.state
        named = Window(window.named_start, window.end, window.rate)
        saved = state.saved_by(window.named_start, with_window(state.rates, named, cap))
        if saved < 0:
            raise Refused
        return saved

    # --- Dates ---

    def named_row(self, wanted):
        """The row from which a change counts: it must be ahead."""
        state, ahead = self.state, self.state.ahead()
        if not wanted.get("from_due_date"):
            return ahead[0]
        named = [k for k in ahead if state.rows[k].due == day_of(wanted["from_due_date"])]
        if not named:
            raise Refused
        return named[0]

    def idle(self, named=()):
        """A change that finds the account closed or no row ahead does nothing, unless it names a row that is not
        there."""
        state = self.state
        if state.closed:
            return True
        there = {row.due for row in state.rows[1 : state.count + 1] if not row.silent}
        if any(day and day_of(day) not in there for day in named):
            raise Refused
        return not state.ahead()

    def due_date(self, wanted):
        state = self.state
        if self.idle([wanted.get("from_due_date")]):
            return
        k, new = self.named_row(wanted), day_of(wanted["next_due_date"])
        row, recalculates = state.rows[k], wanted.get("level_payment") == "RECALCULATE"
        if new <= row.start or new < state.today or (new - row.due).days > 366 or (recalculates and self.terms.kept):
            raise Refused
        state.accrue()
        if new not in (row.due, (row.series or state.series).nth(row.index)):
            self.move_due_dates(k, new, wanted.get("semi_monthly_days"))
        if wanted.get("fee_cents"):
            state.add_fee("fee of " + wanted["id"], "MANUAL_FEE", False, wanted["fee_cents"])
        if recalculates:
            recalculate(state, range(k, state.count + 1), wanted["id"], gather=True)

    def move_due_dates(self, k, new, semi_days):
        state, terms = self.state, self.terms
        row = state.rows[k]
        old = row.series or state.series
        if old.given:
            by, first = new - old.nth(row.index), row.index
            nth = lambda i: old.nth(i) + by if i >= first else old.nth(i)
            state.series = Series(terms.calendar, old.cycle, nth, given=True)
        else:
            state.semi_days = semi_days or state.semi_days
            if old.cycle == SEMI_MONTH and not falls_on(new, state.semi_days):
                raise Refused
            for earlier in state.rows[1:k]:
                earlier.series = earlier.series or state.series
            for later in state.rows[k : state.count + 1]:
                later.series, later.index = None, row.index + state.rows.index(later) - k
                if later is not row:
                    later.years, later.counted = old.years, False
            state.series = anchored(terms.calendar, old.cycle, new, row.index, state.semi_days)
        self.set_new_dates(k, count_first=True)

    def set_new_dates(self, k, count_first):
        state = self.state
        plan.set_dates(state, k)
        if state.series.given:
            for row in state.rows[k : state.count + 1]:
                plan.count_length(row)
        elif count_first:
            plan.count_length(state.rows[k])
        state.refix_interest()

    # --- Rows ---

    def skip(self, wanted):
        if self.idle([wanted.get("from_due_date")]):
            return
        k, count = self.named_row(wanted), wanted.get("count") or 1
        self.state.accrue()
        if wanted.get("extend_term", True):
            self.put_off(k, count)
        else:
            self.take_out(k, count, wanted["id"])

    def put_off(self, k, count):
        """A row and all after it move by some cycles."""
        state, old = self.state, self.state.series
        row = state.rows[k]
        if old.given:
            first = row.index
            nth = lambda i: old.after(old.nth(i), count, state.semi_days) if i >= first else old.nth(i)
            state.series = Series(old.calendar, old.cycle, nth, given=True)
        else:
            for later in state.rows[k : state.count + 1]:
                later.index += count
            row.years += count * old.years
        self.set_new_dates(k, count_first=row.counted)

    def take_out(self, k, count, by):
        """Some rows are taken out; the next has a longer period, and what was paid into them."""
        state = self.state
        if k + count > state.count or self.terms.kept:
            raise Refused
        removed, row = state.rows[k : k + count], state.rows[k + count]
        row.start, row.begins_apart = removed[0].start, removed[0].begins_apart
        for one in removed:
            row.absorb(one)
            row.years += one.years
            state.moved[one.id] = row.id
        row.settled = None
        state.rows = state.rows[:k] + state.rows[k + count :]
        if state.series.given or any(one.counted for one in [*removed, row]):
            plan.count_length(row)
        state.refix_interest()
        recalculate(state, range(k, state.count + 1), by, gather=True)

    def extension(self, wanted):
        state = self.state
        if self.idle([wanted.get("from_due_date")]):
            return
        k, last = self.named_row(wanted), state.count
        if self.terms.kept:
            raise Refused
        state.accrue()
        first = state.rows[last].index + 1
        new = [state.new_row(first + number) for number in range(wanted["count"])]
        for row in new:
            row.years = state.series.years
        state.rows = [*state.rows[: last + 1], *new, state.rows[-1]]
        plan.set_dates(state, last + 1)
        plan.count_length(new[0])
        recalculate(state, range(k, state.count + 1), wanted["id"], gather=True)

    def payment_deferral(self, wanted):
        state = self.state
        if self.idle([one["due_date"] for one in wanted["deferrals"]]):
            return
        earns = wanted.get("interest_on_deferred", "ACCRUE") != "NONE"
        moves = [(*self.deferred_rows(one), one.get("balance") or "ALL") for one in wanted["deferrals"]]
        state.accrue()
        for k, target, balance in moves:
            row, name = state.rows[k], state.rows[target].id
            if row.retired or not self.asks_for(k, balance):
                continue
            if k <= state.passed:
                posting.defer(state, row, state.rows[target], balance, earns)
            else:
                others = [other for other in row.deferrals if other[1] != balance]
                row.deferrals = [*others, (name, balance, earns)]

    def asks_for(self, k, balance):
        """Whether there is anything to defer."""
        state, row = self.state, self.state.rows[k]
        of_row = (fee for fee in state.fees if fee.row is not None and state.row(fee.row) is row)
        if balance in ("ALL", "FEE") and any(fee.unpaid for fee in of_row):
            return True
        principal = k <= state.passed and balance in ("ALL", "PRINCIPAL") and row.unpaid_principal > 0
        interest = k <= state.passed and balance in ("ALL", "INTEREST") and row.unpaid_interest > 0
        return k > state.passed or principal or interest

    def deferred_rows(self, one):
        state = self.state
        rows = {state.rows[k].due: k for k in range(1, state.count + 1) if not state.rows[k].silent}
        k, to = rows.get(day_of(one["due_date"])), one.get("deferred_to") or "MATURITY"
        target = state.count if to == "MATURITY" else rows.get(day_of(to))
        if not k or k == state.count or target not in state.ahead() or target <= k:
            raise Refused
        return k, target

    # --- Refunds, cancels ---

    def refund(self, wanted):
        state = self.state
        if wanted["id"] in state.refunds:
            return
        owed = state.balance()
        surplus.refund(state, wanted["id"], wanted["original_amount_cents"])
        if state.status in CLOSED_BY_ITSELF and state.balance() > owed:
            self.set_status(state.left)

    def refund_reversal(self, wanted):
        refunds = self.state.refunds
        applied = {one["id"] for one in self.applied}
        coming = {one["id"] for one in self.inputs if one["kind"] == "refund"} - applied
        if wanted["refund"] in coming and wanted["refund"] not in refunds:
            refunds[wanted["refund"]] = {"reversed": True}  # It is called off.
            return
        refunded = refunds.get(wanted["refund"])
        if not refunded or refunded["reversed"]:
            raise Refused
        surplus.take_back_refund(self.state, wanted["refund"])

    def change_cancel(self, wanted):
        """A held change has been left out already. What is posted late ends a rate, a cap or a pause."""
        if wanted.get("posted_late"):
            self.end_rate(wanted["change"])
        elif not any(one["id"] == wanted["change"] and one["cancelled"] for one in self.inputs):
            raise Refused


    def end_rate(self, name):
        state = self.state
        if not any(window.by == name for window in state.rates.plain + state.rates.caps):
            raise Refused
        state.accrue()
        state.rates = state.rates.copy()
        for windows in (state.rates.plain, state.rates.caps):
            windows[:] = [window.ended(state.today) if window.by == name else window for window in windows]
        state.promos = [promo.ended(state.today) if promo.by == name else promo for promo in state.promos]
        state.refix_interest()


def with_window(rates, window, cap):
    rates = rates.copy()
    (rates.caps if cap else rates.plain).append(window)
    return rates


def falls_on(day, days):
    """Whether a date is one of the days of the month."""
    return any(plan.day_in_month(day, one) == day for one in days)
