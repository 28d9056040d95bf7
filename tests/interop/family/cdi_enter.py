#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cdi_enter.py SPECIFICATION HIDDEN COMMAND...: does what a container runtime does with a CDI file.

In a mount namespace of its own (unshare --mount): mounts what the specification says, hides the
folder HIDDEN, and runs the command with a bare environment and the variables of the specification.
A specification with a key, a name or a path that the interface does not permit is an error.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

KEYS = {"cdiVersion", "kind", "devices"}
KIND = re.compile(r"[A-Za-z0-9][\w.-]*[A-Za-z0-9]/[A-Za-z0-9][\w.-]*[A-Za-z0-9]")
NAME = re.compile(r"[A-Za-z0-9]([\w.:-]*[A-Za-z0-9])?")
OPTIONS = {"ro", "rbind", "nosuid", "nodev"}


def expect(is_so, what):
    if not is_so:
        sys.exit(f"the specification: {what}")


def check(specification):
    """Returns the edits of its one device."""
    expect(set(specification) == KEYS, f"keys {sorted(specification)}")
    expect(specification["cdiVersion"] == "0.5.0", "the version")
    expect(KIND.fullmatch(specification["kind"]), "the kind")
    (device,) = specification["devices"]
    expect(set(device) == {"name", "containerEdits"}, "keys of the device")
    expect(NAME.fullmatch(device["name"]), "the name of the device")
    edits = device["containerEdits"]
    expect(set(edits) == {"env", "mounts"}, "the edits")
    for entry in edits["env"]:
        expect(re.fullmatch(r"\w+=.+", entry), f"variable {entry}")
    for entry in edits["mounts"]:
        expect(set(entry) == {"hostPath", "containerPath", "options"}, "keys of a mount")
        for path in (entry["hostPath"], entry["containerPath"]):
            expect(os.path.isabs(path) and os.path.normpath(path) == path, f"path {path}")
        expect(os.path.exists(entry["hostPath"]), f"there is no {entry['hostPath']}")
        expect(set(entry["options"]) <= OPTIONS and "rbind" in entry["options"], "mount options")
    return edits


def mount(*words):
    subprocess.run(["mount", *words], check=True)


def apply(entry):
    outside, inside = entry["hostPath"], pathlib.Path(entry["containerPath"])
    if os.path.isdir(outside):
        inside.mkdir(parents=True, exist_ok=True)
    else:
        inside.parent.mkdir(parents=True, exist_ok=True)
        inside.touch()
    mount("--rbind", outside, str(inside))
    flags = ",".join(sorted(set(entry["options"]) - {"rbind"}))
    mount("-o", f"remount,bind,{flags}", str(inside))


def main():
    edits = check(json.loads(pathlib.Path(sys.argv[1]).read_text()))
    mount("-t", "tmpfs", "tmpfs", "/opt")
    for entry in edits["mounts"]:
        apply(entry)
    mount("-t", "tmpfs", "tmpfs", sys.argv[2])
    environment = dict(entry.split("=", 1) for entry in edits["env"])
    os.execvpe(sys.argv[3], sys.argv[3:], {"PATH": os.environ["PATH"], **environment})


if __name__ == "__main__":
    main()
