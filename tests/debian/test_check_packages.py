#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Proof that check_packages.py finds each kind of difference."""

import unittest

import check_packages

LISTS = {"tools": ["usr/bin/a*"], "library": ["usr/lib/*/librnic.so.*"],
         "not-installed": ["usr/share/x/*.code"]}
NAMES = {"usr/bin/a", "usr/lib/t/librnic.so.0", "usr/share/x/1.code"}

SYMBOLS = """librnic.so.0 librnic0 #MINVER#
* Build-Depends-Package: librnic-dev
 NODE@NODE 0.2.0
 rnic_a@NODE 0.2.0
"""

CONTROL = """Source: rnicd
Build-Depends: debhelper-compat (= 13),
               libev-dev (>= 1),
               python3:any <!nocheck>
Standards-Version: 4
"""
PACKAGES = """# why
core    gcc
core    libev-dev
test    python3
"""


class Files(unittest.TestCase):
    def check(self, names, **lists):
        return list(check_packages.check_files(names, {**LISTS, **lists}))

    def test_all_is_well(self):
        self.assertEqual(self.check(NAMES), [])

    def test_folder(self):
        self.assertEqual(self.check(NAMES | {"usr/share/y/z"}, more=["usr/share/y"]), [])

    def test_in_no_package(self):
        self.assertEqual(self.check(NAMES | {"usr/bin/b"}), ["usr/bin/b is in no package"])

    def test_star_stays_within_a_folder(self):
        self.assertEqual(self.check(NAMES | {"usr/lib/t/u/librnic.so.0"}),
                         ["usr/lib/t/u/librnic.so.0 is in no package"])

    def test_in_two_packages(self):
        self.assertEqual(self.check(NAMES, more=["usr/bin"]), ["usr/bin/a is in more and tools"])

    def test_not_there(self):
        self.assertEqual(self.check(NAMES - {"usr/bin/a"}),
                         ["tools: nothing is installed as usr/bin/a*"])


class Symbols(unittest.TestCase):
    def check(self, symbols):
        listed = check_packages.read_symbols(SYMBOLS)
        return list(check_packages.check_symbols({"librnic.so.0": symbols}, listed))

    def test_all_is_well(self):
        self.assertEqual(self.check({"NODE@NODE", "rnic_a@NODE"}), [])

    def test_new(self):
        self.assertEqual(self.check({"NODE@NODE", "rnic_a@NODE", "rnic_b@NODE"}),
                         ["librnic.so.0: the symbols file lacks rnic_b@NODE"])

    def test_gone(self):
        self.assertEqual(self.check({"NODE@NODE"}), ["librnic.so.0: there is no rnic_a@NODE, "
                                                     "which the symbols file has"])

    def test_other_libraries(self):
        exported, listed = {"a.so.1": set()}, {"a.so.0": set()}
        self.assertEqual(list(check_packages.check_symbols(exported, listed)),
                         ["the symbols file lacks a.so.1",
                          "there is no a.so.0, which the symbols file has"])


class Needs(unittest.TestCase):
    def check(self, control, packages):
        return list(check_packages.check_needs(control, packages))

    def test_all_is_well(self):
        self.assertEqual(self.check(CONTROL, PACKAGES), [])

    def test_missing(self):
        self.assertEqual(self.check(CONTROL, PACKAGES + "lab  libssl-dev\n"),
                         ["debian/control does not build with libssl-dev"])

    def test_unknown(self):
        self.assertEqual(self.check(CONTROL, PACKAGES.replace("test    python3\n", "")),
                         ["tools/packages.txt does not know python3 of debian/control"])


class Documents(unittest.TestCase):
    def check(self, *names):
        return list(check_packages.check_documents(names, ["doc/*.md", "doc/guide"]))

    def test_all_is_well(self):
        self.assertEqual(self.check("doc/a.md", "doc/guide/b.md"), [])

    def test_missing(self):
        self.assertEqual(self.check("doc/operate/a.md"),
                         ["doc/operate/a.md is in no list of documents"])


class Version(unittest.TestCase):
    def test_versions(self):
        cmake = "project(rnicd VERSION 0.2.0 LANGUAGES C)\n"
        self.assertEqual(list(check_packages.check_version(cmake, "rnicd (0.2.0) x;\n")), [])
        self.assertEqual(list(check_packages.check_version(cmake, "rnicd (0.3.0) x;\n")),
                         ["CMakeLists.txt has version 0.2.0, debian/changelog has 0.3.0"])


if __name__ == "__main__":
    unittest.main()
