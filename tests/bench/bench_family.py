# SPDX-License-Identifier: MIT
"""What is measured of a daemon with several users: programs of users other than root, the time that
a first program takes, and the memory of the processes."""

import contextlib
import itertools
import os
import subprocess
import time

from bench_cases import PERFTEST_PORT, VERBS, Perftest, json_of
from bench_host import READY_S, Absent, RunFailed, as_user, finish_all, memory_kib_of
from table import USER_CASES, user_names

USERS = (31001, 31002)  # nobody has an account for them
DEVICE_IDLE_S = 10      # a device process without clients must end in that time
CAPTIVE_IDLE_S = 20     # and so must a daemon that rnic-run started
captive_numbers = itertools.count(1)


def require_users(bench):
    """Raises Absent unless ordinary users can run the programs of the build tree. setpriv(1) may
    run a program that the user cannot reach."""
    library = bench.left.build / "lib/verbs/libibverbs.so.1"
    done = subprocess.run([*as_user(USERS[0]), "test", "-r", library], check=False)
    if done.returncode != 0:
        raise Absent(f"an ordinary user cannot read {library}")


class OrdinaryUser(Perftest):
    """The program of another case, by an ordinary user on root's daemons."""

    def __init__(self, case):
        super().__init__(case.program, case.size, case.qps, case.arguments, uid=USERS[0])

    def run(self, bench):
        require_users(bench)
        return super().run(bench)


class OnOwnDaemons(OrdinaryUser):
    """The same on daemons of that user."""

    def run(self, bench):
        if bench.own is None:
            raise Absent("an ordinary user cannot execute rnicd of this build")
        return super().run(bench.own)


class TwoUsers:
    """The same programs of two users at once: the sum of what they move, and the smaller share."""

    def __init__(self, program, size):
        self.cases = [Perftest(program, size, uid=uid, port=PERFTEST_PORT + number)
                      for number, uid in enumerate(USERS)]

    def run(self, bench):
        require_users(bench)
        iterations = self.cases[0].iterations_for(bench)
        with contextlib.ExitStack() as running:
            servers, clients = [], []
            for case in self.cases:
                servers.append(case.start_server(bench, iterations))
                running.callback(servers[-1].stop)
            for case in self.cases:
                clients.append(case.start_client(bench, iterations))
                running.callback(clients[-1].stop)
            outputs = [output for output, _ in finish_all(clients + servers, bench.timeout)]
            running.pop_all()
        speeds = [case.parse(output)["gbit_per_s"] for case, output in zip(self.cases, outputs)]
        return {"gbit_per_s": sum(speeds), "smaller_share": min(speeds) / sum(speeds)}


def wait_until(is_true, seconds, what):
    deadline = time.monotonic() + seconds
    while not is_true():
        if time.monotonic() > deadline:
            raise RunFailed(what)
        time.sleep(0.02)


def first_completion_ms(bench, start):
    """From the start of rnic-run to the completion of the program's first WRITE."""
    before = time.monotonic_ns()
    output, _ = start([bench.left.build / "tests/first_completion"]).finish(READY_S)
    return (json_of(output)["done_ns"] - before) / 1e6


def captive_completion_ms(bench):
    """With a daemon that this rnic-run has to start; waits until the daemon has ended."""
    host = bench.left
    number = next(captive_numbers)
    socket = f"{host.socket}-captive{number}"
    launcher = [host.build / "bin/rnic-run", "--socket", socket,
                "--address", f"127.7.9.{number % 250 + 1}", "--"]
    taken = first_completion_ms(bench, lambda command: host.start([*launcher, *command]))
    wait_until(lambda: not os.path.exists(socket), CAPTIVE_IDLE_S, "a daemon of rnic-run stays")
    return taken


def run_first_completion(bench):
    host = bench.left
    sample = {"no_daemon_ms": captive_completion_ms(bench)}
    wait_until(lambda: not host.devices(), DEVICE_IDLE_S, "an idle device process stays")
    sample["daemon_ms"] = first_completion_ms(bench, host.start_verbs)
    sample["next_ms"] = first_completion_ms(bench, host.start_verbs)
    return sample


@contextlib.contextmanager
def idle_program(host):
    """A program that has the device open and does nothing."""
    program = host.start_verbs(["ibv_asyncwatch", "-d", "rnic0"])
    try:
        wait_until(lambda: host.show("clients"), READY_S, "ibv_asyncwatch does not open the device")
        time.sleep(0.5)  # until the daemon sleeps
        yield program
    finally:
        program.stop()


def idle_family_kib(bench):
    """Resident and proportional KiB of a daemon that serves one idle program."""
    with idle_program(bench.left):
        return bench.left.memory_kib()


def device_process_kib(bench):
    with idle_program(bench.left):
        devices = bench.left.devices()
        if not devices:
            raise Absent("rnicd has no device process")
        return memory_kib_of(devices[0])


FAMILY = {
    # On both kinds of daemons directly after one another, for the machine's speed drifts.
    **{name: kind(VERBS[case]) for case in USER_CASES
       for name, kind in zip(user_names(case), (OrdinaryUser, OnOwnDaemons))},
    "two_users_64k": TwoUsers("ib_write_bw", 65536),
}
