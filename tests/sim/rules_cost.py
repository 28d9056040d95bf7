#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts what rules that match nothing cost a message, in instructions of the hosts' turns.

    rules_cost.py MESSAGE_COST

Exits 1 when a message takes more than 1.01 times as many as without rules, and 77 where valgrind is
missing. Both hosts have the rules, and with rules of both directions each packet is judged twice.
"""

import sys

from message_cost import counted

MOST = 1.01


def many(count, rule, directions=("", "rx:")):
    """Returns `count` rules; {} in `rule` is another number in each."""
    return ",".join(directions[i % len(directions)] + rule.format(i + 1) for i in range(count))


SENT = ("",)
KINDS = "drop/qpn=9,drop/peer=192.0.2.1,drop/psn=5,drop/longer=6000,drop@rc-compare-swap"
BOTH_KINDS = KINDS + "," + KINDS.replace("drop", "rx:drop")
CASES = {
    "another opcode": "drop@rc-compare-swap",
    "another opcode, twice": many(2, "drop@rc-compare-swap/nth={}"),
    "another queue pair": "drop/qpn=0x10",
    "another queue pair, received": "rx:drop/qpn=0x10",
    "64 other queue pairs": many(64, "drop/qpn={}", SENT),
    "64 other queue pairs, twice": many(64, "drop/qpn={}"),
    "64 other peers": many(64, "drop/peer=192.0.2.{}", SENT),
    "64 other peers, twice": many(64, "drop/peer=192.0.2.{}"),
    "64 lengths": many(64, "drop/longer=6{:03}", SENT),
    "64 lengths, twice": many(64, "drop/longer=6{:03}"),
    "a queue pair, a peer, PSNs, a length, an opcode": KINDS,
    "all these, twice": BOTH_KINDS,
    "a time that has not come": many(2, "drop/from=60s/nth={}"),
    "a time that has not come, and all these, twice": BOTH_KINDS + ",drop/from=60s",
}


def main():
    without = counted(sys.argv[1], "on", "shared", "none")
    failed = False
    print(f"{without:.0f} instructions without rules; with rules for")
    for name, rules in CASES.items():
        cost = counted(sys.argv[1], "on", "shared", rules, hits=0)
        print(f"{name:47}  {cost - without:+4.0f}  {cost / without:.4f}")
        failed |= cost / without > MOST
    return failed


if __name__ == "__main__":
    sys.exit(main())
