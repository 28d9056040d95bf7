# SPDX-License-Identifier: MIT
"""A device: one rnicd, from its start to its end, with the programs that were started on it."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import random
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from typing import Any, Iterator, Mapping, Optional, Sequence, Union

from rnic import keeper
from rnic.conditions import Conditions
from rnic.program import POLL_SECONDS, Program, ProgramHung, find_program, tail
from rnic.snapshot import Snapshot, Trouble
from rnic.verbs import load_verbs

START_SECONDS = 20.0
END_SECONDS = 15.0
DEATH_SECONDS = 5.0
CONTROL_SECONDS = 20.0
STARTS_MAX = 8
ROCE_PORT = 4791
# A path of a socket has 107 bytes at most, and the name of the socket comes on top.
FOLDER_BYTES = 80
LISTENING = "0A"  # a state in /proc/net/tcp

PathLike = Union[str, "os.PathLike[str]"]


class DeviceError(RuntimeError):
    """rnicd did not start, ended by itself, or refused; the message has the reason."""


def make_folder() -> pathlib.Path:
    folder = pathlib.Path(tempfile.mkdtemp(prefix="rnic-"))
    if len(os.fsencode(folder)) > FOLDER_BYTES:
        folder.rmdir()
        folder = pathlib.Path(tempfile.mkdtemp(prefix="rnic-", dir="/tmp"))
    keeper.hold("directory", folder)
    return folder


def is_free(address: str) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, ROCE_PORT))
        except OSError:
            return False
    return True


def free_address() -> str:
    """A loopback address without a RoCEv2 endpoint. Tests that run at the same time, also of other
    users, draw from 16 million."""
    draw = random.SystemRandom()
    while True:
        address = ".".join(["127", *(str(draw.randint(1, 254)) for _ in range(3))])
        if is_free(address):
            return address


class Device(Conditions):
    """One rnicd. Close it with close(), or use it as a context manager.

    Without an address or a network interface it gets a loopback address of its own. `fault` and
    `options` are as rnicd(8) has them. `capture` is a file for its packets, or True for one that
    goes with the device. `prefix` is a command that runs rnicd and all programs, such as one that
    enters a network namespace; `proc` is then the folder of /proc with the namespace's `net`.
    """

    def __init__(self, *, name: str = "rnic0", address: Optional[str] = None,
                 netdev: Optional[str] = None, fault: Optional[str] = None,
                 capture: Union[bool, PathLike] = False, options: Sequence[str] = (),
                 prefix: Sequence[str] = (), proc: str = "/proc/self") -> None:
        self._programs = {word: find_program(word) for word in ("rnicd", "rnicctl", "rnic-run")}
        self.name, self.start_fault = name, fault
        self.folder = make_folder()
        self.socket = str(self.folder / "rnicd.sock")
        self.capture: Optional[pathlib.Path] = None
        if capture:
            self.capture = pathlib.Path(self.folder / f"{name}.pcapng" if capture is True
                                        else capture)
        self.prefix, self.proc = list(prefix), proc
        self.last: Optional[Snapshot] = None
        self._running: list[Program] = []
        self._log = self.folder / "rnicd.log"
        self._is_open = True
        try:
            self._start(address, netdev, options)
            self.first = self.snapshot()
            self.address = address or self.first.address
        except BaseException:
            self._kill()
            self.remove()
            raise

    # ---- what it tells ----

    def show(self, kind: str = "all") -> Any:
        """What `rnicctl show KIND --json` prints; of one kind, its rows."""
        done = subprocess.run([self._programs["rnicctl"], "show", kind, "--json", "--socket",
                               self.socket], capture_output=True, text=True,
                              timeout=CONTROL_SECONDS, check=False)
        if done.returncode != 0:
            raise DeviceError(f"{done.stderr.strip()}\n{tail(self.log)}".strip())
        document = json.loads(done.stdout)
        return document if kind == "all" else document[kind]

    def snapshot(self) -> Snapshot:
        return Snapshot(self.show())

    def counters(self) -> dict[str, int]:
        return dict(self.show("counters"))

    def troubles(self) -> list[Trouble]:
        return self.snapshot().troubles

    @property
    def log(self) -> str:
        """What rnicd has written to standard error."""
        try:
            return self._log.read_text(errors="replace")
        except FileNotFoundError:
            return ""

    @property
    def pid(self) -> int:
        return self._daemon.pid

    def is_running(self) -> bool:
        return self._daemon.poll() is None

    def gid_index(self, address: Optional[str] = None) -> int:
        """The index for -x of perftest and -g of the ibv_ programs."""
        wanted = address or self.address
        for gid in self.show("device")["gids"]:
            if gid["gid"] == wanted:
                return int(gid["index"])
        raise DeviceError(f"{self.name} has no GID for {wanted}")

    def report(self) -> str:
        """What a person should see when something failed on this device, also after close()."""
        head = f"{self.name}, {self.address}" + (f", fault {self.start_fault}" if self.start_fault
                                                 else "")
        try:
            now = self.snapshot() if self._is_open else self.last
        except (DeviceError, subprocess.TimeoutExpired) as error:
            return f"{head}\nit does not answer: {error}"
        if now is None:
            return f"{head}\nit did not answer at its end; its log:\n{tail(self.log)}"
        return f"{head}\n{now.report(self.first)}"

    # ---- programs ----

    def command(self, command: Sequence[str]) -> list[str]:
        """The command that runs a program on this device."""
        return [*self.prefix, self._programs["rnic-run"], "--no-daemon", "--socket", self.socket,
                *(str(word) for word in command)]

    def environment(self) -> dict[str, str]:
        """The environment that rnic-run gives to its programs, for those that somebody else
        starts. It enters no network namespace."""
        printed = subprocess.run(self.command(["env", "-0"]), capture_output=True,
                                 timeout=CONTROL_SECONDS, check=True).stdout
        pairs = (os.fsdecode(pair).partition("=") for pair in printed.split(b"\0") if pair)
        return {name: value for name, _, value in pairs}

    def start(self, command: Sequence[str], *, env: Optional[Mapping[str, str]] = None,
              cwd: Optional[str] = None, input: str = "") -> Program:
        """Starts a program on this device. The device's end is the program's, too."""
        # The library in the program explains a failure on standard error.
        env = {"RNIC_EXPLAIN": self._programs["rnicctl"],
               **(os.environ if env is None else env)}
        program = Program(command, self.folder, prefix=self.command([]), env=env, cwd=cwd,
                          input=input)
        self._running.append(program)
        return program

    def run(self, command: Sequence[str], *, timeout: float = 60.0, check: bool = True,
            env: Optional[Mapping[str, str]] = None, cwd: Optional[str] = None,
            input: str = "") -> subprocess.CompletedProcess[str]:
        """Runs a program on this device to its end. Raises ProgramFailed and ProgramHung."""
        __tracebackhide__ = True  # pytest shows the caller
        program = self.start(command, env=env, cwd=cwd, input=input)
        try:
            return program.wait(timeout, check=check)
        except ProgramHung as hung:
            with contextlib.suppress(DeviceError, subprocess.TimeoutExpired):
                hung.waits = "\n".join(self.snapshot().waits())
            raise
        finally:
            program.end()
            self._running.remove(program)

    def in_process(self) -> contextlib.AbstractContextManager[None]:
        """Within, libibverbs calls of this process find this device: import pyverbs inside."""
        return in_process(self)

    def wait_port(self, port: int, timeout: float = 20.0) -> None:
        """Waits until a program listens at a TCP port of the device's network namespace."""
        end = time.monotonic() + timeout
        while not self._listens(port):
            if time.monotonic() >= end:
                raise TimeoutError(f"nobody listens at port {port} after {timeout} s")
            time.sleep(POLL_SECONDS)

    def _listens(self, port: int) -> bool:
        for table in ("tcp", "tcp6"):
            with contextlib.suppress(FileNotFoundError), \
                    open(f"{self.proc}/net/{table}", encoding="ascii") as file:
                rows = [line.split() for line in file][1:]
                if any(row[3] == LISTENING and int(row[1].rpartition(":")[2], 16) == port
                       for row in rows):
                    return True
        return False

    # ---- start and end ----

    def _start(self, address: Optional[str], netdev: Optional[str],
               options: Sequence[str]) -> None:
        words = ["--name", self.name, *options]
        words += ["--fault", self.start_fault] if self.start_fault else []
        words += ["--capture", str(self.capture)] if self.capture else []
        words += ["--netdev", netdev] if netdev else []
        words += ["--address", address] if address else []
        for _ in range(STARTS_MAX):
            own = "" if address or netdev else free_address()
            self._daemon = self._launch([*words, "--address", own] if own else words)
            if self._is_ready():
                return
            self._kill()
            # Somebody may have taken the address since we looked.
            if not own or is_free(own):
                break
        raise DeviceError(f"rnicd does not start: {tail(self.log, 3)}")

    def _launch(self, words: Sequence[str]) -> subprocess.Popen[bytes]:
        self._ready, told = os.pipe()
        try:
            with open(self._log, "wb") as log:
                daemon = subprocess.Popen(
                    [*self.prefix, self._programs["rnicd"], "--socket", self.socket, "--ready-fd",
                     str(told), *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    pass_fds=[told], start_new_session=True)
        except BaseException:
            os.close(self._ready)
            raise
        finally:
            os.close(told)
        keeper.hold("group", daemon.pid)
        return daemon

    def _is_ready(self) -> bool:
        """rnicd writes a byte when it serves; at its end there is none."""
        try:
            ready = select.select([self._ready], [], [], START_SECONDS)[0]
            return bool(ready) and os.read(self._ready, 1) != b""
        finally:
            os.close(self._ready)

    def _await_daemon(self, seconds: float) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._daemon.wait(seconds)

    def _kill(self) -> None:
        daemon = getattr(self, "_daemon", None)
        if daemon is not None:
            if daemon.poll() is None:
                os.killpg(daemon.pid, signal.SIGKILL)
            daemon.wait()
            keeper.release("group", daemon.pid)

    def close(self) -> None:
        """Ends the programs and rnicd, which releases its socket and its view. Raises DeviceError
        when rnicd has ended before, or ends with another status than 0."""
        __tracebackhide__ = True  # pytest shows the caller
        if not self._is_open:
            return
        try:
            self.last = self.snapshot()
        except (DeviceError, subprocess.TimeoutExpired):
            # A daemon that dies closes its socket some time before it has a status.
            self._await_daemon(DEATH_SECONDS)
        self._is_open = False
        for program in self._running:
            program.end()
        early = self._daemon.poll()
        if early is None:
            self._daemon.send_signal(signal.SIGTERM)
            self._await_daemon(END_SECONDS)
        self._kill()
        if early is not None or self._daemon.returncode != 0:
            when = "before its device was closed" if early is not None else "on SIGTERM"
            raise DeviceError(f"rnicd ended with status {self._daemon.returncode} {when}:\n"
                              f"{tail(self.log)}")

    def remove(self) -> None:
        """Removes the folder of a closed device, with a capture in it and the programs' output."""
        shutil.rmtree(self.folder, ignore_errors=True)
        keeper.release("directory", self.folder)

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: Any) -> None:
        try:
            self.close()
        finally:
            self.remove()


@contextlib.contextmanager
def in_process(*devices: Device) -> Iterator[None]:
    """Within, libibverbs calls of this process find these devices: import pyverbs inside."""
    load_verbs(devices[0].environment()["LD_LIBRARY_PATH"].split(":")[0])
    before = os.environ.get("RNIC_SOCKET")
    os.environ["RNIC_SOCKET"] = ":".join(device.socket for device in devices)
    try:
        yield
    finally:
        if before is None:
            del os.environ["RNIC_SOCKET"]
        else:
            os.environ["RNIC_SOCKET"] = before
