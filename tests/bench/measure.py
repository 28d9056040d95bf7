#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Takes the samples that table.py makes a table of. run.sh prepares namespaces and daemons for it.

    measure.py --build DIR --hosts NAMESPACE,ADDRESS,SOCKET,PID NAMESPACE,ADDRESS,SOCKET,PID
               --lossy-hosts NAMESPACE,ADDRESS,SOCKET,PID NAMESPACE,ADDRESS,SOCKET,PID
               [--own-hosts NAMESPACE,ADDRESS,SOCKET,PID NAMESPACE,ADDRESS,SOCKET,PID]
               [--rounds N] [--seconds S] [--qps N] [--only REGEX] --output FILE

Rounds hold every case once, so that a machine whose speed drifts is as unfair to one as to the
other. A case that fails is reported, and does not keep the others from being measured.
"""

import argparse
import json
import os
import pathlib
import platform
import re
import sys

from bench_cases import BASELINES, ORDER, VERBS, Bench, run_memory, why_uncounted
from bench_family import FAMILY, device_process_kib, idle_family_kib, run_first_completion
from bench_host import Absent, Host, RunFailed
from bench_qps import ONCE, QPS
from bench_ucx import UCX
from table import DIRECT_CASES, ROWS, direct_name, names_of_rows

OBJECTS = {**VERBS, **QPS, **UCX, **FAMILY}
OBJECTS.update({direct_name(name): OBJECTS[name].on_path("direct") for name in DIRECT_CASES})
CASES = {**BASELINES, **{name: case.run for name, case in OBJECTS.items()},
         "first_completion": run_first_completion}
# Only the daemons' system calls are counted, of the cases that have a row. On the direct path the
# daemons move no data.
COUNTED = {row[0]: OBJECTS[row[0]] for row in ROWS}
ALL = (*ORDER, *FAMILY, "first_completion")


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--hosts", nargs=2, required=True)
    parser.add_argument("--lossy-hosts", nargs=2, required=True)
    parser.add_argument("--own-hosts", nargs=2, help="with daemons of an ordinary user")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--qps", type=int, default=64, help="QPs to measure memory with")
    parser.add_argument("--only", help="a regular expression: rows of the table, by their names")
    parser.add_argument("--output", required=True)
    return parser.parse_args()


def machine():
    model = re.search(r"^model name\s*:\s*(.+)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return {"cpu": model.group(1) if model else platform.machine(), "cpus": os.cpu_count(),
            "kernel": platform.release()}


class Recorder:
    """Samples and failures by the name of the case, and what is not here to be measured."""

    def __init__(self):
        self.samples = {}
        self.failures = {}
        self.absent = {}

    def attempt(self, name, action):
        print(f"  {name}", file=sys.stderr, flush=True)
        try:
            return action()
        except Absent as reason:
            self.absent[name] = str(reason)
            return None
        except (RunFailed, OSError, KeyError, ValueError) as failure:
            self.failures[name] = str(failure) or type(failure).__name__
            print(f"  {name} failed: {failure}", file=sys.stderr, flush=True)
            return None

    def record(self, name, action):
        sample = self.attempt(name, action)
        if sample is not None:
            self.samples.setdefault(name, []).append(sample)


def measure_rounds(bench, recorder, rounds, wanted):
    for round_number in range(1, rounds + 1):
        print(f"round {round_number} of {rounds}", file=sys.stderr, flush=True)
        for name in wanted:
            if round_number == 1 or name not in ONCE:
                recorder.record(name, lambda name=name: CASES[name](bench))


def count_system_calls(bench, recorder, wanted):
    reason = why_uncounted()
    if reason:
        recorder.failures["system calls"] = reason
        return {}
    calls = {}
    for name in wanted:
        if name in COUNTED and name in recorder.samples and name not in recorder.failures:
            counts = recorder.attempt(f"system calls of {name}",
                                      lambda name=name: COUNTED[name].count_system_calls(bench))
            if counts:
                calls[name] = counts
    return calls


def measure_memory(bench, recorder, wanted, qps):
    """First of all, for the daemon must be new."""
    measurements = (
        ("idle_kib", "idle memory", bench.left.memory_kib),
        ("family_kib", "memory of a family", lambda: idle_family_kib(bench)),
        ("device_kib", "device process", lambda: device_process_kib(bench)),
        ("memory", "memory of QPs", lambda: run_memory(bench, qps)))
    return {name: recorder.attempt(label, action)
            for name, label, action in measurements if name in wanted}


def bench_of(arguments):
    def host(text):
        namespace, address, socket, pid = text.split(",")
        return Host(namespace, address, socket, int(pid), arguments.build)

    def pair(texts, **others):
        return Bench(*map(host, texts), baseline, arguments.seconds, **others)

    baseline = pathlib.Path(arguments.build) / "tests/udp_baseline"
    own = pair(arguments.own_hosts) if arguments.own_hosts else None
    return pair(arguments.hosts, lossy=pair(arguments.lossy_hosts), own=own)


def main():
    arguments = parse_arguments()
    bench = bench_of(arguments)
    recorder = Recorder()
    names = names_of_rows(arguments.only)
    if not names:
        sys.exit(f"bench: no row's name matches \"{arguments.only}\"")
    wanted = [name for name in ALL if name in names]

    result = {"machine": machine(), "rounds": arguments.rounds, "seconds": arguments.seconds,
              "only": arguments.only}
    result.update(measure_memory(bench, recorder, names, arguments.qps))
    measure_rounds(bench, recorder, arguments.rounds, wanted)
    result["system_calls"] = count_system_calls(bench, recorder, wanted)
    result["samples"] = recorder.samples
    result["failures"] = recorder.failures
    result["absent"] = recorder.absent
    pathlib.Path(arguments.output).write_text(json.dumps(result, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
