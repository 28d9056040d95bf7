#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Proof that the table of what works is held against the tests' results."""

import pathlib
import tempfile
import unittest

import what_works

ROWS = [{"works": "A", "lacks": "B", "proof": ["interop_a_*"]},
        {"works": "C", "proof": ["sim_c"]}]

JUNIT = """<testsuite>
<testcase name="sim_c" status="run"><system-out>skipped: a part</system-out></testcase>
<testcase name="sim_d" status="fail"><system-out/></testcase>
<testcase name="interop_a_4" status="notrun"><skipped/><system-out># a
skipped: needs root
</system-out></testcase>
<testcase name="interop_a_6" status="notrun"><skipped/><system-out/></testcase>
</testsuite>"""


class Table(unittest.TestCase):
    def test_markdown(self):
        self.assertEqual(what_works.table_of(ROWS, {"works": "works", "does not, yet": "lacks"}),
                         "| works | does not, yet |\n|---|---|\n| A | B |\n| C | |")

    def test_counts(self):
        self.assertEqual(what_works.count_cases("# why\n\na.b pass\na.c skip no CUDA\na.d pass\n"),
                         {"passed": 2, "skipped": 1, "host": 0, "cases": 3})

    def test_page_is_split(self):
        text = f"one\n{what_works.BEGIN}\n\ntable\n\n{what_works.END}\ntwo\n"
        self.assertEqual(what_works.split_page("a.md", text), ("one\n", "table", "\ntwo\n"))

    def test_pages_are_checked(self):
        with tempfile.TemporaryDirectory() as folder:
            tree = pathlib.Path(folder)
            (tree / "a.md").write_text(f"{what_works.BEGIN}\nold\n{what_works.END}\n")
            self.assertEqual(len(list(what_works.check_pages({"a.md": "new"}, tree))), 1)
            what_works.write_pages({"a.md": "new"}, tree)
            self.assertEqual(list(what_works.check_pages({"a.md": "new"}, tree)), [])

    def test_areas(self):
        areas = [{"name": "x"}]
        self.assertEqual(list(what_works.check_rows(areas, [ROWS[0] | {"area": "x"}])), [])
        self.assertEqual(list(what_works.check_rows(areas, [ROWS[0] | {"area": "y"}])),
                         ['"A" is of no area', 'the area "x" has no row'])
        self.assertEqual(list(what_works.check_rows(areas, [{"works": "A", "area": "x"}])),
                         ['"A" has no proof'])


class Proof(unittest.TestCase):
    def test_names(self):
        self.assertEqual(list(what_works.check_names(ROWS, ["interop_a_4", "sim_c"])), [])
        self.assertEqual(list(what_works.check_names(ROWS, ["interop_a_4", "sim_cm"])),
                         ['"C": there is no test sim_c'])

    def test_results(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "results.xml"
            path.write_text(JUNIT)
            self.assertEqual(what_works.read_results(path),
                             {"sim_c": "passed", "sim_d": "failed",
                              "interop_a_4": "skipped: needs root", "interop_a_6": ""})

    def judge(self, **results):
        return what_works.judge(ROWS, {"interop_a_4": "passed", "sim_c": "passed", **results})

    def test_all_is_well(self):
        self.assertEqual(self.judge(), ([], []))

    def test_failed(self):
        self.assertEqual(self.judge(interop_a_6="failed"), (['"A": interop_a_6 failed'], []))

    def test_skipped_in_silence(self):
        self.assertEqual(self.judge(interop_a_6=""),
                         (['"A": interop_a_6 was skipped without a reason'], []))

    def test_skipped_beside_others(self):
        self.assertEqual(self.judge(interop_a_6="skipped: needs root"), ([], []))

    def test_not_seen(self):
        self.assertEqual(self.judge(sim_c="skipped: needs root"),
                         ([], ['"C" was not seen: skipped: needs root']))
        self.assertEqual(what_works.judge(ROWS[1:], {}),
                         ([], ['"C" was not seen: none of its tests ran']))


if __name__ == "__main__":
    unittest.main()
