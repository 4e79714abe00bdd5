"""One case: its events are put into the timeline as they come in, and what comes of it is compared with the file."""

import copy
import tomllib
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from pathlib import Path

from account import Account
from dates import moment
from reading import line_items, schedule, shown
from terms import Terms

TARGETS = {
    "payment_reversal": "payment", "payment_status": "payment", "fee_waiver": "fee", "refund_reversal": "line_item_id",
}  # fmt: skip
RATES = ("interest_rate", "temp_promo", "interest_pause")
CHANGES = (
    "due_date", "skip", "extension", "payment_deferral", "re_amortization", "re_age", "restructure", "capitalization",
)  # fmt: skip


@dataclass
class Input:
    at: datetime  # its place in the timeline
    rank: int
    seq: int
    effective_at: datetime
    comes_in_at: datetime
    kind: str
    target: str
    body: dict
    group: int = 3  # at one instant: 1 rates, 2 changes of the plan, 3 all else


class Case:
    def __init__(self, file):
        self.file = Path(file)
        self.text = self.file.read_text(encoding="utf-8")
        # Percentages are read from their text, never through a float.
        self.case = tomllib.loads(self.text, parse_float=Fraction)
        self.terms = Terms(self.case["product"], self.case["account"])
        self.events = [self.event(seq, one) for seq, one in enumerate(self.case.get("event", []), start=1)]
        self.ends_at = max([one.comes_in_at for one in self.events], default=self.terms.begins_at)
        self.timeline, self.heard, self.recalled = [], [], []
        self.is_held = self.case["mode"] == "migration"
        self.load() if self.is_held else self.live()
        self.account = self.at(self.ends_at)

    def event(self, seq, one):
        kind = next(key for key in one if key not in ("effective_at", "recorded_at"))
        body = {} if kind == "roll" else dict(one[kind])
        effective_at = moment(one["effective_at"])
        comes_in_at = moment(one.get("recorded_at", one["effective_at"]))
        target = body.pop(TARGETS[kind]) if kind in TARGETS else None
        group = 1 if kind in RATES else 2 if kind in CHANGES else 3
        return Input(effective_at, 0, seq, effective_at, comes_in_at, kind, target, body, group)

    def at(self, until):
        return Account(self.terms).fold(self.timeline, until)

    def take_out(self, change_id):
        """A change that was cancelled before it began, or that is folded again without, was never made."""
        self.timeline = [one for one in self.timeline if one.body.get("change_id") != change_id]

    def load(self):
        """Held: everything takes its place at its effective time, in whatever order it was loaded."""
        self.timeline = [one for one in self.events if one.kind not in ("roll", "change_cancel")]
        for one in self.events:
            if one.kind == "change_cancel":
                self.take_out(one.body["change_id"])
        self.heard = [event for _, event in self.at(self.ends_at).announced]

    def live(self):
        """Each event is placed when it comes in. What was announced until then stays announced."""
        clock, first = self.terms.begins_at, True
        for one in sorted(self.events, key=lambda one: one.comes_in_at):
            before = self.listen(clock, one.comes_in_at, first)
            clock, first = one.comes_in_at, False
            if one.kind == "roll":
                continue
            if one.kind == "change_cancel" and not self.ends(one, clock):
                self.cancel(one, before, clock)
                continue
            placed = copy.copy(one)
            place = one.effective_at
            passed = [step for *at, step in before.steps if tuple(at) > (place, 0, one.group) and step]
            revises = one.kind == "payment_reversal" or (one.kind == "payment_status" and (
                one.body["line_item_status"] != "VALID" or self.is_authorized(one.target)))
            if passed and self.terms.policy == "AS_POSTED":
                placed.at, placed.rank = clock, 2
            else:
                placed.at = place
            self.timeline.append(placed)
            after = self.at(clock)
            if self.terms.policy == "REPLAY" and (passed or revises):
                self.replayed(one, before, after)
            else:
                self.heard += [event for _, event in after.announced[len(before.announced):]]
        self.listen(clock, self.ends_at, first)

    def ends(self, one, clock):
        """As posted, a rate that has begun ends; any other change is taken out."""
        change = next(item for item in self.timeline if item.body.get("change_id") == one.body["change_id"])
        return self.terms.policy == "AS_POSTED" and change.kind in RATES and change.at <= clock

    def cancel(self, one, before, clock):
        self.take_out(one.body["change_id"])
        self.heard.append("account_update")
        if self.terms.policy == "REPLAY":
            self.replayed(one, before, self.at(clock))

    def is_authorized(self, name):
        payment = next(item for item in self.timeline if item.body.get("line_item_id") == name)
        return payment.body.get("line_item_status") == "AUTHORIZED"

    def listen(self, since, until, first):
        """Hears what comes by itself between two moments."""
        account = self.at(until)
        self.heard += [event for at, event in account.announced if first or since < at]
        return account

    def replayed(self, one, before, after):
        """A replay announces what changed, not the due dates and notices of the past again."""
        self.heard.append("account_recalculated")
        if one.kind == "payment_reversal":
            self.heard.append("payment_reversed")
        if (before.status, before.subtype) != (after.status, after.subtype):
            self.heard.append("account_status_change")
            if after.status == "CLOSED":
                self.heard.append("account_closed")
        for item in before.items.values():
            if item.id not in after.items:
                item.status, item.parts = "INVALID", []
                self.recalled.append(item)

    # Comparing

    def differences(self):
        expect = self.case.get("expect", {})
        yield from self.compare(fields(expect.get("account", {})), shown(self.account, self.ends_at), "at the end")
        for one in expect.get("account_at", []):
            at = moment(one["at"])
            wanted = fields({key: value for key, value in one.items() if key != "at"})
            yield from self.compare(wanted, shown(self.at(at), at), f"as of {one['at']}")
        for item in self.recalled:
            self.account.items.setdefault(item.id, item)
        items = list(line_items(self.account))
        for wanted in expect.get("line_item", []):
            if not any(all(key in item and same(value, item[key]) for key, value in wanted.items()) for item in items):
                kind = wanted.get("line_item_type")
                of_type = [item for item in items if kind in (None, item["line_item_type"])]
                brief = [{key: item.get(key) for key in wanted} for item in of_type]
                yield f"a line item: expected {wanted}, the oracle has {brief}"
        for kind, count in expect.get("line_item_count", {}).items():
            valid = sum(item["line_item_type"] == kind and item["line_item_status"] == "VALID" for item in items)
            if valid != count:
                yield f"valid line items {kind}: expected {count}, the oracle has {valid}"
        for wanted in expect.get("webhook", []):
            count = self.heard.count(wanted["event"])
            if count != wanted.get("count", max(1, count)):
                yield f"webhooks {wanted['event']}: expected {wanted.get('count', 'some')}, the oracle has {count}"
        rows = schedule(self.account, self.ends_at, self.timeline)
        for wanted in expect.get("schedule", []):
            yield from self.compare(fields(wanted, without="row"), rows[wanted["row"] - 1], f"of row {wanted['row']}")

    def compare(self, wanted, has, where):
        for name, value in wanted.items():
            if name not in has:
                yield f"{name} {where}: the oracle does not know this field"
            elif not same(value, has[name]):
                yield f"{name} {where}: expected {value}, the oracle says {has[name]}"


def fields(table, before="", without=None):
    """`{summary: {principal_cents: 1}}` as `{summary.principal_cents: 1}`."""
    flat = {}
    for key, value in table.items():
        if isinstance(value, dict):
            flat |= fields(value, f"{before}{key}.")
        elif key != without:
            flat[before + key] = value
    return flat


def same(expected, got):
    return moment(expected) == got if isinstance(got, datetime) else expected == got
