#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_guard_tools.py --guard LIBRARY --faulter LIBRARY --victim PROGRAM CASE

Judges the guard by programs of others: faulthandler (of Python), gdb, valgrind. Exit status 0, 1,
or 77 where the program is missing.
"""
import argparse
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

# For all programs of a case together; the test's own limit is longer.
CASE_SECONDS = 240
DEADLINE = time.monotonic() + CASE_SECONDS


class Failure(Exception):
    """What is wrong, in one sentence."""


def limit_children():
    """The programs die on purpose: no core dumps. One that nobody ends any more ends itself."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (CASE_SECONDS, CASE_SECONDS))


def run(command, preload, **variables):
    """A program's result; a program that takes too long is killed with the programs it started."""
    environment = {**os.environ, "LD_PRELOAD": preload, **variables}
    with subprocess.Popen(command, env=environment, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          start_new_session=True) as program:
        try:
            output, errors = program.communicate(timeout=max(0, DEADLINE - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(program.pid, signal.SIGKILL)
            output, errors = program.communicate()
            raise Failure(f"{command[0]} does not end in the {CASE_SECONDS} s of the case\n"
                          f"{output}\n{errors}") from None
    return subprocess.CompletedProcess(command, program.returncode, output, errors)


def ending(result):
    if result.returncode < 0:
        return f"{result.args[0]} ended by {signal.Signals(-result.returncode).name}"
    return f"{result.args[0]} ended with status {result.returncode}"


def expect(condition, what, result):
    if not condition:
        raise Failure(f"{what}; {ending(result)}\n{result.stdout}\n{result.stderr}")


# A handler of Python's own, beside a thread that faults all the time.
REGISTER = """
import faulthandler, os, signal, sys
faulthandler.enable()
faulthandler.register(signal.SIGUSR1)
os.kill(os.getpid(), signal.SIGUSR1)
faulthandler.disable()
signal.signal(signal.SIGSEGV, lambda number, frame: print("handled", number))
os.kill(os.getpid(), signal.SIGSEGV)
"""
DIE = "import faulthandler; faulthandler.enable(); faulthandler._{}()"


def check_faulthandler(arguments):
    preload = f"{arguments.guard}:{arguments.faulter}"
    for function, status, text in [("sigsegv", -11, "Segmentation fault"),
                                   ("sigabrt", -6, "Aborted")]:
        result = run([sys.executable, "-c", DIE.format(function)], preload)
        expect(result.returncode == status, f"{function} does not kill", result)
        expect(f"Fatal Python error: {text}" in result.stderr, "no report of the fault", result)
        expect('File "<string>", line 1' in result.stderr, "no line in the report", result)
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "faults"
        result = run([sys.executable, "-c", REGISTER], preload, GUARD_FAULTER_LOG=str(log))
        expect(result.returncode == 0, "Python failed", result)
        expect("most recent call first" in result.stderr, "no trace on demand", result)
        expect("handled 11" in result.stdout, "Python's handler did not run", result)
        faults = [int(line.split()[-1]) for line in log.read_text().splitlines()]
        expect(faults and all(faults), "no thread faulted meanwhile", result)


def check_gdb(arguments):
    if shutil.which("gdb") is None:
        return "gdb"
    commands = [f"set environment LD_PRELOAD {arguments.guard}",
                "handle SIGSEGV SIGBUS nostop noprint pass", "tbreak fault_of_its_own", "run",
                "handle SIGSEGV stop print pass", "continue", "backtrace", "continue",
                "continue"]
    command = ["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off"]
    for line in commands:
        command += ["-ex", line]
    result = run([*command, "--args", arguments.victim, "dies"], "")
    text = result.stdout
    # The handler finds no other handler, and the fault repeats.
    expect(text.count("Program received signal SIGSEGV") == 2, "gdb stops elsewhere", result)
    expect("#0  fault_of_its_own" in text, "no backtrace of the fault", result)
    expect("Program terminated with signal SIGSEGV" in text, "the program does not end", result)
    return None


def check_valgrind(arguments):
    if shutil.which("valgrind") is None:
        return "valgrind"
    result = run(["valgrind", arguments.victim], arguments.guard)
    expect(result.returncode == 0, "the program fails under valgrind", result)
    expect("rnic_guarded_write" in result.stderr, "memcheck does not name the copy", result)
    result = run(["valgrind", arguments.victim, "dies"], arguments.guard)
    expect(result.returncode == -11, "a fault of the program does not kill", result)
    expect("fault_of_its_own" in result.stderr or "guard_victim.c" in result.stderr,
           "the fault has no place", result)
    return None


CASES = {"faulthandler": check_faulthandler, "gdb": check_gdb, "valgrind": check_valgrind}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--guard", required=True)
    parser.add_argument("--faulter", required=True)
    parser.add_argument("--victim", required=True)
    parser.add_argument("case", choices=CASES)
    arguments = parser.parse_args()
    limit_children()
    try:
        missing = CASES[arguments.case](arguments)
    except Failure as failure:
        print(failure)
        return 1
    if missing is not None:
        print(f"skipped: there is no {missing}")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
