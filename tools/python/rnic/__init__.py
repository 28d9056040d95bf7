# SPDX-License-Identifier: MIT
"""RDMA devices in user space, for tests: rnicd as seen by rnicctl.

    with rnic.Device(fault="drop=1%,seed=7") as device:
        device.run(["ibv_devinfo"])
        print(device.troubles())

    with rnic.two_hosts() as (a, b):
        server = a.start(["ib_write_bw"])
        a.wait_port(18515)
        b.run(["ib_write_bw", a.address])

The package starts rnicd, rnicctl and rnic-run, which are on the PATH, and knows no layout of
theirs: what it tells of a device is what `rnicctl show --json` prints. python3-rnic(7) has all of
it, and the fixtures of the pytest plug-in.
"""

from rnic.conditions import ConditionError, Rules
from rnic.device import Device, DeviceError, in_process
from rnic.host import Host, NoNamespaces, two_hosts
from rnic.program import Program, ProgramFailed, ProgramHung
from rnic.snapshot import Snapshot, Trouble
from rnic.verbs import VerbsError

__version__ = "0.2.0"

__all__ = ["ConditionError", "Device", "DeviceError", "Host", "NoNamespaces", "Program",
           "ProgramFailed", "ProgramHung", "Rules", "Snapshot", "Trouble", "VerbsError",
           "in_process", "two_hosts"]
