#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The numbers in record.js, which the page from the disk reads without a compiler, are those of the
headers.

    test_record_page.py SOURCE-TREE
"""

import pathlib
import re
import sys
import unittest

TREE = pathlib.Path(sys.argv.pop(1))


def enumerators(header, name, prefix):
    """{NAME: number} of an enum, whose comments are left out."""
    body = re.search(rf"enum {name} {{(.*?)}};", (TREE / header).read_text(), re.S).group(1)
    numbers, number = {}, 0
    for one in re.sub(r"/\*.*?\*/", "", body, flags=re.S).split(","):
        word, _, value = (part.strip() for part in one.partition("="))
        number = int(value, 0) if value else number
        numbers[word.removeprefix(prefix)] = number
        number += 1
    return numbers


class RecordPage(unittest.TestCase):
    def test_numbers(self):
        page = (TREE / "tools/serve/page/record.js").read_text()
        here = {name: int(number, 0)
                for name, number in re.findall(r"\b([A-Z_]+) = (0x[0-9a-f]+|[0-9]+)\b", page)
                if not name.endswith(("_MAX", "_US", "VERSION"))}
        causes = (TREE / "proto/base/causes.def").read_text()
        there = {
            **{name: int(code, 0) for code, name in re.findall(r"CAUSE\((0x\w+), (\w+),", causes)},
            **enumerators("proto/base/record.h", "rnic_record_event", "RNIC_RECORD_"),
            **enumerators("proto/base/verbs_types.h", "rnic_qp_state", "RNIC_QP_STATE_"),
        }
        self.assertGreater(len(here), 20)
        self.assertEqual(here, {name: there.get(name) for name in here})


unittest.main()
