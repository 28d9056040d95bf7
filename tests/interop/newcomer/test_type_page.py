#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What type_page.py accepts of the output of a page, and what it complains of."""

import contextlib
import io
import subprocess
import unittest

import type_page

LINES = [
    "$ first",
    "one 127.0.0.2 of 4711",
    "two",
    "$ serve &",
    "serves as 4711, 4711",
    "$ second",
    "...",
    "three 0x3e8 of 11",
    "or: nothing of 22",
]
TYPED = [
    "== page", "$ first", "one 127.0.0.2 of 1", "noise", "two", "$ serve &", "$ second",
    "three 0x1 of 11",
]
BACKGROUND = ["serves as 5, 5"]


def complaints(typed=None, background=None):
    return type_page.judge("page", LINES, list(TYPED if typed is None else typed),
                           list(BACKGROUND if background is None else background))


def changed(old, new):
    return [new if line == old else line for line in TYPED]


class Judge(unittest.TestCase):
    def test_accepts_the_page(self):
        self.assertEqual(complaints(), [])
        self.assertEqual(complaints(changed("three 0x1 of 11", "nothing of 22")), [])

    def test_wants_the_order_of_the_page(self):
        swapped = ["== page", "$ first", "two", "one 127.0.0.2 of 1", *TYPED[5:]]
        self.assertEqual(complaints(swapped), ["not printed: two"])

    def test_wants_each_line_from_its_command(self):
        late = [line for line in TYPED if line != "two"] + ["two"]
        self.assertEqual(complaints(late), ["not printed: two"])
        early = [*TYPED[:2], "three 0x1 of 11", *TYPED[2:-1]]
        self.assertEqual(len(complaints(early)), 1)

    def test_wants_lines_of_the_background(self):
        self.assertEqual(complaints(background=[]), ["not printed: serves as 4711, 4711"])

    def test_takes_a_line_once(self):
        lines = ["$ first", "two", "two"]
        self.assertEqual(type_page.judge("page", lines, ["== page", "$ first", "two"], []),
                         ["not printed: two"])

    def test_wants_every_command(self):
        self.assertEqual(complaints(TYPED[:5]), ["not typed: $ serve &"])
        self.assertEqual(complaints([]), ["not begun: page"])

    def test_ends_with_the_section(self):
        self.assertEqual(len(complaints(["== page", "$ first", "== next", *TYPED[2:]])), 2)

    def test_compares_small_numbers_and_addresses(self):
        for wrong in ("three 0x1 of 12", "three 0x1 of 111"):
            self.assertEqual(len(complaints(changed("three 0x1 of 11", wrong))), 1, wrong)
        for wrong in ("one 127.0.0.3 of 1", "one 127.0.0.22 of 1"):
            self.assertEqual(len(complaints(changed("one 127.0.0.2 of 1", wrong))), 1, wrong)

    def test_wants_equal_numbers_where_the_page_has_them(self):
        self.assertEqual(len(complaints(background=["serves as 5, 6"])), 1)


class Program(unittest.TestCase):
    TEXT = "```c\n/* a: */\nint a;\n```\n```c\n/* b: */\nint b;\n```\n"

    def test_finds_each(self):
        self.assertEqual(type_page.program(self.TEXT, "a"), "/* a: */\nint a;\n")
        self.assertEqual(type_page.program(self.TEXT, "b"), "/* b: */\nint b;\n")
        with self.assertRaises(TypeError):
            type_page.program(self.TEXT, "c")


class Script(unittest.TestCase):
    def test_prints_what_it_types(self):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            type_page.script("it's", ["$ echo 'a b'", "a b", "$ echo c &"])
        typed = f"awaits() {{ wait; }}; exec 3>&1; {text.getvalue()}"
        output = subprocess.run(["bash", "-c", typed], capture_output=True, text=True,
                                check=True).stdout
        self.assertEqual(output.splitlines(), ["== it's", "$ echo 'a b'", "a b", "$ echo c &", "c"])


if __name__ == "__main__":
    unittest.main()
