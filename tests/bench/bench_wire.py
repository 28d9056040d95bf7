# SPDX-License-Identifier: MIT
"""Hosts to measure on that run.sh does not make: namespaces, wires with a round trip
(path_forwarder.c), links without one, and a daemon on each host. All ends with the `with`."""

import contextlib
import os
import pathlib
import subprocess
import tempfile
import time

from bench_host import READY_S, Host, RunFailed, as_user

QUEUE_PACKETS = "10000"  # of a tap, so that the kernel loses nothing before the wire
names = iter(range(1 << 30))


def ip(*words):
    done = subprocess.run(["ip", *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RunFailed(f"ip {' '.join(map(str, words))}: {done.stderr.strip()}")


def wait_until(is_true, what):
    deadline = time.monotonic() + READY_S
    while not is_true():
        if time.monotonic() > deadline:
            raise RunFailed(what)
        time.sleep(0.02)  # between two polls


@contextlib.contextmanager
def namespace():
    name = f"rnicpath-{os.getpid()}-{next(names)}"
    ip("netns", "add", name)
    try:
        ip("-n", name, "link", "set", "lo", "up")
        yield name
    finally:
        ip("netns", "delete", name)


@contextlib.contextmanager
def child(command, log):
    """A process whose output is in `log`, and which ends with this."""
    with open(log, "w", encoding="utf-8") as output:
        process = subprocess.Popen(list(map(str, command)), stdout=output,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def bring_up(where, device, mtu):
    ip("-n", where, "link", "set", device, "mtu", mtu, "txqueuelen", QUEUE_PACKETS, "up")


class Lab(contextlib.ExitStack):
    """Makes hosts and what lies between them."""

    def __init__(self, build):
        super().__init__()
        self.build = pathlib.Path(build)
        self.work = pathlib.Path(self.enter_context(tempfile.TemporaryDirectory()))
        self.work.chmod(0o755)

    def namespace(self):
        return self.enter_context(namespace())

    def wire(self, ends, mtu, *options):
        """A wire between two namespaces; `ends` are pairs of namespace and name of the device."""
        number = next(names)
        taps = [f"rp{os.getpid() % 100000}-{number}{side}" for side in "lr"]
        log = self.work / f"wire{number}"
        process = self.enter_context(
            child([self.build / "tests/path_forwarder", *taps, *options], log))
        wait_until(lambda: process.poll() is not None or "ready" in log.read_text(), "no wire")
        if process.poll() is not None:
            raise RunFailed(log.read_text().strip())
        for tap, (where, device) in zip(taps, ends):
            ip("link", "set", tap, "netns", where, "name", device)
            bring_up(where, device, mtu)

    def link(self, ends, mtu):
        """The same without a round trip: a veth."""
        (left, left_device), (right, right_device) = ends
        ip("-n", left, "link", "add", left_device, "type", "veth", "peer", "name", right_device,
           "netns", right)
        for where, device in ends:
            bring_up(where, device, mtu)

    def bridge(self, where, device, mtu):
        ip("-n", where, "link", "add", device, "type", "bridge", "mcast_snooping", 0)
        bring_up(where, device, mtu)

    def join(self, where, bridge, device):
        ip("-n", where, "link", "set", device, "master", bridge)

    def host(self, where, device, address, uid=None):
        """An rnicd on this device, of root or of an ordinary user."""
        ip("-n", where, "address", "add", f"{address}/24", "dev", device)
        folder = self.work / f"daemon{next(names)}"
        folder.mkdir()
        if uid is not None:
            os.chown(folder, uid, uid)
        socket = folder / "rnicd.sock"
        log = self.work / f"{folder.name}.log"
        process = self.enter_context(child(
            ["ip", "netns", "exec", where, *as_user(uid), self.build / "bin/rnicd",
             "--netdev", device, "--socket", socket], log))
        wait_until(lambda: process.poll() is not None or socket.exists(), "no rnicd")
        if process.poll() is not None:
            raise RunFailed(f"rnicd: {log.read_text().strip()}")
        host = Host(where, address, socket, process.pid, self.build)
        wait_until(host.gids_are_there, f"no GID for {address}")
        return host
