# SPDX-License-Identifier: MIT
"""Removes what a process leaves that dies without a word.

The keeper is a process of its own, in a session of its own. It hears what its owner holds, and what
the owner has released. When the owner ends, however it ends, the keeper kills the process groups
and removes the directories that are left. An owner that releases everything leaves it nothing to
do.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from typing import Optional

KILL_SECONDS = 10.0
_owner_pid = 0
_process: Optional[subprocess.Popen[bytes]] = None


def hold(kind: str, name: object) -> None:
    """Tells the keeper of a "group" (a process that leads one) or a "directory"."""
    _tell("hold", kind, name)


def release(kind: str, name: object) -> None:
    """Tells the keeper that the owner itself has ended or removed it."""
    _tell("release", kind, name)


def _tell(verb: str, kind: str, name: object) -> None:
    global _owner_pid, _process
    # A process that came by fork() needs a keeper of its own.
    if _process is None or _owner_pid != os.getpid():
        _owner_pid = os.getpid()
        atexit.register(_dismiss, _owner_pid)
        _process = subprocess.Popen([sys.executable, "-I", "-S", __file__, str(_owner_pid)],
                                    stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL, start_new_session=True, cwd="/")
    assert _process.stdin is not None
    _process.stdin.write(json.dumps([verb, kind, str(name)]).encode() + b"\n")
    _process.stdin.flush()


def _dismiss(owner: int) -> None:
    if _process is not None and _process.stdin is not None and owner == os.getpid():
        _process.stdin.close()
        _process.wait()


# ---- the process ----

def start_time(pid: str) -> Optional[str]:
    """When the process started. It tells apart two that have one number one after the other."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]


def listen(owner: int) -> set[tuple[str, str, Optional[str]]]:
    """Takes the owner's lines until its end. What it holds then."""
    held: dict[tuple[str, str], Optional[str]] = {}
    text = b""
    sources: list[int] = [0]
    try:
        sources.append(os.pidfd_open(owner))
    except (AttributeError, OSError):
        pass  # an old kernel: the end of the pipe says the same, unless a child holds it
    while True:
        ready = select.select(sources, [], [])[0]
        if 0 in ready:
            chunk = os.read(0, 65536)
            *lines, text = (text + chunk).split(b"\n")
            for line in lines:
                verb, kind, name = json.loads(line)
                if verb == "hold":
                    held[kind, name] = start_time(name) if kind == "group" else None
                else:
                    held.pop((kind, name), None)
        if 0 not in ready or not chunk:
            return {(kind, name, start) for (kind, name), start in held.items()}


def remove(held: set[tuple[str, str, Optional[str]]]) -> None:
    groups = {name: start for kind, name, start in held if kind == "group"}
    end = time.monotonic() + KILL_SECONDS
    for name, start in groups.items():
        if start is not None and start_time(name) == start:
            os.killpg(int(name), signal.SIGKILL)
    while time.monotonic() < end and any(start is not None and start_time(name) == start
                                         for name, start in groups.items()):
        time.sleep(0.02)
    for kind, name, _ in held:
        if kind == "directory":
            shutil.rmtree(name, ignore_errors=True)


if __name__ == "__main__":
    remove(listen(int(sys.argv[1])))
