#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_symbols.py OURS: every symbol and version that the distribution's library of the same name
offers is offered by OURS too, except those that no program of this century imports. Of its own,
OURS offers no more than what our libraries say to each other."""

import glob
import os
import re
import subprocess
import sys

SKIP = 77

# The interface of 2006, in its first version: binaries of that age alone need it.
FIRST_VERSION = "IBVERBS_1.0"
LEFT_OUT = {"ibv_register_driver@IBVERBS_1.1"}

# What our librdmacm.so.1 gets from our libibverbs.so.1.
OWN = {"libibverbs.so.1": {"rnic_native@RNIC_PRIVATE_4"}}


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def offered(path):
    """Versioned names, and those of them that are the default version."""
    names, defaults = set(), set()
    for line in run("nm", "-D", "--defined-only", "--with-symbol-versions", path).splitlines():
        kind, name = line.split()[-2:]
        if kind == "A":
            continue
        names.add(name.replace("@@", "@"))
        if "@@" in name:
            defaults.add(name.replace("@@", "@"))
    return names, defaults


def soname(path):
    return re.search(r"SONAME.*\[(.*)\]", run("readelf", "-d", path)).group(1)


def reference_of(name):
    for folder in glob.glob("/usr/lib/*-linux-gnu") + ["/usr/lib64", "/lib64", "/usr/lib"]:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return path
    return None


def main():
    ours = sys.argv[1]
    name = os.path.basename(ours)
    reference = reference_of(name)
    if reference is None:
        print(f"skipped: {name} of the distribution is not installed, nothing to compare with")
        return SKIP
    ours_names, _ = offered(ours)
    names, defaults = offered(reference)
    wanted = {n for n in names
              if n not in LEFT_OUT and (n in defaults or not n.endswith("@" + FIRST_VERSION))}
    missing = sorted(wanted - ours_names)
    for symbol in missing:
        print(f"missing: {symbol}")
    if soname(ours) != soname(reference):
        print(f"SONAME is {soname(ours)}, not {soname(reference)}")
        return 1
    leaked = sorted({n for n in ours_names if n.startswith("rnic_")} ^ OWN.get(name, set()))
    for symbol in leaked:
        print(f"leaks, or lacks of our own: {symbol}")
    print(f"{name}: {len(wanted)} symbols of {reference} compared, {len(missing)} missing, "
          f"{len(ours_names)} offered")
    return 1 if missing or leaked or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
