# SPDX-License-Identifier: MIT
"""What a device told at one moment, and the text of it for people."""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping


@dataclasses.dataclass(frozen=True)
class Trouble:
    """A row of `rnicctl show troubles`: what failed or was refused, and why."""

    age_ms: int
    program: str
    pid: int
    uid: int
    cause: str
    subject: str
    reason: str

    def __str__(self) -> str:
        return f"{self.program} (pid {self.pid}): {self.subject}\n    why: {self.reason}"


class Snapshot:
    """What `rnicctl show all --json` printed."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document

    @property
    def counters(self) -> dict[str, int]:
        return dict(self.document["counters"])

    @property
    def troubles(self) -> list[Trouble]:
        """The latest first. Fields of a later rnicctl are left out."""
        names = [field.name for field in dataclasses.fields(Trouble)]
        return [Trouble(**{name: row[name] for name in names})
                for row in self.document["troubles"]]

    @property
    def address(self) -> str:
        """The first IPv4 address; of a device without one, the first GID."""
        gids = [str(row["gid"]) for row in self.document["device"]["gids"]]
        return next((gid for gid in gids if ":" not in gid), gids[0] if gids else "")

    def moved(self, before: Snapshot) -> dict[str, int]:
        """By how much each counter has grown since an earlier snapshot of the same device."""
        old = before.counters
        grown = {name: value - old.get(name, 0) for name, value in self.counters.items()}
        return {name: growth for name, growth in grown.items() if growth}

    def waits(self) -> list[str]:
        """A line for each queue pair and identifier that waits, or has failed."""
        lines = []
        for kind, name in (("qps", "queue pair"), ("cm", "identifier")):
            for row in self.document[kind]:
                number = f"{row['qpn']:#x}" if kind == "qps" else row["id"]
                for key, words in (("waiting_for", "waits for"), ("last_error", "failed")):
                    if row[key]:
                        lines.append(f"{name} {number} ({row['state']}) {words}: {row[key]}")
        return lines

    def report(self, before: Snapshot) -> str:
        """What a person should see of a device on which something failed."""
        moved = self.moved(before)
        parts = [("troubles", [str(trouble) for trouble in self.troubles]),
                 ("queue pairs and identifiers that wait or failed", self.waits()),
                 ("counters that moved", [f"{name:<32} {growth:+}"
                                          for name, growth in moved.items()])]
        return "\n".join(f"{title}:\n" + "\n".join(f"  {line}" for line in lines)
                         if lines else f"{title}: none" for title, lines in parts)
