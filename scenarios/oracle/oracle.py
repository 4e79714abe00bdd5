#!/usr/bin/env python3
"""Calculates every number of the test cases independently, and compares.

    python3 scenarios/oracle/oracle.py scenarios/*.toml              a line for each file; exit code 1 if one differs
    python3 scenarios/oracle/oracle.py --explain scenarios/01*.toml  what happens in a case, step by step
    python3 scenarios/oracle/oracle.py --pages scenarios             the page docs/scenarios/README.md

It is written from the servicing rules (docs/concepts), in another language and by other means than the engine, so that
a number in a case is right only if both find it. It needs Python 3.11 and time zones (the machine's, or tzdata).

    terms.py           what the product and the account say; shares of a year
    dates.py           intervals, series of due dates, business days
    plan.py            the rows of a contract, and what each asks
    rates.py           rates with dates, caps and pauses
    account.py         the fold: the order of everything, and what happens at a period's end
    interest.py        interest of the running period
    principal.py       what rows ask of principal
    pouring.py         where money goes
    surplus.py         surplus, refunds, and small balances that are written off
    late.py            late fees, the count of late rows, shortfalls
    statuses.py        what a status stops, and when it moves
    inputs.py          payments, fees, offsets and statuses
    rate_changes.py    rates, caps, pauses and promotions as they come
    recalculation.py   the level payment computed again
    changes.py         due dates, skips, extensions, deferrals, re-amortisation
    renewal.py         re-age, restructure, capitalisation
    opening.py         boarding from balances
    notices.py         when notices fire
    items.py           line items
    reading.py         what a reader sees: balances, schedule, line items
    case.py            one file: events placed in the timeline, expectations compared
    pages.py           the cases as a page of the documentation

    properties.py      a program of its own: checks what must always hold, on random histories (histories.py)
"""

import sys

from case import Case
from pages import page


def main(arguments):
    if arguments[:1] == ["--pages"] and len(arguments) == 2:
        sys.stdout.write(page(arguments[1]))
        return 0
    explains = arguments[:1] == ["--explain"]
    files = arguments[explains:]
    if not files or files[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    wrong = 0
    for file in files:
        case = Case(file)
        if explains:
            print(f"{file}: {case.case['title']}")
            print("\n".join(f"  {step}" for step in case.account.story))
        differences = list(case.differences())
        wrong += bool(differences)
        print(f"{'DIFFERS' if differences else 'ok'}  {file}")
        for difference in differences:
            print(f"  {difference}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
