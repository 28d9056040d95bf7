#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts what the flight recorder costs a message, in instructions of the hosts' turns.

    recorder_cost.py RECORDER_COST

Exits 1 when a message without loss takes more than 1.03 times as many as without the recorder, and
77 where valgrind is missing.
"""

import re
import shutil
import subprocess
import sys
import tempfile

MOST = 1.03
TURN = "sim_host_turn"  # what is counted: engine, memory and ports, not the simulator


def count(program, recorder, path, loss, folder):
    """Returns instructions for each message."""
    run = subprocess.run(
        ["valgrind", "--tool=callgrind", f"--toggle-collect={TURN}",
         f"--callgrind-out-file={folder}/out", program, recorder, path, loss],
        capture_output=True, text=True, check=True)
    messages = int(re.search(r"(\d+) messages", run.stdout)[1])
    return int(re.search(r"Collected : (\d+)", run.stderr)[1]) / messages


def main():
    if shutil.which("valgrind") is None:
        print("skipped: valgrind, which counts instructions, is not installed")
        return 77
    worst = 0.0
    print("path    loss  with recorder  without  ratio")
    with tempfile.TemporaryDirectory() as folder:
        for path, loss in (("shared", "0"), ("direct", "0"), ("shared", "1")):
            with_it, without = (count(sys.argv[1], recorder, path, loss, folder)
                                for recorder in ("on", "off"))
            ratio = with_it / without
            print(f"{path:6}  {loss} %  {with_it:13.0f}  {without:7.0f}  {ratio:.4f}")
            if loss == "0":
                worst = max(worst, ratio)
    return 1 if worst > MOST else 0


if __name__ == "__main__":
    sys.exit(main())
