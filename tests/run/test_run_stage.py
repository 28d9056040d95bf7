#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stages of run_stage.sh over a small suite whose tests fail once, fail always, or pass."""

import pathlib
import re
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SCRIPT = """
set -u
top=. logs={logs} limit=() ctest=(ctest)
. {here}/run_stage.sh
{stages}
print_end first
"""
# A test that fails for the first time passes then: it leaves a file.
COMMANDS = {"passes": "true", "skips": "echo 'skipped: no moon'; exit 77",
            # As a test does that reads which tests there are.
            "lists": "{here}/list_tests.sh {build}", "fails": "echo 'FAIL  always'; false",
            "once": "test -e {mark} || {{ touch {mark}; echo 'FAIL  once'; false; }}",
            "died": "test -e {mark} || {{ touch {mark}; echo 'DIED  process 7'; false; }}"}


class Stage(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        (self.root / "logs").mkdir()
        self.stages = []

    def stage(self, name, tests, sanitize=""):
        """A stage with these tests, NAME: (COMMAND, SUITE)."""
        build = self.root / name
        build.mkdir()
        (build / "CMakeCache.txt").write_text(f"RNIC_SANITIZE:STRING={sanitize}\n")
        lines = []
        for test, (command, suite) in tests.items():
            script = build / f"{test}.sh"
            script.write_text(COMMANDS[command].format(mark=build / f"{test}.mark",
                                                       here=HERE, build=build))
            lines.append(f'add_test({test} "bash" "{script}")\n'
                         f'set_tests_properties({test} PROPERTIES LABELS "{suite}" '
                         'SKIP_RETURN_CODE 77)\n')
        (build / "CTestTestfile.cmake").write_text("".join(lines))
        self.stages.append(f"run_suites {name} {build}")

    def run_all(self):
        script = SCRIPT.format(logs=self.root / "logs", here=HERE, stages="\n".join(self.stages))
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines(), done.stderr

    def expect_summary(self, lines, summary):
        self.assertEqual(lines[-2], summary)
        self.assertRegex(lines[-1], "^Total Test time")

    def test_all_pass(self):
        self.stage("first", {"interop_a": ("passes", "interop")})
        status, lines, _ = self.run_all()
        self.assertEqual(status, 0)
        self.expect_summary(lines, "100% tests passed, 0 tests failed out of 1")
        self.assertFalse([line for line in lines if "repeated" in line])

    def test_repeats_that_pass(self):
        self.stage("first", {"interop_a": ("once", "interop"), "interop_b": ("passes", "interop"),
                             "test_c": ("passes", "unit")})
        self.stage("second", {"tidy_d": ("once", "tidy")})
        status, lines, _ = self.run_all()
        self.assertEqual(status, 0)
        self.expect_summary(lines, "100% tests passed, 0 tests failed out of 3")
        self.assertEqual(lines[-3], "passed when repeated: interop_a tidy_d")
        results = (self.root / "logs/first.xml").read_text()
        self.assertEqual(len(re.findall('<testcase [^>]*status="run"', results)), 3)
        self.assertNotIn('status="fail"', results)

    def test_a_repeat_that_fails(self):
        self.stage("first", {"interop_a": ("fails", "interop"), "interop_b": ("passes", "interop")})
        status, lines, _ = self.run_all()
        self.assertEqual(status, 1)
        self.expect_summary(lines, "50% tests passed, 1 tests failed out of 2")

    def test_three_failures_of_a_run(self):
        self.stage("first", {"interop_a": ("once", "interop"), "interop_b": ("once", "interop")})
        self.stage("second", {"interop_c": ("once", "interop")})
        status, lines, errors = self.run_all()
        self.assertEqual(status, 1)
        self.expect_summary(lines, "0% tests passed, 1 tests failed out of 1")
        self.assertIn("passed when repeated: interop_a interop_b", lines)
        self.assertIn("1 tests failed, and 0 of this run may be repeated", errors)

    def test_never_repeated(self):
        for command, suite, sanitize in (("once", "unit", ""), ("once", "interop", "address"),
                                         ("died", "interop", "")):
            with self.subTest(command=command, suite=suite):
                self.setUp()
                self.stage("first", {"name": (command, suite)}, sanitize)
                status, lines, errors = self.run_all()
                self.assertEqual(status, 1)
                self.expect_summary(lines, "0% tests passed, 1 tests failed out of 1")
                self.assertIn("nothing is repeated", errors)

    def test_reasons_of_skipped_tests(self):
        self.stage("first", {"interop_a": ("skips", "interop"), "interop_b": ("skips", "interop"),
                             "tidy_c": ("lists", "tidy"), "test_d": ("fails", "unit")})
        _, lines, _ = self.run_all()
        self.assertIn("2 tests skipped: no moon", lines)
        log = self.root / "first/Testing/Temporary/LastTest.log"
        self.assertIn("FAIL  always", log.read_text())

    def test_a_test_that_cannot_start(self):
        self.stage("first", {"interop_a": ("once", "interop")})
        with open(self.root / "first/CTestTestfile.cmake", "a", encoding="utf-8") as file:
            file.write('add_test(gone "/nonexistent")\n')
        status, lines, errors = self.run_all()
        self.assertEqual(status, 1)
        self.expect_summary(lines, "0% tests passed, 2 tests failed out of 2")
        self.assertIn("a test did not run", errors)


if __name__ == "__main__":
    unittest.main()
