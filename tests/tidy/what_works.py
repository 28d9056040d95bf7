#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tables of what works: made from what_works.toml, held against the tests.

    what_works.py --write                   puts the tables into the README and doc/features.md
    what_works.py --check [--build DIR]     the pages have these tables; with --build, every row
                                            names tests that ctest knows
    what_works.py --judge RESULTS           RESULTS is what ctest --output-junit wrote: no test
                                            behind a row failed, or was skipped without a reason

Prints what is wrong and exits 1 when anything is. --judge also prints the rows that nothing showed,
because every test behind them was skipped.
"""

import argparse
import collections
import fnmatch
import json
import pathlib
import re
import subprocess
import sys
import tomllib
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parent.parent
BEGIN = "<!-- from tests/tidy/what_works.toml by what_works.py: do not edit here -->"
END = "<!-- the end of what what_works.py made -->"
LIST_TESTS = pathlib.Path(__file__).resolve().parent.parent / "run/list_tests.sh"
REASON = re.compile(r"^skipped: (.*)", re.M)


def count_cases(table):
    """How many cases of rdma-core's tests end how, by the table that the interop test holds them
    against."""
    ends = collections.Counter(line.split()[1] for line in table.splitlines()
                               if line.strip() and not line.startswith("#"))
    return {"passed": ends["pass"], "skipped": ends["skip"], "host": ends["host"],
            "cases": ends.total()}


def read_rows():
    """The areas, the rows, and what is wrong with the file."""
    file = tomllib.loads((HERE / "what_works.toml").read_text())
    areas, rows = file["area"], file["row"]
    counts = count_cases((TREE / "tests/interop/verbs/pyverbs_expected.txt").read_text())
    for row in areas + rows:
        row["works"] = row["works"].format(**counts)
    return areas, rows, list(check_rows(areas, rows))


def check_rows(areas, rows):
    """An area without a row would be a claim that no test shows."""
    for row in rows:
        if not row.get("proof"):
            yield f"\"{name_of(row)}\" has no proof"
        if row.get("area") not in [area["name"] for area in areas]:
            yield f"\"{name_of(row)}\" is of no area"
    for area in areas:
        if area["name"] not in [row.get("area") for row in rows]:
            yield f"the area \"{area['name']}\" has no row"


def name_of(row):
    return row["works"] if len(row["works"]) < 60 else row["works"][:57] + "..."


def table_of(rows, columns):
    """A table of Markdown. `columns` is heading -> the key of a row."""
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    for row in rows:
        cells = [row.get(key, "") for key in columns.values()]
        lines.append(("| " + " | ".join(cells) + " |").replace("|  |", "| |"))
    return "\n".join(lines)


def tables_of(areas, rows):
    """Page -> the table that it has."""
    works = {"works": "works", "does not, yet": "lacks"}
    return {"README.md": table_of(areas, {"": "name"} | works),
            "doc/features.md": table_of(rows, works)}


def split_page(name, text):
    """What stands before the table, the table, and what stands behind it."""
    before, begin, rest = text.partition(BEGIN)
    table, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"{name} lacks the line {begin and END or BEGIN}")
    return before, table.strip("\n"), after


def write_pages(tables, tree=TREE):
    for name, table in tables.items():
        before, _, after = split_page(name, (tree / name).read_text())
        (tree / name).write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{after}")


def check_pages(tables, tree=TREE):
    for name, table in tables.items():
        if split_page(name, (tree / name).read_text())[1] != table:
            yield (f"{name}: the table of what works is not that of tests/tidy/what_works.toml: "
                   "edit that file and run tests/tidy/what_works.py --write")


def check_names(rows, known):
    for row in rows:
        for pattern in row.get("proof", []):
            if not fnmatch.filter(known, pattern):
                yield f"\"{name_of(row)}\": there is no test {pattern}"


def known_tests(build):
    listing = subprocess.run([LIST_TESTS, build], check=True, capture_output=True, text=True).stdout
    return [test["name"] for test in json.loads(listing)["tests"]]


def read_results(path):
    """How each test ended: "passed", "failed", "skipped: why", or "" for one skipped in silence."""
    results = {}
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        reasons = REASON.findall(case.findtext("system-out") or "")
        if case.get("status") == "run":
            results[case.get("name")] = "passed"
        elif case.get("status") == "fail":
            results[case.get("name")] = "failed"
        else:
            results[case.get("name")] = "skipped: " + reasons[-1] if reasons else ""
    return results


def judge(rows, results):
    """What is wrong, and the rows that nothing showed with the reasons."""
    complaints, unseen = [], []
    for row in rows:
        ends = {name: results[name] for pattern in row.get("proof", [])
                for name in fnmatch.filter(results, pattern)}
        complaints += [f"\"{name_of(row)}\": {name} failed"
                       for name, end in ends.items() if end == "failed"]
        complaints += [f"\"{name_of(row)}\": {name} was skipped without a reason"
                       for name, end in ends.items() if not end]
        if "passed" not in ends.values():
            unseen.append(f"\"{name_of(row)}\" was not seen: " +
                          ("; ".join(sorted(set(filter(None, ends.values()))))
                           or "none of its tests ran"))
    return complaints, unseen


def main():
    parser = argparse.ArgumentParser()
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", action="store_true")
    what.add_argument("--check", action="store_true")
    what.add_argument("--judge", metavar="RESULTS")
    parser.add_argument("--build", metavar="DIR")
    arguments = parser.parse_args()
    areas, rows, complaints = read_rows()
    unseen = []
    if arguments.write:
        write_pages(tables_of(areas, rows))
    elif arguments.check:
        complaints += check_pages(tables_of(areas, rows))
        if arguments.build:
            complaints += check_names(rows, known_tests(arguments.build))
    else:
        found, unseen = judge(rows, read_results(arguments.judge))
        complaints += found
    for line in complaints + unseen:
        print(line)
    print(f"what works: {len(rows)} rows, {len(unseen)} not seen, {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
