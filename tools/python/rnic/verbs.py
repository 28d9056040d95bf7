# SPDX-License-Identifier: MIT
"""Our libibverbs and librdmacm in this process, for pyverbs."""

from __future__ import annotations

import ctypes
import os

LIBRARIES = ("libibverbs.so.1", "librdmacm.so.1")


class VerbsError(RuntimeError):
    """This process has a libibverbs already, and it is not rnicd's."""


def loaded_as(name: str) -> list[str]:
    """The paths under which this process has a library."""
    # A mapped file has the name that its soname leads to, such as libibverbs.so.1.14.44.0.
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        paths = {line.split(maxsplit=5)[5].rstrip("\n") for line in file if "/" in line}
    return sorted(path for path in paths if os.path.basename(path).startswith(name))


def load_verbs(folder: str) -> None:
    """Loads the libraries of a folder. Modules that are imported later, and need a library of one
    of these names, get the one that is there: so the loader does it."""
    wanted = os.path.realpath(folder)
    for name in LIBRARIES:
        for path in loaded_as(name):
            if os.path.dirname(path) != wanted:
                raise VerbsError(f"this process has {path} already: import pyverbs after the first "
                                 "in_process(), inside a test or fixture, or start the whole run "
                                 "by rnic-run")
        ctypes.CDLL(os.path.join(wanted, name), mode=ctypes.RTLD_GLOBAL)
