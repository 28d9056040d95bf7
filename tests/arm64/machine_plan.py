#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""machine_plan.py BUILD LEFT_OUT

Prints a shell script that runs in the emulated machine the tests of BUILD that LEFT_OUT gives to
the machine, and the clients that lie (the suite hostile) as far as they are one program each. A
test runs by the command and the environment that ctest has, without the emulator.
"""
import json
import pathlib
import shlex
import subprocess
import sys

# What takes seconds elsewhere may take a minute here.
SECONDS = 900

# Its deadlines are seconds. On a busy machine the emulator misses them now and then.
TOO_SLOW = {"hostile_quotas"}

LIST_TESTS = pathlib.Path(__file__).resolve().parent.parent / "run/list_tests.sh"
STEP = """\
begin {name}
( {environment} timeout {seconds} {command} ) >/tmp/output 2>&1 </dev/null
end $?
"""


def tests_of(build):
    listing = subprocess.run([LIST_TESTS, build], check=True, capture_output=True, text=True)
    for test in json.loads(listing.stdout)["tests"]:
        properties = {entry["name"]: entry["value"] for entry in test.get("properties", [])}
        yield test["name"], test.get("command", []), properties


def without_emulator(command):
    """qemu-aarch64 -L SYSROOT PROGRAM ARGUMENT..."""
    return command[3:] if pathlib.Path(command[0]).name.startswith("qemu-") else command


def is_one_program(command, build):
    return command[0].startswith(build + "/")


def main():
    build, left_out = sys.argv[1:]
    lines = [line.split(None, 2) for line in pathlib.Path(left_out).read_text().splitlines()]
    wanted = {line[0] for line in lines if len(line) == 3 and line[1] == "machine"}
    steps = []
    for name, command, properties in tests_of(build):
        command = without_emulator(command) if command else command
        is_hostile = "hostile" in properties.get("LABELS", [])
        if not command or not (name in wanted or is_hostile):
            continue
        if name in TOO_SLOW:
            steps.append(f"echo 'skipped: {name}: the emulator is too slow for its deadlines'\n")
            continue
        if not is_one_program(command, build):
            if name in wanted:
                sys.exit(f"{left_out}: {name} is no program of its own")
            steps.append(f"echo 'skipped: {name}: the machine has no bash'\n")
            continue
        steps.append(STEP.format(
            name=name, seconds=SECONDS, command=shlex.join(command),
            environment=" ".join(shlex.quote(one) for one in properties.get("ENVIRONMENT", []))))
    print("".join(steps))


if __name__ == "__main__":
    main()
