#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""coverage_table.py SUMMARY: the covered lines of each room, and the files with the lowest share.

SUMMARY is a file of gcovr --json-summary. A room is the first two folders of a path: lib/nic,
daemon/device.
"""
import collections
import json
import pathlib
import sys

LOWEST = 10


def room_of(name):
    return "/".join(pathlib.PurePath(name).parts[:-1][:2]) or "."


def rooms_of(files):
    """room -> (covered lines, lines)"""
    rooms = collections.defaultdict(lambda: (0, 0))
    for entry in files:
        covered, total = rooms[room_of(entry["filename"])]
        rooms[room_of(entry["filename"])] = (covered + entry["line_covered"],
                                             total + entry["line_total"])
    return dict(rooms)


def lowest_of(files):
    """Files with lines, the lowest share first; of equal shares the one with more lines."""
    counted = [entry for entry in files if entry["line_total"] > 0]
    return sorted(counted, key=lambda entry: (entry["line_covered"] / entry["line_total"],
                                              -entry["line_total"]))[:LOWEST]


def row(covered, total, name):
    return f"{100 * covered / total:5.1f} %  {covered:6} of {total:6} lines  {name}"


def main(path):
    files = json.loads(pathlib.Path(path).read_text())["files"]
    rooms = rooms_of(files)
    for name, (covered, total) in sorted(rooms.items()):
        if total > 0:
            print(row(covered, total, name))
    print("the lowest:")
    for entry in lowest_of(files):
        print(row(entry["line_covered"], entry["line_total"], entry["filename"]))
    print(row(*map(sum, zip(*rooms.values())), "in all"))


if __name__ == "__main__":
    main(sys.argv[1])
