"""worked.py: checks the model against numbers worked out by hand. Prints the differences, and a count as the last
line."""

import sys

import worked_changes
import worked_payments
from checking import OFF, SEEN


def main():
    for check in worked_payments.CHECKS + worked_changes.CHECKS:
        check()
    for line in OFF:
        print(line)
    print(f"worked {len(SEEN)} cases: {len(OFF)} numbers are off")
    sys.exit(bool(OFF))


if __name__ == "__main__":
    main()
