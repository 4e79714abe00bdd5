#!/usr/bin/env python3
"""Calculates every number of the test cases independently, and compares.

    python3 scenarios/oracle/oracle.py scenarios/*.toml              a line for each file; exit code 1 if one differs
    python3 scenarios/oracle/oracle.py --explain scenarios/01*.toml  what happens in a case, step by step
    python3 scenarios/oracle/oracle.py --pages scenarios             the page docs/scenarios/README.md

It is written from the servicing rules (docs/concepts), in another language and by other means than the engine, so that
a number in a case is right only if both find it. It needs Python 3.11 and time zones (the machine's, or tzdata).

    terms.py    dates, shares of a year, instalments as planned
    account.py  the fold: periods, lateness, status, and the order of it all
    pouring.py  where money goes
    inputs.py   what each input does
    notices.py  when notices fire
    items.py    line items
    reading.py  what a reader sees: balances, schedule, line items
    case.py     one file: events placed in the timeline, expectations compared
    pages.py    the cases as a page of the documentation
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
