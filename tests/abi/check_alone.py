#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_alone.py FOLDER: a program may load only one of the libraries in FOLDER, may load both in
either order, and may unload them; and our librdmacm refuses the distribution's libibverbs with a
sentence that names what is missing."""

import ctypes.util
import os
import subprocess
import sys

SKIP = 77
NODE = "RNIC_PRIVATE_4"

LOADER = """
import _ctypes, ctypes, os, sys
libraries = [ctypes.CDLL(path) for path in sys.argv[1:]]
for library in reversed(libraries):
    _ctypes.dlclose(library._handle)
if os.fork() == 0:
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""


def load(*paths):
    return subprocess.run([sys.executable, "-c", LOADER, *paths], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def main():
    folder = os.path.abspath(sys.argv[1])
    verbs = os.path.join(folder, "libibverbs.so.1")
    cm = os.path.join(folder, "librdmacm.so.1")
    failures = 0
    for paths in ([verbs], [cm], [verbs, cm], [cm, verbs]):
        result = load(*paths)
        names = " and ".join(os.path.basename(path) for path in paths)
        print(f"{names}: exit code {result.returncode} {result.stdout}")
        failures += result.returncode != 0
    distribution = ctypes.util.find_library("ibverbs")
    if distribution is None:
        print("skipped: the distribution's libibverbs is not installed, nothing to mix with")
        return 1 if failures else SKIP
    # What is loaded first serves whoever asks for its name: here the distribution's library.
    result = load(distribution, cm)
    print(f"the distribution's libibverbs.so.1 and ours of librdmacm.so.1: {result.stdout}")
    failures += result.returncode != 1 or NODE not in result.stdout
    return 1 if failures else 0


sys.exit(main())
