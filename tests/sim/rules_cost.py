#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts what rules that match nothing cost a message, in instructions of the hosts' turns.

    rules_cost.py MESSAGE_COST

Exits 1 when a message takes more than 1.01 times as many as without rules, or 1.02 times where
rules of both directions judge each packet twice, and 77 where valgrind is missing. Both hosts have
the rules.
"""

import sys

from message_cost import counted

MOST = {1: 1.01, 2: 1.02}  # by the directions that have rules


def many(count, rule, directions=("", "rx:")):
    """Returns `count` rules; {} in `rule` is another number in each."""
    return ",".join(directions[i % len(directions)] + rule.format(i + 1) for i in range(count))


SENT = ("",)
CASES = {
    "another opcode": (1, "drop@rc-compare-swap"),
    "another opcode, twice": (2, many(2, "drop@rc-compare-swap/nth={}")),
    "another queue pair": (1, "drop/qpn=0x10"),
    "8 other queue pairs": (1, many(8, "drop/qpn={}", SENT)),
    "64 other queue pairs": (1, many(64, "drop/qpn={}", SENT)),
    "64 other queue pairs, twice": (2, many(64, "drop/qpn={}")),
    "64 other peers": (1, many(64, "drop/peer=192.0.2.{}", SENT)),
    "64 lengths": (1, many(64, "drop/longer=6{:03}", SENT)),
    "62 queue pairs, a peer, a length": (
        1, many(62, "drop/qpn={}", SENT) + ",drop/peer=192.0.2.1,drop/longer=6000"),
    "another queue pair, received": (1, "rx:drop/qpn=0x10"),
    "a time that has not come": (2, many(2, "drop/from=60s/nth={}")),
}


def main():
    without = counted(sys.argv[1], "on", "shared", "none")
    failed = False
    print(f"{without:.0f} instructions without rules; with rules for")
    for name, (directions, rules) in CASES.items():
        cost = counted(sys.argv[1], "on", "shared", rules, hits=0)
        print(f"{name:32}  {cost - without:+4.0f}  {cost / without:.4f}")
        failed |= cost / without > MOST[directions]
    return failed


if __name__ == "__main__":
    sys.exit(main())
