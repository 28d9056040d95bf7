#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The table of coverage_table.py."""
import sys
import unittest

import coverage_table


def entry(name, covered, total):
    return {"filename": name, "line_covered": covered, "line_total": total}


FILES = [entry("lib/nic/engine/a.c", 3, 4), entry("lib/nic/mem/b.c", 1, 4),
         entry("daemon/device/c.c", 0, 2), entry("daemon/device/d.h", 0, 0)]


class Table(unittest.TestCase):
    def test_rooms(self):
        self.assertEqual(coverage_table.rooms_of(FILES),
                         {"lib/nic": (4, 8), "daemon/device": (0, 2)})

    def test_lowest(self):
        self.assertEqual([found["filename"] for found in coverage_table.lowest_of(FILES)],
                         ["daemon/device/c.c", "lib/nic/mem/b.c", "lib/nic/engine/a.c"])

    def test_row(self):
        self.assertEqual(coverage_table.row(1, 4, "x"), " 25.0 %       1 of      4 lines  x")


if __name__ == "__main__":
    sys.exit(unittest.main())
