#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Python package without a device: stand-ins for rnicd, rnicctl and rnic-run are shell scripts.

    test_rnic_package.py TREE
"""

import ast
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TREE = pathlib.Path(sys.argv.pop()).resolve()
PACKAGE = TREE / "tools/python"
sys.path.insert(0, str(PACKAGE))
sys.dont_write_bytecode = True

import rnic  # noqa: E402
from rnic import device, keeper, snapshot, verbs  # noqa: E402

TROUBLE = {"age_ms": 3, "program": "writer", "pid": 7, "uid": 1, "cause": "REFUSED",
           "subject": "MODIFY_QP refused", "reason": "there is no GID with index 9",
           "later": "a column of a later rnicctl"}
QP = {"qpn": 0x80ad74, "state": "RTS", "waiting_for": "an acknowledgement", "last_error": ""}
CM = {"id": 4, "state": "connecting", "waiting_for": "", "last_error": "nobody listens"}


def document(**changes):
    return {"device": {"name": "rnic0", "gids": [{"index": 0, "gid": "fe80::1"},
                                                 {"index": 3, "gid": "10.0.0.1"}]},
            "qps": [], "cm": [], "troubles": [], "counters": {"sent_pkts": 5}, **changes}


class Snapshots(unittest.TestCase):
    def test_moved(self):
        before = snapshot.Snapshot(document())
        after = snapshot.Snapshot(document(counters={"sent_pkts": 8, "new": 2, "still": 0}))
        self.assertEqual(after.moved(before), {"sent_pkts": 3, "new": 2})
        self.assertEqual(before.moved(before), {})

    def test_report(self):
        before = snapshot.Snapshot(document())
        after = snapshot.Snapshot(document(qps=[QP], cm=[CM], troubles=[TROUBLE],
                                           counters={"sent_pkts": 6}))
        self.assertEqual(after.report(before).splitlines(), [
            "troubles:",
            "  writer (pid 7): MODIFY_QP refused",
            "    why: there is no GID with index 9",
            "queue pairs and identifiers that wait or failed:",
            "  queue pair 0x80ad74 (RTS) waits for: an acknowledgement",
            "  identifier 4 (connecting) failed: nobody listens",
            "counters that moved:",
            f"  {'sent_pkts':<32} +1"])
        self.assertEqual(before.report(before).count("none"), 3)


RNICD = """#!/bin/sh
echo "args $*" >&2
case "$*" in *silent*) exit 1 ;; esac
while [ "$1" != --ready-fd ]; do shift; done
eval "printf x >&$2"
trap 'exit 0' TERM
while :; do sleep 0.02; done
"""
RNICCTL = """#!/bin/sh
cat "$(dirname "$0")/document"
"""
RNIC_RUN = """#!/bin/sh
[ "$1 $2" = "--no-daemon --socket" ] || exit 9
export SOCKET="$3" LD_LIBRARY_PATH=/verbs
shift 3
exec "$@"
"""


class StandIns(unittest.TestCase):
    """With programs that say what rnicd and its tools say."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name, text in (("rnicd", RNICD), ("rnicctl", RNICCTL), ("rnic-run", RNIC_RUN)):
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(0o755)
        self.tell(document())
        path = os.environ["PATH"]
        os.environ["PATH"] = f"{folder.name}:{path}"
        self.addCleanup(os.environ.__setitem__, "PATH", path)

    def tell(self, told):
        (self.folder / "document").write_text(json.dumps(told))

    def test_life(self):
        with rnic.Device(name="a", address="127.9.9.9", fault="drop=1%", capture=True,
                         options=["--ecn", "on"]) as made:
            self.assertTrue(made.is_running())
            for words in ("--name a", "--address 127.9.9.9", "--fault drop=1%", "--ecn on",
                          f"--capture {made.capture}", f"--socket {made.socket}"):
                self.assertIn(words, made.log)
            self.tell(document(counters={"sent_pkts": 9}))
            self.assertIn("+4", made.report())
        self.assertFalse(made.is_running())
        self.assertFalse(made.folder.exists())

    def test_addresses(self):
        with rnic.Device() as one, rnic.Device(netdev="lo") as other:
            self.assertRegex(one.log, r"--address 127\.\d+\.\d+\.\d+\n")
            self.assertNotIn("--address", other.log)
            self.assertEqual(other.address, "10.0.0.1")
            self.assertEqual(other.gid_index(), 3)
            with self.assertRaisesRegex(rnic.DeviceError, "no GID for 10.0.0.9"):
                other.gid_index("10.0.0.9")

    def test_programs(self):
        with rnic.Device() as made:
            self.assertEqual(made.environment()["SOCKET"], made.socket)
            done = made.run(["sh", "-c", "cat; echo $SOCKET"], input="in ")
            self.assertEqual(done.stdout, f"in {made.socket}\n")
            with self.assertRaisesRegex(rnic.ProgramFailed, "status 3.*\nthe reason"):
                made.run(["sh", "-c", "echo the reason; exit 3"])
            self.tell(document(qps=[QP]))
            with self.assertRaisesRegex(rnic.ProgramHung, "waits for: an acknowledgement"):
                made.run(["sleep", "100"], timeout=0.1)
            left = made.start(["sleep", "100"])
        self.assertEqual(left.poll(), -signal.SIGTERM)

    def test_does_not_start(self):
        with self.assertRaisesRegex(rnic.DeviceError, "does not start: args .*silent"):
            rnic.Device(name="silent")

    def test_does_not_answer(self):
        (self.folder / "rnicctl").write_text("#!/bin/sh\necho nobody there >&2; exit 1\n")
        with self.assertRaisesRegex(rnic.DeviceError, "nobody there"):
            rnic.Device()

    def test_dies(self):
        with self.assertRaisesRegex(rnic.DeviceError, "status -9 before"):
            with rnic.Device() as made:
                os.kill(made.pid, signal.SIGKILL)
                while made.is_running():
                    time.sleep(0.01)
        self.assertFalse(made.folder.exists())

    def test_owner_dies(self):
        """The keeper ends what a process has left that was killed."""
        owner = subprocess.Popen(
            [sys.executable, "-c", "import rnic, time; d = rnic.Device(); "
             "p = d.start(['sleep', '100']); print(d.folder, d.pid, p.pid, flush=True); "
             "time.sleep(100)"],
            stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(PACKAGE)})
        folder, *pids = owner.stdout.readline().split()
        owner.kill()
        owner.wait()
        owner.stdout.close()
        end = time.monotonic() + 20
        while (os.path.exists(folder) or any(map(keeper.start_time, pids))) and \
                time.monotonic() < end:
            time.sleep(0.01)
        self.assertFalse(os.path.exists(folder))
        self.assertEqual([keeper.start_time(pid) for pid in pids], [None, None])


