# SPDX-License-Identifier: MIT
"""Conditions that a test makes on a device: rnicctl link, event, qp and fault."""

from __future__ import annotations

import contextlib
import subprocess
from typing import Any, Iterator, Union

CONTROL_SECONDS = 20.0


class ConditionError(RuntimeError):
    """rnicctl refused; the message has its sentence."""


class Rules:
    """Rules of faults that are loaded on a device."""

    def __init__(self, device: Conditions, numbers: range) -> None:
        self._device, self.numbers = device, numbers

    @property
    def hits(self) -> list[int]:
        """How often each has acted."""
        rows = {row["rule"]: row["hits"] for row in self._device.show("faults")}
        return [rows[number] for number in self.numbers]


class Conditions:
    """What rnicctl makes happen on the device."""

    _programs: dict[str, str]
    socket: str

    def show(self, kind: str = "all") -> Any:
        raise NotImplementedError

    def control(self, *words: str) -> str:
        """Runs `rnicctl WORDS` on the device, and returns what it prints."""
        __tracebackhide__ = True  # pytest shows the caller
        done = subprocess.run([self._programs["rnicctl"], words[0], "--socket", self.socket, "--",
                               *words[1:]], capture_output=True, text=True,
                              timeout=CONTROL_SECONDS, check=False)
        if done.returncode != 0:
            raise ConditionError(done.stderr.strip())
        return done.stdout.strip()

    @contextlib.contextmanager
    def link_down(self) -> Iterator[None]:
        """Within, the link is down."""
        self.control("link", "down")
        try:
            yield
        finally:
            self.control("link", "up")

    @contextlib.contextmanager
    def link_flap(self, times: str) -> Iterator[None]:
        """Within, the link is down and up by turns: DOWN/UP, such as "500ms/2s"."""
        self.control("link", "flap", times)
        try:
            yield
        finally:
            self.control("link", "up")

    def event(self, name: str, target: Union[str, int] = "") -> None:
        """Raises an asynchronous event as `rnicctl event` does; of a queue pair, say, with its
        number."""
        self.control("event", name, *([str(target)] if target != "" else []))

    def qp_error(self, qpn: int) -> None:
        """Brings a queue pair into error."""
        self.control("qp", "error", str(qpn))

    @contextlib.contextmanager
    def fault(self, rules: str) -> Iterator[Rules]:
        """Within, the rules are loaded: for packets, calls or completions, as `rnicctl fault add`
        has them."""
        first, _, last = self.control("fault", "add", rules).split(" ", 1)[1].partition(" to ")
        loaded = Rules(self, range(int(first), int(last or first) + 1))
        try:
            yield loaded
        finally:
            for number in loaded.numbers:
                self.control("fault", "del", str(number))
