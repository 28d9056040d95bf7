#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Proof that run_outcome.py repeats no failure that shows a fault by itself."""

import unittest

import run_outcome

LABELS = {"interop_a": {"interop"}, "interop_b": {"interop"}, "interop_c": {"interop"},
          "tidy_d": {"tidy"}, "test_e": {"unit"}, "sim_f": {"sim"}, "hostile_g": {"hostile"},
          "script_h": {"script"}, "rxe": {"interop", "rxe"}}


def choose(failures, is_sanitized=False, left=2):
    return run_outcome.choose_repeats(failures, LABELS, is_sanitized, left)


class Repeats(unittest.TestCase):
    def test_two_may_run_again(self):
        self.assertEqual(choose({"interop_a": "FAIL  x", "tidy_d": ""}),
                         (["interop_a", "tidy_d"], ""))
        self.assertEqual(choose({"rxe": ""}, left=1), (["rxe"], ""))

    def test_three_may_not(self):
        names, reason = choose({"interop_a": "", "interop_b": "", "interop_c": ""})
        self.assertEqual(names, [])
        self.assertIn("3 tests failed", reason)
        self.assertEqual(choose({"interop_a": "", "interop_b": ""}, left=1)[0], [])
        self.assertEqual(choose({"interop_a": ""}, left=0)[0], [])
        self.assertEqual(choose({"interop_a": ""}, left=-1)[0], [])

    def test_suites_that_compute(self):
        for name in ("test_e", "sim_f", "hostile_g", "script_h"):
            self.assertEqual(choose({name: "", "interop_a": ""})[0], [], name)

    def test_a_test_that_nobody_knows(self):
        self.assertEqual(choose({"strange": ""})[0], [])

    def test_no_failure(self):
        self.assertEqual(choose({})[0], [])
        self.assertNotEqual(choose({})[1], "")

    def test_sanitizers(self):
        self.assertEqual(choose({"interop_a": ""}, is_sanitized=True)[0], [])
        for line in ("==7==ERROR: AddressSanitizer: heap-use-after-free",
                     "a.c:1:2: runtime error: signed integer overflow",
                     "WARNING: ThreadSanitizer: data race",
                     "      | ==7==ERROR: LeakSanitizer: detected memory leaks"):
            self.assertEqual(choose({"interop_a": f"ok    x\n{line}\n"})[0], [], line)

    def test_a_process_that_died(self):
        self.assertEqual(choose({"interop_a": "FAIL  x\nDIED  process 7, by SIGSEGV\n"})[0], [])
        self.assertNotEqual(choose({"interop_a": "ok    the peer DIED  and is back\n"})[0], [])


if __name__ == "__main__":
    unittest.main()