class Rest(unittest.TestCase):
    def test_no_programs(self):
        path = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", path)
        os.environ["PATH"] = "/nowhere"
        with self.assertRaisesRegex(FileNotFoundError, "there is no rnicd on the PATH"):
            rnic.Device()

    def test_free_address(self):
        self.assertTrue(device.is_free(device.free_address()))

    def test_other_libraries(self):
        """A process that has a library of one of these names keeps it."""
        with tempfile.TemporaryDirectory() as folder:
            loaded, verbs.loaded_as = verbs.loaded_as, lambda _: ["/usr/lib/libibverbs.so.1"]
            self.addCleanup(setattr, verbs, "loaded_as", loaded)
            with self.assertRaisesRegex(rnic.VerbsError, "has /usr/lib/libibverbs.so.1 already"):
                verbs.load_verbs(folder)

    def test_where_hosts_are(self):
        with self.assertRaisesRegex(ValueError, "elsewhere"):
            with rnic.two_hosts("elsewhere"):
                pass

    def test_versions(self):
        """The syntax is that of the oldest Python that pyproject.toml promises."""
        project = (PACKAGE / "pyproject.toml").read_text()
        oldest = tuple(map(int, re.search(r'requires-python = ">=(\d+)\.(\d+)"', project).groups()))
        for path in (PACKAGE / "rnic").glob("*.py"):
            ast.parse(path.read_text(), filename=str(path), feature_version=oldest)
        cmake = (TREE / "CMakeLists.txt").read_text()
        self.assertEqual(rnic.__version__, re.search(r"rnicd VERSION (\S+)", cmake)[1])

    def test_manual(self):
        """It has every name of the package, fixture, option and setting, and no other fixture."""
        manual = (PACKAGE / "python3-rnic.7").read_text().replace("\\-", "-")
        plugin = (PACKAGE / "rnic/pytest_plugin.py").read_text()
        fixtures = set(re.findall(r"@pytest\.fixture\ndef (\w+)", plugin))
        settings = re.search(r"^SETTINGS = \{.*?\}", plugin, re.M | re.S)[0]
        for name in [*fixtures, *re.findall(r'addoption\("(--[\w-]+)"', plugin),
                     *(f"{setting}=" for setting in re.findall(r'"(\w+)":', settings)),
                     *re.findall(r"^    def ([a-z]\w+)\(",
                                 (PACKAGE / "rnic/program.py").read_text(), re.M)]:
            self.assertIn(name, manual)
        self.assertEqual(set(re.findall(r"\brnic_(?!keep)\w+", manual)), fixtures)


if __name__ == "__main__":
    unittest.main()
