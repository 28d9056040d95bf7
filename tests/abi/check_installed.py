#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_installed.py --cmake CMAKE --build BUILD

What an installation holds. Libraries for programs have a soname with the major version; the
drop-ins have rdma-core's, in a folder of their own. No file knows the build tree or the place of
the installation, and no program or library looks elsewhere for libraries than the system does.
Where a part of the device inside programs is missing, rnic-run --direct says so.
"""

import argparse
import re
import subprocess
import sys

from installed_tree import tree_of_arguments

PRIVATE = "rnic"
DROP_INS = {"libibverbs.so.1", "librdmacm.so.1"}
# Programs are linked with rdma-core's libraries.
NO_LINKS = {"libibverbs.so", "librdmacm.so"}
# librdmacm finds the libibverbs of its own folder.
RUNPATHS = {"librdmacm.so.1": "$ORIGIN"}
DIRECT = ("librnic-guard.so", "librnic-direct.so")


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def dynamic(path):
    """The entries of the dynamic section: pairs of tag and string."""
    text = subprocess.run(["readelf", "-d", path], capture_output=True, text=True,
                          check=True).stdout
    return re.findall(r"\((\w+)\)[^\[\n]*\[(.*)\]", text)


def check_library(tree, path):
    major = tree.version.split(".", maxsplit=1)[0]
    name = path.name.removesuffix(f".{tree.version}")
    tree.expect(f"{path.name} ends in the version", name != path.name)
    entries = dynamic(path)
    tree.expect(f"the soname of {path.name}", ("SONAME", f"{name}.{major}") in entries, entries)
    for link in (name, f"{name}.{major}"):
        place = path.with_name(link)
        tree.expect(f"{link} leads to {path.name}",
                    place.is_symlink() and place.resolve() == path)


def check_elf(tree, path):
    entries = dynamic(path)
    searched = [value for tag, value in entries if tag in ("RPATH", "RUNPATH")]
    wanted = [RUNPATHS[path.name]] if path.name in RUNPATHS else []
    tree.expect(f"{path.name} looks for libraries in", searched == wanted, searched)


def check_direct(tree):
    """rnic-run starts no daemon for a command whose device cannot run inside."""
    for name in DIRECT:
        path = tree.libraries / PRIVATE / name
        tree.expect(f"{name} is installed", path.exists())
        if not path.exists():
            continue
        away = path.rename(tree.scratch / name)
        done = subprocess.run([tree.root / "bin/rnic-run", "--socket", tree.scratch / "sock",
                               "--direct", "true"], capture_output=True, text=True, check=False)
        tree.expect(f"rnic-run --direct without {name} says so",
                    done.returncode == 1 and f"--direct needs {path}" in done.stderr, done)
        tree.expect(f"without {name} there is no daemon", not (tree.scratch / "sock").exists())
        away.rename(path)


def main():
    _, tree = tree_of_arguments(argparse.ArgumentParser())
    with tree:
        files = [path for path in tree.root.rglob("*") if path.is_file() and not path.is_symlink()]
        elves = [path for path in files if is_elf(path)]
        private = tree.libraries / PRIVATE
        shared = [path for path in elves if ".so" in path.name and private not in path.parents]
        tree.expect("librnic is installed",
                    any(path.name.startswith("librnic.so") for path in shared))
        for path in shared:
            check_library(tree, path)
        for path in elves:
            check_elf(tree, path)
            if path.name in DROP_INS:
                tree.expect(f"{path.name} is in a folder of its own", private in path.parents)
                tree.expect(f"the soname of {path.name}", ("SONAME", path.name) in dynamic(path))
        for path in tree.root.rglob("*"):
            if path.name in DROP_INS | NO_LINKS:
                tree.expect(f"{path} is in a folder of its own", private in path.parents)
        for path in files:
            if path not in elves:
                text = path.read_bytes()
                for place in (tree.build, tree.scratch / "destination"):
                    tree.expect(f"{path.relative_to(tree.root)} does not name {place}",
                                str(place).encode() not in text)
        if "--direct" in tree.run(tree.root / "bin/rnic-run", "--help"):
            check_direct(tree)
    return tree.report(f"{len(files)} files, {len(elves)} programs and libraries, "
                       f"{len(shared)} of them for programs to link")


if __name__ == "__main__":
    sys.exit(main())
