#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts what the flight recorder costs a message, in instructions of the hosts' turns.

    recorder_cost.py MESSAGE_COST

Exits 1 when a message without loss takes more than 1.03 times as many as without the recorder, and
77 where valgrind is missing.
"""

import sys

from message_cost import counted

MOST = 1.03


def main():
    worst = 0.0
    print("path    rules    with recorder  without  ratio")
    for path, rules in (("shared", "none"), ("direct", "none"), ("shared", "drop=1%")):
        with_it, without = (counted(sys.argv[1], recorder, path, rules)
                            for recorder in ("on", "off"))
        ratio = with_it / without
        print(f"{path:6}  {rules:7}  {with_it:13.0f}  {without:7.0f}  {ratio:.4f}")
        if rules == "none":
            worst = max(worst, ratio)
    return 1 if worst > MOST else 0


if __name__ == "__main__":
    sys.exit(main())
