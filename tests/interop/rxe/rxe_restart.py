# SPDX-License-Identifier: MIT
"""A peer that is gone without a word and comes again with the same numbers.

A client in the guest connects to a server on rnicd, and ends without a DREQ that arrives; the rxe
device is made anew and hands out the same queue pair numbers. The server still has the connection,
idle. The next client must get in.
"""

import contextlib
import subprocess
import time

from rxe_cases import RECONNECT_SECONDS

SERVER_PORT = 7174       # not the one of CM_PROGRAMS
IDLE_SECONDS = 0.3       # until an unfinished message of a client that was stopped is acknowledged


class Restart:
    """`programs` runs a server on rnicd and clients in the guest."""

    def __init__(self, programs, guest, addresses):
        self.programs = programs
        self.guest = guest
        self.addresses = addresses

    def run(self, family):
        """What is wrong."""
        address = self.addresses["rnicd"][family]
        arguments = f"-a {address} -p {SERVER_PORT}"
        self.renew_link()
        with subprocess.Popen([*self.programs.launcher, *f"rping -s -P {arguments}".split()],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as server:
            try:
                self.programs.wait_until(self.programs.is_listening)
                return self.reconnect(f"rping -c {arguments}")
            finally:
                server.kill()

    def reconnect(self, client):
        self.guest.run(f"{client} -C 1000000000 >/dev/null 2>&1 &")
        old = self.peer_qpn()
        if old is None:
            return ["the first client did not connect"]
        with self.cut_off():
            self.guest.run("kill -KILL $(pidof rping)")
            self.renew_link()
        if self.peer_qpn() != old:
            return ["the connection was gone before the client came again"]
        start, attempts = time.monotonic(), 1
        while not self.programs.guest_says(
                f"timeout {RECONNECT_SECONDS} {client} -C 3 >/dev/null 2>&1"):
            attempts += 1
            if time.monotonic() - start > RECONNECT_SECONDS:
                return [f"refused {attempts} times in {RECONNECT_SECONDS} s"]
        seconds = time.monotonic() - start
        print(f"#     in by request {attempts} after {seconds:.1f} s")
        if attempts == 1:
            return ["the first request was not refused: it named another queue pair"]
        return [] if seconds < RECONNECT_SECONDS else [f"it took {seconds:.1f} s"]

    def peer_qpn(self):
        """Of the one connection that rnicd has, as soon as there is one."""
        found = []

        def is_connected():
            found[:] = [row["peer_qpn"] for row in self.programs.show("qps")
                        if row["state"] == "RTS" and row["type"] == "RC"]
            return found
        self.programs.wait_until(is_connected)
        return found[0] if found else None

    @contextlib.contextmanager
    def cut_off(self):
        """The client is idle then, and nothing that the guest sends arrives."""
        self.guest.run("kill -STOP $(pidof rping)")
        time.sleep(IDLE_SECONDS)
        self.guest.run("/bin/tc qdisc add dev eth0 root netem loss 100%")
        try:
            yield
        finally:
            self.guest.run("/bin/tc qdisc del dev eth0 root")

    def renew_link(self):
        """As after a restart of the machine: queue pair numbers begin anew."""
        self.guest.ask("close")
        self.guest.run("rdma link delete rxe0 && rdma link add rxe0 type rxe netdev eth0")
        self.guest.ask("open")
