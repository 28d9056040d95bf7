#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""trace_judge.py TRACE SEEN: whether the JSON lines of rnic-lab trace are what was on the wire.

In an orderly session the order of all packets must be that of the wire.

SEEN has a line a packet, in their order: tshark's fields ip.src, opcode, destqp, psn, padcnt,
udp.length, syndrome. TRACE may be several traces, one behind the other. The header sizes are those
of IBTA, written down here once more: the judge shares no code with what it judges.
"""

import itertools
import json
import pathlib
import sys

ACKNOWLEDGE = 17
UDP_BTH_ICRC = 8 + 12 + 4
RETH, AETH, ATOMIC, ATOMIC_ACK, IMMEDIATE = 16, 4, 28, 8, 4
EXTRA = {6: RETH, 9: IMMEDIATE, 10: RETH, 11: RETH + IMMEDIATE, 12: RETH, 13: AETH, 15: AETH,
         16: AETH, 17: AETH, 18: AETH + ATOMIC_ACK, 20: ATOMIC}


def number(text):
    return int(text, 0)


def seen_packets(path):
    """(who, opcode, queue pair, PSN, bytes, syndrome) of each packet on the wire."""
    found = []
    for line in pathlib.Path(path).read_text().splitlines():
        source, opcode, qpn, psn, pad, length, syndrome = (line.split("\t") + [""])[:7]
        opcode = number(opcode)
        payload = number(length) - UDP_BTH_ICRC - EXTRA.get(opcode, 0) - number(pad)
        found.append((source, opcode, number(qpn), number(psn), payload,
                      number(syndrome) if syndrome else None))
    return found


def sessions(path):
    """The lines of each session: a session begins at time 0."""
    found = []
    for line in pathlib.Path(path).read_text().splitlines():
        row = json.loads(line)
        if row["time_ns"] == 0 and row["event"] == "state":
            found.append([])
        found[-1].append(row)
    return found


def told_packets(rows):
    return [(row["host"], row["opcode"], row["qpn"], row["psn"], row["bytes"], row.get("syndrome"))
            for row in rows if row["event"] == "packet"]


def difference(what, told, seen):
    for place, (ours, wire) in enumerate(itertools.zip_longest(told, seen)):
        if ours != wire:
            return [f"{what}, packet {place}: told {ours}, on the wire {wire}"]
    return []


def is_orderly(told):
    """Whether each packet waited for the one before it, or left with it: nothing was repeated."""
    requests = [packet[3] for packet in told if packet[0] == "A"]
    return len(requests) == len(set(requests))


def complain_of_packets(told, seen, requests):
    """The first differences; the first sender is A. What two hosts send at the same time may leave
    in either order: then each host's own packets are compared alone."""
    if not seen:
        return ["tshark saw nothing"]
    seen = [("A" if packet[0] == seen[0][0] else "B", *packet[1:]) for packet in seen]
    if requests == 1 and is_orderly(told):
        return difference("all", told, seen)
    return [complaint for host in "AB" for complaint in difference(
        host, [packet for packet in told if packet[0] == host],
        [packet for packet in seen if packet[0] == host])]


def complain_of_steps(rows):
    """What must stand before what."""
    complaints = []
    times = [row["time_ns"] for row in rows]
    if times != sorted(times):
        complaints.append("time goes back")
    for host in "AB":
        states = [row["what"] for row in rows if row["event"] == "state" and row["host"] == host]
        if states != ["state INIT", "state RTR", "state RTS"]:
            complaints.append(f"{host} has the states {states}")
    posted = next(i for i, row in enumerate(rows) if row["event"] == "work request")
    if any(row["event"] == "packet" for row in rows[:posted]):
        complaints.append("a packet before the first work request")
    for place, row in enumerate(rows):
        sender = "B" if row["host"] == "A" else "A"
        arrived = [before["psn"] for before in rows[:place] if before["event"] == "packet"
                   and before["host"] == sender and not before["lost"]]
        if row["event"] == "completion" and row["status"] == 0:
            last = row["psn"] + row["packets"] - 1
        elif row["event"] == "packet" and row["opcode"] == ACKNOWLEDGE:
            last = row["psn"]
        else:
            continue
        if max(arrived, default=-1) < last:
            complaints.append(f"before its cause: {row}")
    return complaints


def main():
    seen = seen_packets(sys.argv[2])
    complaints = []
    for rows in sessions(sys.argv[1]):
        told = told_packets(rows)
        requests = sum(row["event"] == "work request" for row in rows)
        complaints += complain_of_packets(told, seen[:len(told)], requests)
        complaints += complain_of_steps(rows)
        seen = seen[len(told):]
    if seen:
        complaints.append(f"not told: {seen}")
    print("\n".join(complaints))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
