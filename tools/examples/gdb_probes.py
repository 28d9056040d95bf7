# SPDX-License-Identifier: MIT
"""Shows the next 40 events of the data path of a running device, then lets the device go on.

    gdb -q -batch -p "$(pgrep -n rnicd-device)" -x tools/examples/gdb_probes.py

lib/nic/base/probe.h lists the probes. A device inside a program is read the same way: give the
program's PID.
"""
import gdb

EVENTS = 40
FORMATS = {
    "wqe_fetched": "QP {0} opcode {1}, {2} SGEs",
    "packet_sent": "QP {0} opcode 0x{1:02x} PSN {2}, {3} bytes",
    "packet_received": "QP {0} opcode 0x{1:02x} PSN {2}, {3} bytes",
    "cqe_delivered": "QP {0} status {1}, {3} bytes",
    "repair": "QP {0} from PSN {1} to {2}",
    "send_again": "QP {0} from PSN {1}, retries left: {2}",
    "ack_timeout": "QP {0}, retries left: {1}",
    "rnr_wait": "QP {0} waits {1} ns",
    "qp_trouble": "QP {0} verdict {1}",
}


def argument(number):
    """An argument of the probe that was hit; None where the probe has no such argument."""
    try:
        return int(gdb.parse_and_eval(f"$_probe_arg{number}"))
    except gdb.error:
        return None


class Probe(gdb.Breakpoint):
    """A probe that prints a line and goes on, until all events are shown."""

    left = EVENTS

    def __init__(self, name):
        super().__init__(f"-probe-stap rnic:{name}", internal=True)
        self.name = name

    def stop(self):
        if Probe.left > 0:
            Probe.left -= 1
            print(f"{self.name:15} {FORMATS[self.name].format(*map(argument, range(4)))}",
                  flush=True)
        return Probe.left == 0


probes = [Probe(name) for name in FORMATS]
gdb.execute("continue")
