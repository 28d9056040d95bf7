#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_programs.py FOLDER: every installed program that links libibverbs or librdmacm finds all
its symbols and versions when FOLDER comes first on the library path."""

import os
import subprocess
import sys

SKIP = 77
PACKAGES = ["ibverbs-utils", "rdmacm-utils", "perftest", "python3-pyverbs", "qperf", "libucx0",
            "libfabric1", "libopenmpi3", "librpma0"]
COMPLAINTS = ("undefined symbol", "not found", "no version information")


def files_of(package):
    result = subprocess.run(["dpkg", "-L", package], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True)
    return result.stdout.split() if result.returncode == 0 else []


def is_elf(path):
    try:
        with open(path, "rb") as file:
            return not os.path.islink(path) and file.read(4) == b"\x7fELF"
    except OSError:
        return False


def links_verbs(path):
    dynamic = subprocess.run(["readelf", "-d", path], stdout=subprocess.PIPE, text=True).stdout
    return "[libibverbs.so.1]" in dynamic or "[librdmacm.so.1]" in dynamic


def linked(path, environment):
    result = subprocess.run(["ldd", "-r", path], env=environment, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)
    return result.stdout.splitlines()


def complaints_in(lines):
    return [line.strip() for line in lines if any(text in line for text in COMPLAINTS)]


def complaints_of(path, folder):
    """Less those with the distribution's own libraries: a plug-in or a Python module
    leaves the symbols of its host open."""
    lines = linked(path, dict(os.environ, LD_LIBRARY_PATH=folder))
    usual = complaints_in(linked(path, os.environ))
    found = [complaint for complaint in complaints_in(lines) if complaint not in usual]
    if not any(folder in line for line in lines):
        found.append("does not load our library")
    return found


def main():
    folder = os.path.realpath(sys.argv[1])
    checked, bad = 0, 0
    for package in PACKAGES:
        files = [path for path in files_of(package) if is_elf(path) and links_verbs(path)]
        if not files:
            print(f"{package}: not installed")
            continue
        for path in files:
            checked += 1
            complaints = complaints_of(path, folder)
            for complaint in complaints[:5]:
                print(f"{path}: {complaint}")
            bad += bool(complaints)
        print(f"{package}: {len(files)} files")
    if checked == 0:
        print("skipped: none of the programs is installed")
        return SKIP
    print(f"{checked} files checked, {bad} with complaints")
    return 1 if bad else 0


sys.exit(main())
