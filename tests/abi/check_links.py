#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_links.py FOLDER COMPILER: a program links where LD_LIBRARY_PATH has the libraries in
FOLDER, as below rnic-run, in whatever order the linker meets them and the distribution's. A linker
finds what the program names by the distribution's names, and what libraries of the program need
there by LD_LIBRARY_PATH: so it meets our librdmacm and the distribution's libibverbs in one
program, or the other way round."""

import itertools
import os
import subprocess
import sys
import tempfile

SKIP = 77
LINKERS = ("bfd", "gold", "lld", "mold")
PARTS = ("ibverbs", "rdmacm")
USES = {
    "ibverbs": "struct context; int ibv_close_device(struct context *);\n"
               "int use_ibverbs(void) { return ibv_close_device(0); }\n",
    "rdmacm": "struct channel; void rdma_destroy_event_channel(struct channel *);\n"
              "int use_rdmacm(void) { rdma_destroy_event_channel(0); return 0; }\n",
}


def run(compiler, arguments, environment=None):
    return subprocess.run([*compiler, *arguments], env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def make_users(compiler, folder):
    """A library for each of ours, as libfabric is one for librdmacm. None: nothing to link with."""
    users = {}
    for part in PARTS:
        users[part] = os.path.join(folder, f"lib{part}_user.so")
        result = run(compiler, ["-shared", "-fPIC", "-o", users[part],
                                write(folder, f"{part}.c", USES[part]), f"-l{part}"])
        if result.returncode != 0:
            print(result.stdout)
            return None
    return users


def command_lines(users):
    """Each of the libraries, and each pair in both orders."""
    libraries = [f"-l{part}" for part in PARTS] + list(users.values())
    for count in (1, 2):
        yield from itertools.permutations(libraries, count)


def main():
    ours = {**os.environ, "LD_LIBRARY_PATH": os.path.abspath(sys.argv[1])}
    compiler = sys.argv[2:]
    failures = links = 0
    with tempfile.TemporaryDirectory() as folder:
        users = make_users(compiler, folder)
        if users is None:
            print("skipped: the distribution's libibverbs or librdmacm is not installed")
            return SKIP
        program = write(folder, "program.c", "int main(void) { return 0; }\n")
        plain = [program, "-o", os.path.join(folder, "program"), "-Wl,--no-as-needed"]
        for linker in LINKERS:
            chosen = [f"-fuse-ld={linker}", *plain]
            if run(compiler, chosen).returncode != 0:
                print(f"{linker}: not installed")
                continue
            for libraries in command_lines(users):
                result = run(compiler, [*chosen, *libraries], ours)
                links += 1
                if result.returncode != 0:
                    print(f"{linker} {' '.join(libraries)}:\n{result.stdout}")
                    failures += 1
    print(f"{links} links, {failures} failed")
    return 1 if failures or links == 0 else 0


sys.exit(main())
