# SPDX-License-Identifier: MIT
"""Instructions for a message between two simulated hosts, counted by callgrind."""

import re
import shutil
import subprocess
import sys
import tempfile

TURN = "sim_host_turn"  # what is counted: engine, memory and ports, not the simulator
SKIPPED = 77


def counted(program, recorder, path, rules, hits=None):
    """Returns instructions for each message of message_cost.

    `hits` is how often rules must have acted, for those that are to match nothing. Ends the program
    with status 77 where valgrind is missing.
    """
    if shutil.which("valgrind") is None:
        print("skipped: valgrind, which counts instructions, is not installed")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--toggle-collect={TURN}",
             f"--callgrind-out-file={folder}/out", program, recorder, path, rules],
            capture_output=True, text=True, check=True)
    found = sum(int(number) for number in re.findall(r"(\d+) hits", run.stdout))
    if hits is not None and found != hits:
        sys.exit(f"the rules {rules} acted {found} times, not {hits}")
    messages = int(re.search(r"(\d+) messages", run.stdout)[1])
    return int(re.search(r"Collected : (\d+)", run.stderr)[1]) / messages
