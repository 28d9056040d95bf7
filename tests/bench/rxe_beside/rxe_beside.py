#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The rows that rxe_beside.sh measures, and the table of what the guest printed.

    rxe_beside.py --rows REGEX [--part N] the rows, one a line: name and command; one part in N of
                                          the messages
    rxe_beside.py --table FILE            the table, from the guest's console

Exit status: 1 when a number is missing."""

import argparse
import re
import statistics
import sys

# Messages of a bandwidth test; latencies have as many round trips as perftest counts.
ROWS = {
    "write_64k": "ib_write_bw -s 65536 -n 5000 -N --report_gbits",
    "write_deep_64k": "ib_write_bw -s 65536 -t 512 -n 1000 -N --report_gbits",
    "write_1m": "ib_write_bw -s 1048576 -n 400 -t 16 -N --report_gbits",
    "read_64k": "ib_read_bw -s 65536 -n 5000 -N --report_gbits",
    "send_64k": "ib_send_bw -s 65536 -n 5000 -N --report_gbits",
    "send_64k_events": "ib_send_bw -e -s 65536 -n 5000 -N --report_gbits",
    "write_rate": "ib_write_bw -s 8 -q 16 -n 5000 -N --report_gbits",
    "ud_1k": "ib_send_bw -c UD -s 1024 -n 20000 -N --report_gbits",
    "write_lat": "ib_write_lat -s 8 -n 5000",
    "send_lat": "ib_send_lat -s 8 -n 5000",
    "send_lat_events": "ib_send_lat -e -s 8 -n 5000",
    "read_lat": "ib_read_lat -s 8 -n 5000",
    "atomic_lat": "ib_atomic_lat -n 5000",
}
RIVAL = "rxe"


def parse_row(name, output):
    """Gb/s, M messages/s or us of the line of numbers under perftest's heading, warnings between
    them or not; None: there is none."""
    match = re.search(r"^\s*#bytes\s+#iterations.*\n(?:.*\n)*?\s*(\d[\d. \t]+)\s*$",
                      output, re.M)
    if not match:
        return None
    cells = [float(cell) for cell in match.group(1).split()]
    name = name.partition("@")[0]    # without the round trip
    column = 3 if name.endswith(("_64k", "_1m", "_1k", "_64k_events")) else 4
    return cells[column] if len(cells) > column and cells[column] > 0 else None


def with_part(command, part):
    """The command with fewer messages; at least 100, which perftest's batches need, and as many as
    may be posted at a time."""
    depth = re.search(r"-t (\d+)", command)
    least = max(100, int(depth.group(1)) if depth else 0)
    return re.sub(r"-n (\d+)", lambda count: f"-n {max(least, int(count.group(1)) // part)}",
                  command)


def unit_of(name):
    if "_lat" in name:
        return "us"
    return "M/s" if name.startswith("write_rate") else "Gb/s"


def parse_console(text):
    """Samples by MTU, row and stack, in the guest's order; None where a row has failed."""
    samples = {}
    pattern = re.compile(r"^@@ (\d+) (\S+) (\S+) (\d+)\n(.*?)^@@ end (\d+)", re.M | re.S)
    for mtu, stack, row, _, output, status in pattern.findall(text.replace("\r", "")):
        value = parse_row(row, output) if status == "0" else None
        samples.setdefault((mtu, row), {}).setdefault(stack, []).append(value)
    return samples


def median(values):
    good = [value for value in values if value is not None]
    return statistics.median(good) if good else None


def cell_of(values, unit):
    good = [value for value in values if value is not None]
    if not good:
        return "failed"
    failed = f", {len(values) - len(good)} failed" if len(good) < len(values) else ""
    return f"{median(values):.2f} {unit} ({min(good):.2f} to {max(good):.2f}{failed})"


def table(samples):
    """Lines of a table in Markdown, and whether each cell has a number."""
    stacks = list(dict.fromkeys(stack for row in samples.values() for stack in row))
    others = [stack for stack in stacks if stack != RIVAL]
    lines = ["| MTU | row | " + " | ".join(stacks) + " | " +
             " | ".join(f"{stack} / {RIVAL}" for stack in others) + " |",
             "| --- " * (2 + len(stacks) + len(others)) + "|"]
    is_whole = bool(samples)
    for (mtu, row), by_stack in samples.items():
        cells = [cell_of(by_stack.get(stack, []), unit_of(row)) for stack in stacks]
        rival = median(by_stack.get(RIVAL, []))
        is_whole &= all(median(by_stack.get(stack, [])) is not None for stack in stacks)
        for stack in others:
            own = median(by_stack.get(stack, []))
            cells.append(f"{own / rival:.2f}" if own and rival else "–")
        lines.append(f"| {mtu} | {row} | " + " | ".join(cells) + " |")
    return lines, is_whole


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", metavar="REGEX")
    parser.add_argument("--part", type=int, default=1, metavar="N")
    parser.add_argument("--table", metavar="FILE")
    arguments = parser.parse_args()
    if arguments.rows is not None:
        for name, command in ROWS.items():
            if re.search(arguments.rows, name):
                print(name, with_part(command, arguments.part))
        return 0
    with open(arguments.table, encoding="utf-8", errors="replace") as console:
        text = console.read()
    lines, is_whole = table(parse_console(text))
    print("\n".join(lines))
    if "@@ done" not in text:
        print("the guest ended early; its last lines:", *text.splitlines()[-5:], sep="\n    ",
              file=sys.stderr)
        return 1
    return 0 if is_whole else 1


if __name__ == "__main__":
    sys.exit(main())
