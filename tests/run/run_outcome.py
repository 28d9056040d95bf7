#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What ctest wrote of a stage, for run_stage.sh. RESULTS is a file of ctest --output-junit.

    run_outcome.py slowest RESULTS          prints the ten slowest tests
    run_outcome.py skipped RESULTS          prints each reason for which tests did not run, and
                                            how many tests have it
    run_outcome.py repeatable --tests TESTS --log LOG [--sanitized] --left N RESULTS
                                            prints the failed tests that may run once more, one a
                                            line; fails, with the reason on standard error, when
                                            one of the failures may not. TESTS is what
                                            list_tests.sh printed, LOG is what ctest printed, N is
                                            how many failures of the run may still be repeated
    run_outcome.py merge RESULTS AGAIN      puts the tests of AGAIN in the places that they have in
                                            RESULTS
    run_outcome.py summary LOG              prints the two lines of ctest's summary in LOG, as they
                                            are when every test has passed

A failure that computes the same each time, or that shows a fault by itself, is never repeated: the
suites FINAL_SUITES, any test of a build with sanitizers, and an output that fits FAULT.
"""

import argparse
import collections
import json
import pathlib
import re
import sys
import xml.etree.ElementTree

FINAL_SUITES = {"unit", "sim", "hostile", "script"}
# "DIED" is how tests/interop/daemon_family.sh reports a process that a fault ended.
FAULT = re.compile(r"ERROR: AddressSanitizer|runtime error:|ThreadSanitizer|LeakSanitizer|^DIED  ",
                   re.M)
SKIPPED = re.compile(r"^skipped: .*", re.M)
SUMMARY = re.compile(r"^\d+% tests passed, (\d+) tests failed out of (\d+)$", re.M)
TOTAL_TIME = re.compile(r"^Total Test time.*$", re.M)


def cases_of(path):
    return list(xml.etree.ElementTree.parse(path).iter("testcase"))


def labels_of(path):
    """The suites of each test."""
    tests = json.loads(pathlib.Path(path).read_text())["tests"]
    return {test["name"]: {label for entry in test.get("properties", [])
                           if entry["name"] == "LABELS" for label in entry["value"]}
            for test in tests}


def failures_of(path):
    """The output of each failed test."""
    return {case.get("name"): case.findtext("system-out") or ""
            for case in cases_of(path) if case.get("status") == "fail"}


def reason_against(name, output, suites):
    """Why the failed test may not run again, or nothing."""
    if not suites or suites & FINAL_SUITES:
        return f"{name} is of the suite {', '.join(sorted(suites)) or 'of nobody'}"
    found = FAULT.search(output)
    return f"{name} says \"{found[0].strip()}\"" if found else ""


def choose_repeats(failures, labels, is_sanitized, left):
    """The names to repeat, and why there are none."""
    if not failures:
        return [], "ctest failed without a failed test"
    if is_sanitized:
        return [], "the build has sanitizers"
    if len(failures) > left:
        return [], f"{len(failures)} tests failed, and {left} of this run may be repeated"
    for name, output in failures.items():
        reason = reason_against(name, output, labels.get(name, set()))
        if reason:
            return [], reason
    return list(failures), ""


def count_failed(log):
    """How many tests failed by ctest's own count, which has those that could not start."""
    found = SUMMARY.findall(pathlib.Path(log).read_text(errors="replace"))
    return int(found[-1][0]) if found else None


def print_repeatable(arguments):
    failures = failures_of(arguments.results)
    if count_failed(arguments.log) != len(failures):
        names, reason = [], "a test did not run, or ctest did not end"
    else:
        names, reason = choose_repeats(failures, labels_of(arguments.tests), arguments.sanitized,
                                       arguments.left)
    if reason:
        print(f"nothing is repeated: {reason}", file=sys.stderr)
        return 1
    print("\n".join(names))
    return 0


def merge(arguments):
    again = {case.get("name"): case for case in cases_of(arguments.again)}
    document = xml.etree.ElementTree.parse(arguments.results)
    for suite in [document.getroot(), *document.getroot().iter("testsuite")]:
        for index, child in enumerate(suite):
            if child.tag == "testcase" and child.get("name") in again:
                suite[index] = again[child.get("name")]
    counts = collections.Counter(case.get("status") for case in document.iter("testcase"))
    document.getroot().set("failures", str(counts["fail"]))
    document.write(arguments.results)
    return 0


def print_summary(arguments):
    text = pathlib.Path(arguments.log).read_text(errors="replace")
    count = SUMMARY.findall(text)[-1][1]
    print(f"100% tests passed, 0 tests failed out of {count}")
    print(*TOTAL_TIME.findall(text)[-1:])
    return 0


def print_slowest(arguments):
    times = sorted((-float(case.get("time")), case.get("name"))
                   for case in cases_of(arguments.results))
    for seconds, name in times[:10]:
        print(f"{-seconds:8.1f} s  {name}")
    return 0


def print_skipped(arguments):
    counts = collections.Counter(reason for case in cases_of(arguments.results)
                                 for reason in SKIPPED.findall(case.findtext("system-out") or ""))
    for reason, count in sorted(counts.items()):
        print(f"{count} tests {reason}")
    return 0


def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(required=True)
    for name, run, operands in (("slowest", print_slowest, ["results"]),
                                ("skipped", print_skipped, ["results"]),
                                ("repeatable", print_repeatable, ["results"]),
                                ("merge", merge, ["results", "again"]),
                                ("summary", print_summary, ["log"])):
        command = commands.add_parser(name)
        command.set_defaults(run=run)
        for operand in operands:
            command.add_argument(operand)
        if name == "repeatable":
            command.add_argument("--tests", required=True)
            command.add_argument("--log", required=True)
            command.add_argument("--sanitized", action="store_true")
            command.add_argument("--left", type=int, required=True)
    arguments = parser.parse_args()
    return arguments.run(arguments)


if __name__ == "__main__":
    sys.exit(main())
