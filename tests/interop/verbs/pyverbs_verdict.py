# SPDX-License-Identifier: MIT
"""Holds the output of rdma-core's test runner (-v) against the table of expected results.

The table has a line for each case: its name, then one of
    pass
    skip REASON     the suite skips it, because the device does not do what it tests
    host REASON     passes or is skipped, as the machine has what it needs
Lines that begin with # are comments.

    pyverbs_verdict.py --modules TABLE          prints the modules that the table knows
    pyverbs_verdict.py MODULE TABLE OUTPUT      exit status 1 when anything is not as expected
"""
import re
import sys

CASE = re.compile(r"^(\w+) \(([\w.]+)\)")
# A case that prints puts its result on a line of its own.
RESULT = re.compile(r"(?:^|\.\.\. )(ok|skipped|FAIL|ERROR)(?: (.*))?$")
ENDS = {"pass": {"ok"}, "skip": {"skipped"}, "host": {"ok", "skipped"}}


def read_table(path):
    table = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.strip() and not line.startswith("#"):
                name, verdict, *_ = line.split(None, 2)
                if verdict not in ENDS or name in table:
                    sys.exit(f"{path}: cannot make sense of: {line.strip()}")
                table[name] = verdict
    return table


def module_of(name):
    return ".".join(name.split(".")[:2])


def read_results(path):
    """How each case ended, and the reason that the suite gives."""
    results = {}
    current = None
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            case = CASE.match(line)
            if case and case.group(2).startswith("tests."):
                name, place = case.groups()
                current = place if place.endswith("." + name) else f"{place}.{name}"
                results.setdefault(current, ("did not end", ""))
            result = RESULT.search(line.rstrip())
            if result and current:
                results[current] = (result.group(1), result.group(2) or "")
                current = None
    return results


def differences(expected, results):
    for name in sorted(expected.keys() | results.keys()):
        end, reason = results.get(name, ("did not run", ""))
        if name not in expected:
            yield f"{name}: {end}, but it is not in the table"
        elif end not in ENDS[expected[name]]:
            yield f"{name}: expected {expected[name]}, found {end} {reason}"


def main(arguments):
    if arguments[0] == "--modules":
        print("\n".join(dict.fromkeys(module_of(name) for name in read_table(arguments[1]))))
        return 0
    module, table, output = arguments
    expected = {n: v for n, v in read_table(table).items() if module_of(n) == module}
    results = read_results(output)
    wrong = list(differences(expected, results))
    if wrong:
        with open(output, encoding="utf-8", errors="replace") as text:
            print(text.read()[-8000:])
        print("\n".join(wrong))
        return 1
    passed = sum(end == "ok" for end, _ in results.values())
    print(f"{passed} passed, {len(results) - passed} skipped")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
