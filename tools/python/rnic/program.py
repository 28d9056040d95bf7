# SPDX-License-Identifier: MIT
"""A program under test: its output in files, and an end for it and for all that it started."""

from __future__ import annotations

import os
import pathlib
import shutil
import signal
import subprocess
import time
from typing import Any, Mapping, Optional, Sequence

from rnic import keeper

END_SECONDS = 5.0
POLL_SECONDS = 0.01
TAIL_LINES = 20


def find_program(name: str) -> str:
    """The path of a program of rnicd."""
    path = shutil.which(name)
    if path is None:
        raise FileNotFoundError(f"there is no {name} on the PATH: install rnicd and rnic-tools, or "
                                "put build/bin of the source tree on the PATH")
    return os.path.abspath(path)


def tail(text: str, lines: int = TAIL_LINES) -> str:
    return "\n".join(text.rstrip("\n").split("\n")[-lines:])


class ProgramFailed(subprocess.CalledProcessError):
    """A program ended with another status than 0. The message has the end of what it printed."""

    def __str__(self) -> str:
        return f"{super().__str__()}\n{tail(self.stdout + self.stderr)}"


class ProgramHung(subprocess.TimeoutExpired):
    """A program did not end in time. The message says what its queue pairs waited for."""

    waits = ""

    def __str__(self) -> str:
        printed = tail(str(self.output or "") + str(self.stderr or ""))
        return "\n".join(part for part in (super().__str__(), self.waits, printed) if part)


class Program:
    """A running program. Whoever started it ends it with end(), or as a context manager."""

    def __init__(self, command: Sequence[str], folder: pathlib.Path, *,
                 prefix: Sequence[str] = (), env: Optional[Mapping[str, str]] = None,
                 cwd: Optional[str] = None, input: str = "") -> None:
        self.command = [str(word) for word in command]
        number = len(list(folder.glob("program*.out")))
        self._paths = [folder / f"program{number}.{end}" for end in ("out", "err", "in")]
        self._paths[2].write_text(input)
        with open(self._paths[0], "wb") as out, open(self._paths[1], "wb") as err, \
                open(self._paths[2], "rb") as given:
            # A session of its own: a signal reaches what the program has started, too.
            self._process = subprocess.Popen([*prefix, *self.command], stdin=given, stdout=out,
                                             stderr=err, env=env, cwd=cwd, start_new_session=True)
        self.pid = self._process.pid
        keeper.hold("group", self.pid)
        self._is_held = True

    @property
    def stdout(self) -> str:
        return self._paths[0].read_text(errors="replace")

    @property
    def stderr(self) -> str:
        return self._paths[1].read_text(errors="replace")

    def poll(self) -> Optional[int]:
        """The exit status; None while the program runs."""
        return self._process.poll()

    def wait(self, timeout: float = 60.0, *,
             check: bool = True) -> subprocess.CompletedProcess[str]:
        """Waits for the program's end. Raises ProgramFailed, and ProgramHung while it runs on."""
        __tracebackhide__ = True  # pytest shows the caller
        try:
            status = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise ProgramHung(self.command, timeout, self.stdout, self.stderr) from None
        self.end()
        if check and status != 0:
            raise ProgramFailed(status, self.command, self.stdout, self.stderr)
        return subprocess.CompletedProcess(self.command, status, self.stdout, self.stderr)

    def wait_output(self, text: str, timeout: float = 20.0) -> None:
        """Waits until the program has printed a text."""
        end = time.monotonic() + timeout
        while text not in self.stdout and text not in self.stderr:
            if time.monotonic() >= end or self.poll() is not None:
                raise ProgramHung(self.command, timeout, self.stdout, self.stderr)
            time.sleep(POLL_SECONDS)

    def send_signal(self, number: int) -> None:
        self._process.send_signal(number)

    def end(self) -> None:
        """Ends the program, if it runs, and all of its group."""
        if self.poll() is None:
            self._signal_group(signal.SIGTERM)
            try:
                self._process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                pass
        self._signal_group(signal.SIGKILL)
        self._process.wait()
        if self._is_held:
            keeper.release("group", self.pid)
            self._is_held = False

    def _signal_group(self, number: int) -> None:
        # The kernel gives the number to nobody else while a process is in the group; end() comes
        # a second time to programs whose group has gone.
        if not self._is_held:
            return
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            pass

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: Any) -> None:
        self.end()
