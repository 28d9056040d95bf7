# SPDX-License-Identifier: MIT
"""One end of the benchmark: a network namespace, the rnicd in it, and what /proc says of that.

A daemon is a family of processes: rnicd, which is the control plane, and a process rnicd-device for
each user that has programs. What a host says of its daemon is of the whole family.
"""

import contextlib
import copy
import json
import os
import pathlib
import re
import resource
import subprocess
import threading
import time

CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
LISTENING = "0A"
DEVICE_PROGRAM = "rnicd-device"
DIRECT_LIBRARY = "lib/librnic-direct.so"
READY_S = 20
# Where the device of a program runs, and what rnic-run is told: in a device process, or inside.
PATHS = {"shared": (), "direct": ("--direct",)}


class RunFailed(Exception):
    """A measurement that came to no result; the text says why."""


class Absent(Exception):
    """Something that is not here to be measured, which is no failure; the text says why."""


class Program:
    """A child of ours, in a namespace, maybe of another user. stop() or finish() must follow."""

    def __init__(self, namespace, command, wrapper=(), uid=None, has_input=False):
        # "ip netns exec" becomes the command, so the pid and the resource usage are the command's.
        self.command = [*wrapper, "ip", "netns", "exec", namespace, *as_user(uid),
                        *map(str, command)]
        self.name = os.path.basename(str(command[0]))
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE if has_input else subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.pid = self.process.pid
        self.reader = None
        self.rest = ""

    def wait_for_line(self, line, timeout):
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            got = self.process.stdout.readline()
            if got.strip() == line:
                return
            if not got:
                break
        self.stop()
        raise RunFailed(f"{self.name} did not get ready")

    def ask(self, line):
        """Says a line to a program that has an input; its answer of one line."""
        try:
            print(line, file=self.process.stdin, flush=True)
        except BrokenPipeError:
            pass  # it has ended, and the answer says why
        return self.process.stdout.readline()

    def read_on(self):
        """Reads the output while the program runs: nobody may want lines of it any more. A program
        with much to say stops where nobody reads, when the pipe is full."""
        if self.reader is None:
            self.reader = threading.Thread(target=self.read_rest, daemon=True)
            self.reader.start()

    def read_rest(self):
        with self.process.stdout as output:
            self.rest = output.read()

    def end_input(self):
        if self.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()

    def end_output(self):
        self.end_input()
        self.read_on()
        self.reader.join()
        return self.rest

    def finish(self, timeout):
        """Waits for the end. Returns the output and the CPU seconds used."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.read_on()
        self.end_input()
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.stop()
            raise RunFailed(f"{self.name} did not end in {timeout} s") from None
        output = self.end_output()
        if self.process.returncode != 0:
            raise RunFailed(f"{self.name} failed: {last_line(output)}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return output, (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        return self.end_output()


def finish_all(programs, timeout):
    """What finish() of each returns, in their order; none waits for another to be read."""
    for program in programs:
        program.read_on()
    return [program.finish(timeout) for program in programs]


def as_user(uid):
    """The words before a command that make it the command of a user who needs no name."""
    if uid is None:
        return []
    return ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups"]


def last_line(output):
    lines = [line for line in (output or "").splitlines() if line.strip(" -")]
    return lines[-1].strip() if lines else "it said nothing"


class Host:
    """A namespace, its address, and the daemon in it."""

    def __init__(self, namespace, address, socket, pid, build):
        self.namespace = namespace
        self.address = address
        self.socket = socket
        self.pid = pid
        self.build = pathlib.Path(build)

    def start(self, command, wrapper=(), uid=None):
        return Program(self.namespace, command, wrapper, uid)

    def is_listening(self, port):
        """Whether a TCP socket of the namespace, which is the daemon's, listens on the port."""
        for name in ("tcp", "tcp6"):
            for row in pathlib.Path(f"/proc/{self.pid}/net/{name}").read_text().splitlines()[1:]:
                fields = row.split()
                if fields[3] == LISTENING and int(fields[1].rsplit(":", 1)[1], 16) == port:
                    return True
        return False

    def wait_for_listener(self, program, port, timeout):
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline and program.process.poll() is None:
            if self.is_listening(port):
                return
            time.sleep(0.005)
        output = program.stop()
        raise RunFailed(f"nothing listens on port {port}: {last_line(output)}")

    def start_verbs(self, command, wrapper=(), uid=None, has_input=False, path="shared"):
        """Starts a verbs program on this host's RNIC. Raises Absent unless the build has the path.
        """
        if path == "direct" and not (self.build / DIRECT_LIBRARY).exists():
            raise Absent("the direct path is not in this build (-DRNIC_DIRECT=OFF)")
        launcher = [self.build / "bin/rnic-run", "--no-daemon", "--socket", self.socket,
                    *PATHS[path], "--"]
        return Program(self.namespace, [*launcher, *command], wrapper, uid, has_input)

    def show(self, what):
        command = [self.build / "bin/rnicctl", "show", "--json", "--socket", self.socket, what]
        result = subprocess.run(command, capture_output=True, text=True, timeout=20)
        if result.returncode != 0:
            raise RunFailed(f"rnicctl: {last_line(result.stderr)}")
        return json.loads(result.stdout)[what]

    def ipv4_gid_index(self):
        """The index of the IPv4-mapped GID, so that all programs talk over IPv4."""
        for gid in self.show("device")["gids"]:
            if gid["gid"] in (self.address, f"::ffff:{self.address}"):
                return gid["index"]
        raise RunFailed(f"no GID for {self.address}")

    def gids_are_there(self):
        try:
            return self.ipv4_gid_index() is not None
        except RunFailed:
            return False

    def counters(self):
        return self.show("counters")

    def devices(self):
        """The device processes: children of the control plane, of its first thread."""
        children = text_of(self.pid, f"task/{self.pid}/children").split()
        return [int(child) for child in children
                if text_of(child, "comm").strip() == DEVICE_PROGRAM]

    def family(self):
        return [self.pid, *self.devices()]

    def wake_device(self, uid=None):
        """Makes that the device process of this user runs for the next seconds."""
        self.start_verbs(["ibv_devinfo"], uid=uid).finish(READY_S)

    def cpu_seconds(self):
        """User and system time of all threads, gone ones and ended device processes included."""
        ticks = 0
        for pid in self.family():
            fields = text_of(pid, "stat").rpartition(")")[2].split()
            if fields:
                ticks += sum(map(int, fields[11:15 if pid == self.pid else 13]))
        return ticks / CLOCK_TICKS

    def wakeups(self):
        """By thread, how often it gave up its processor to wait."""
        found = {}
        for pid in self.family():
            for task in pathlib.Path(f"/proc/{pid}/task").glob("*"):
                match = re.search(r"^voluntary_ctxt_switches:\s+(\d+)",
                                  text_of(pid, f"task/{task.name}/status"), re.M)
                if match:
                    found[task.name] = int(match.group(1))
        return found

    def memory_kib(self):
        """Resident KiB, and the same with shared pages counted in parts (the proportional set)."""
        total = {"rss": 0, "pss": 0}
        for pid in self.family():
            for name, kib in memory_kib_of(pid).items():
                total[name] += kib
        return total

    def resident_kib_of(self, mapping):
        """Resident KiB of those mappings of the family whose name begins so."""
        return sum(mapping_kib_of(pid, mapping, "Rss") for pid in self.family())


