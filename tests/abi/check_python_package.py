#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_python_package.py TREE

pip installs the Python package without a network, whole: every module and the mark that it has
types, with the version of the project; and pytest finds the plug-in and its fixtures there by
itself.
"""

import importlib.metadata
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIP = 77
PYTHON = "/usr/bin/python3"  # the one that the distribution's modules are for
NEEDS = ("pip", "setuptools", "wheel", "pytest")
FIXTURES = ("rnic_device", "rnic_devices", "rnic_hosts", "rnic_make", "rnic_verbs")


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          check=False, timeout=100, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}:\n{done.stdout}{done.stderr}")
    return done.stdout


def check(tree, scratch):
    # A build writes beside the sources.
    source, target = scratch / "source", scratch / "installed"
    shutil.copytree(tree / "tools/python", source,
                    ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build"))
    run(PYTHON, "-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation",
        "--no-deps", "--no-cache-dir", "--root-user-action=ignore", "--target", target, source)
    for path in (source / "rnic").iterdir():
        if not (target / "rnic" / path.name).is_file():
            yield f"{path.name} is not installed"
    (found,) = importlib.metadata.distributions(name="rnic", path=[str(target)])
    version = re.search(r"rnicd VERSION (\S+)", (tree / "CMakeLists.txt").read_text())[1]
    if found.version != version:
        yield f"the package has version {found.version}, the project {version}"
    told = run(PYTHON, "-m", "pytest", "-p", "no:cacheprovider", "--fixtures", cwd=scratch,
               env={**os.environ, "PYTHONPATH": str(target)})
    for name in FIXTURES:
        if not re.search(rf"^{name}\b.*\n    \S", told, re.MULTILINE):
            yield f"pytest does not show the fixture {name} with its sentence"


def main():
    for name in NEEDS:
        if subprocess.run([PYTHON, "-c", f"import {name}"], capture_output=True,
                          check=False).returncode != 0:
            print(f"skipped: python3-{name} is not installed")
            return SKIP
    with tempfile.TemporaryDirectory() as folder:
        complaints = list(check(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(folder)))
    print("\n".join(complaints) or "the Python package is whole")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
