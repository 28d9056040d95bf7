# SPDX-License-Identifier: MIT
"""Two hosts with a device each: network namespaces and a veth, or two loopback addresses."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import subprocess
from typing import Any, Iterator, Optional, Sequence

from rnic.device import Device
from rnic.program import Program, find_program
from rnic import keeper

SET_UP_SECONDS = 20.0

# As `ip netns exec`: the program sees the sysfs of its network.
ENTER = 'mount -t sysfs sysfs /sys && exec "$@"'
# Packets for an address that the kernel still looks for duplicates of get lost: no such look.
SET_UP = """set -e
ip link set lo up
echo 0 >/proc/sys/net/ipv6/conf/$1/accept_dad 2>/dev/null || true
ip address add 10.77.0.$2/24 dev $1
ip -6 address add fd77::$2/64 dev $1 nodad 2>/dev/null || true
ip link set $1 mtu $3 up
"""


class NoNamespaces(RuntimeError):
    """There can be no network namespaces here; the message has the reason."""


class Namespace:
    """A network namespace that lives as long as a process in it; it has no name to be left."""

    def __init__(self) -> None:
        try:
            self._holder = subprocess.Popen(
                ["unshare", "--net", "sh", "-c", "echo; exec sleep infinity"],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                start_new_session=True)
        except FileNotFoundError as error:
            raise NoNamespaces(str(error)) from None
        keeper.hold("group", self._holder.pid)
        assert self._holder.stdout is not None and self._holder.stderr is not None
        if not self._holder.stdout.readline():
            reason = self._holder.stderr.read().decode(errors="replace").strip()
            self.close()
            raise NoNamespaces(reason)
        self.proc = f"/proc/{self._holder.pid}"
        self.pid = self._holder.pid
        self.prefix = ["nsenter", f"--net={self.proc}/ns/net", "unshare", "--mount", "sh", "-c",
                       ENTER, "sh"]

    def run(self, command: Sequence[str]) -> None:
        try:
            done = subprocess.run([*self.prefix, *command], capture_output=True, text=True,
                                  timeout=SET_UP_SECONDS, check=False)
        except FileNotFoundError as error:
            raise NoNamespaces(str(error)) from None
        if done.returncode != 0:
            raise NoNamespaces(done.stderr.strip())

    def close(self) -> None:
        self._holder.kill()
        self._holder.wait()
        for pipe in (self._holder.stdout, self._holder.stderr):
            if pipe is not None:
                pipe.close()
        keeper.release("group", self._holder.pid)


@dataclasses.dataclass(frozen=True)
class Host:
    """A host with one device. `address` is the device's, and a TCP connection reaches it there."""

    name: str
    device: Device
    address: str
    is_namespace: bool

    def start(self, command: Sequence[str], **options: Any) -> Program:
        return self.device.start(command, **options)

    def run(self, command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
        return self.device.run(command, **options)

    def wait_port(self, port: int, timeout: float = 20.0) -> None:
        self.device.wait_port(port, timeout)


@contextlib.contextmanager
def linked_namespaces(mtu: int) -> Iterator[list[Namespace]]:
    """Two namespaces with a veth between them."""
    if os.geteuid() != 0:
        raise NoNamespaces("network namespaces need root")
    with contextlib.ExitStack() as stack:
        spaces = []
        for _ in range(2):
            spaces.append(Namespace())
            stack.callback(spaces[-1].close)
        spaces[0].run(["ip", "link", "add", "veth0", "type", "veth", "peer", "name", "veth1",
                       "netns", str(spaces[1].pid)])
        for side, space in enumerate(spaces):
            space.run(["sh", "-c", SET_UP, "sh", f"veth{side}", str(side + 1), str(mtu)])
        yield spaces


@contextlib.contextmanager
def _places(where: str, mtu: int) -> Iterator[Optional[list[Namespace]]]:
    """The namespaces; None for loopback."""
    with contextlib.ExitStack() as stack:
        spaces = None
        if where != "loopback":
            try:
                spaces = stack.enter_context(linked_namespaces(mtu))
            except NoNamespaces:
                if where == "namespaces":
                    raise
        yield spaces


@contextlib.contextmanager
def two_hosts(where: str = "auto", *, mtu: int = 9000, make: Any = Device,
              options: Sequence[dict[str, Any]] = ({}, {})) -> Iterator[tuple[Host, Host]]:
    """Two hosts that reach each other. `where` is "namespaces" (root; NoNamespaces where there
    can be none), "loopback", or "auto": namespaces if they can be had. `options` are those of each
    device; `make` makes a device and, unless it is Device, somebody else closes it."""
    if where not in ("auto", "namespaces", "loopback"):
        raise ValueError(f"hosts are in namespaces, on loopback or auto, not \"{where}\"")
    find_program("rnicd")
    with contextlib.ExitStack() as stack:
        spaces = stack.enter_context(_places(where, mtu))
        hosts = []
        for side in range(2):
            place: dict[str, Any] = {}
            if spaces is not None:
                place = {"netdev": f"veth{side}", "prefix": spaces[side].prefix,
                         "proc": spaces[side].proc}
            device = make(**{"name": f"rnic{side}", **place, **options[side]})
            if make is Device:
                stack.enter_context(device)
            else:
                stack.callback(device.close)
            hosts.append(Host("ab"[side], device, device.address, spaces is not None))
        yield hosts[0], hosts[1]