class OnPath:
    """A case that runs its programs on one of the paths, self.path."""

    path = "shared"

    def on_path(self, path):
        """The same case on another path."""
        case = copy.copy(self)
        case.path = path
        return case


def text_of(pid, name):
    """A file of /proc; nothing when the process has ended meanwhile."""
    try:
        return pathlib.Path(f"/proc/{pid}/{name}").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def memory_kib_of(pid):
    memory = {"rss": 0, "pss": 0}
    for line in text_of(pid, "smaps_rollup").splitlines():
        name = line.partition(":")[0].lower()
        if name in memory:
            memory[name] = int(line.split()[1])
    return memory


def mapping_kib_of(pid, mapping, kind):
    """KiB of those mappings of a process whose name begins so: resident (Rss), or the process's
    share (Pss)."""
    total = 0
    is_wanted = False
    for line in text_of(pid, "smaps").splitlines():
        fields = line.split()
        if fields[0] == f"{kind}:":
            total += int(fields[1]) if is_wanted else 0
        elif "-" in fields[0]:
            is_wanted = len(fields) > 5 and fields[5].startswith(mapping)
    return total


class Account:
    """What both daemons spent and did between two instants."""

    def __init__(self, hosts):
        self.hosts = hosts
        self.counters_before = [host.counters() for host in hosts]
        self.cpu_before = sum(host.cpu_seconds() for host in hosts)
        self.wakeups_before = {task: count for host in hosts
                               for task, count in host.wakeups().items()}

    def close(self):
        cpu_seconds = sum(host.cpu_seconds() for host in self.hosts) - self.cpu_before
        wakeups = sum(count - self.wakeups_before.get(task, 0) for host in self.hosts
                      for task, count in host.wakeups().items())
        counters = {}
        for host, before in zip(self.hosts, self.counters_before):
            for name, value in host.counters().items():
                counters[name] = counters.get(name, 0) + value - before.get(name, 0)
        return {"daemon_cpu_s": cpu_seconds, "wakeups": wakeups, "counters": counters}
