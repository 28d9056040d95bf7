#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes one markdown table of what measure.py wrote, medians over its rounds.

    table.py SAMPLES [--json FILE]

Exits 1 when a row is not complete, after printing what there is and why the rest is missing.
"""

import argparse
import json
import pathlib
import statistics
import sys

MISSING = "?"
NOTHING = "–"
HEADER = ("measured", "rnicd", "TCP", "ratio to it", "raw UDP", "ratio to that",
          "CPU s/GiB", "of TCP", "wake-ups", "system calls", "copies")

# case, its name for people, the value compared, its UDP baselines
ROWS = (
    ("write_64k", "`ib_write_bw` 64 KiB", "gbit_per_s", ("udp_gso",)),
    ("write_1m", "`ib_write_bw` 1 MiB", "gbit_per_s", ("udp_gso",)),
    ("read_64k", "`ib_read_bw` 64 KiB", "gbit_per_s", ("udp_gso",)),
    ("send_64k", "`ib_send_bw` 64 KiB", "gbit_per_s", ("udp_gso",)),
    ("write_64k_local", "`ib_write_bw` 64 KiB, one device with itself", "gbit_per_s", ()),
    ("write_rate", "`ib_write_bw` 8 B, 16 QPs", "messages_per_s", ("udp_small",)),
    ("write_lat", "`ib_write_lat` 8 B", "us", ("udp_blocking", "udp_spinning")),
    ("send_lat", "`ib_send_lat` 8 B", "us", ("udp_blocking", "udp_spinning")),
    ("send_lat_local", "`ib_send_lat` 8 B, one device with itself", "us", ()),
    ("verbs_lat", "8 B by verbs, two completion queues", "us", ("udp_spinning",)),
    ("handle_lat", "... by the handle API", "us", ("udp_spinning",)),
    ("context_lat", "... by the context API", "us", ("udp_blocking",)),
    ("connect", "connections, one by one", "connections_per_s", ()),
    ("connect_many", "connections, 100 at a time", "connections_per_s", ()),
    ("connect_local", "... one by one, one host", "connections_per_s", ()),
    ("connect_local_many", "... 100 at a time, one host", "connections_per_s", ()),
    ("rpc_ud_lat", "RPC of 64 B by datagrams", "us", ()),
    ("rpc_rc_lat", "RPC of 64 B by a connection", "us", ()),
    ("rpc_ud_rate", "... by datagrams, 100 at a time", "calls_per_s", ()),
    ("rpc_rc_rate", "... by a connection, 100 at a time", "calls_per_s", ()),
    ("user_write_64k", "`ib_write_bw` 64 KiB, ordinary users on root's daemons", "gbit_per_s",
     ("udp_gso",)),
)
# What a case is compared with over TCP.
TCP_CASES = {
    "write_64k": "tcp", "write_1m": "tcp", "read_64k": "tcp", "send_64k": "tcp",
    "user_write_64k": "tcp",
    "rpc_ud_lat": "rpc_tcp_lat", "rpc_rc_lat": "rpc_tcp_lat",
    "rpc_ud_rate": "rpc_tcp_rate", "rpc_rc_rate": "rpc_tcp_rate",
}
BASELINES = (
    ("tcp", "TCP", "gbit_per_s"),
    ("udp_gso", "raw UDP", "gbit_per_s"),
    ("udp_blocking", "ping-pong blocking", "us"),
    ("udp_spinning", "spinning", "us"),
)
# Of two completion queues each; a message is too small for a count of copies.
QUEUE_CASES = ("verbs_lat", "handle_lat", "context_lat")
FORMATS = {
    "gbit_per_s": lambda value: f"{value:.1f} Gb/s",
    "messages_per_s": lambda value: f"{value / 1e6:.3f} M/s",
    "us": lambda value: f"{value:.1f} us",
    "connections_per_s": lambda value: f"{value:.0f} /s",
    "calls_per_s": lambda value: f"{value:.0f} /s",
}
KIB_PER_MIB = 1024


class Incomplete(Exception):
    """A number that the table needs is not there."""


class NotHere(Exception):
    """A number that is not here to be measured, as the notes say."""


class Samples:
    def __init__(self, result):
        self.result = result
        self.missing = []

    def require(self, case):
        """Raises NotHere when the case could not be measured here, for a reason that is told."""
        if case in self.result["absent"]:
            raise NotHere

    def median(self, case, name):
        self.require(case)
        values = [sample[name] for sample in self.result["samples"].get(case, []) if name in sample]
        if not values:
            raise Incomplete(f"{case}: {name}")
        return statistics.median(values)

    def per_message(self, case, name):
        self.require(case)
        values = [sample[name] / sample["messages"]
                  for sample in self.result["samples"].get(case, [])]
        if not values:
            raise Incomplete(f"{case}: {name}")
        return statistics.median(values)

    def copies(self, case):
        """Times that a byte of payload is copied. A daemon that sends it takes it from the program
        and gives it to the kernel, one that receives it does the opposite; bytes sent again count
        again."""
        self.require(case)
        values = []
        for sample in self.result["samples"].get(case, []):
            counters = sample["counters"]
            moved = counters["sent_bytes"] + counters["rcvd_bytes"]
            values.append(2 * moved / sample["payload_bytes"])
        if not values:
            raise Incomplete(f"{case}: copies")
        return statistics.median(values)

    def system_calls(self, case):
        if "system calls" in self.result["failures"]:
            return None
        self.require(case)
        if case not in self.result["system_calls"]:
            raise Incomplete(f"{case}: system calls")
        return self.result["system_calls"][case]["all"]

    def memory_kib(self, measurement, name):
        values = self.result[measurement]
        if not values:
            raise Incomplete(measurement)
        return values[name]

    def text(self, make):
        """What `make` returns; a dash when it is not here to be measured; a question mark, and a
        note of it, when a number is missing."""
        try:
            return make()
        except NotHere:
            return NOTHING
        except (Incomplete, ZeroDivisionError) as failure:
            self.missing.append(str(failure))
            return MISSING


def ratio_text(ours, theirs):
    return " / ".join(f"{ours / value:.2f}" for value in theirs)


def case_row(samples, case, label, value, udp_cases):
    form = FORMATS[value]
    ours = lambda: samples.median(case, value)
    theirs = lambda: [samples.median(udp_case, value) for udp_case in udp_cases]
    cells = [label, samples.text(lambda: form(ours()))]
    if case in TCP_CASES:
        tcp = lambda: samples.median(TCP_CASES[case], value)
        cells += [samples.text(lambda: form(tcp())), samples.text(lambda: f"{ours() / tcp():.2f}")]
    else:
        cells += [NOTHING, NOTHING]
    if udp_cases:
        cells += [samples.text(lambda: " / ".join(map(form, theirs()))),
                  samples.text(lambda: ratio_text(ours(), theirs()))]
    else:
        cells += [NOTHING, NOTHING]
    if value == "gbit_per_s":
        cells += [samples.text(lambda: f"{samples.median(case, 'cpu_s_per_gib'):.2f}"),
                  samples.text(lambda: f"{samples.median('tcp', 'cpu_s_per_gib'):.2f}")]
    else:
        cells += [NOTHING, NOTHING]
    cells.append(samples.text(lambda: f"{samples.per_message(case, 'wakeups'):.3g}"))
    cells.append(samples.text(lambda: calls_text(samples.system_calls(case))))
    if value in ("connections_per_s", "calls_per_s") or case.startswith("rpc_") \
            or case.endswith("_local") or case in QUEUE_CASES:
        cells.append(NOTHING)
    else:
        cells.append(samples.text(lambda: f"{samples.copies(case):.1f}"))
    return cells


def calls_text(calls):
    return NOTHING if calls is None else f"{calls:.3g}"


def family_rows(samples):
    """Of several users and several processes; each has one cell that says all."""
    blanks = [NOTHING] * (len(HEADER) - 2)
    of_two = lambda name: samples.median("two_users_64k", name)
    two = samples.text(lambda: f"{of_two('gbit_per_s'):.1f} Gb/s together, the smaller share "
                               f"{of_two('smaller_share'):.2f} (one alone "
                               f"{samples.median('user_write_64k', 'gbit_per_s'):.1f} Gb/s)")
    ms = lambda name: samples.median("first_completion", name)
    first = samples.text(lambda: f"{ms('no_daemon_ms'):.1f} ms without a daemon, "
                                 f"{ms('daemon_ms'):.1f} ms with one, the next program "
                                 f"{ms('next_ms'):.1f} ms")
    return [["... of two users at once", two, *blanks],
            ["start of `rnic-run` to the first completion", first, *blanks]]


def memory_text(samples, measurement):
    mib = lambda name: samples.memory_kib(measurement, name) / KIB_PER_MIB
    return samples.text(lambda: f"{mib('rss'):.1f} MiB resident ({mib('pss'):.1f} MiB its share)")


def memory_rows(samples):
    blanks = [NOTHING] * (len(HEADER) - 2)
    kib = lambda name: samples.memory_kib("memory", name)
    per_qp = samples.text(lambda: f"{kib('kib_per_qp'):.1f} KiB, and "
                                  f"{kib('cq_kib_per_qp'):.1f} KiB of completion queues")
    device = (NOTHING if "device process" in samples.result["absent"]
              else memory_text(samples, "device_kib"))
    return [["memory of an idle daemon", memory_text(samples, "idle_kib"), *blanks],
            ["... with an idle program", memory_text(samples, "family_kib"), *blanks],
            ["... of which its device process", device, *blanks],
            ["memory per QP, 128 entries deep", per_qp, *blanks]]


def markdown(rows):
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + " --- |" * len(HEADER))
    return "\n".join(lines)


def spread(result):
    """How far the baselines' rounds lie apart: how much of a ratio the machine may have made."""
    parts = []
    for case, label, value in BASELINES:
        values = [sample[value] for sample in result["samples"].get(case, [])]
        if values:
            parts.append(f"{label} {FORMATS[value](min(values))} to {FORMATS[value](max(values))}")
    return f"Between rounds the machine itself varied: {', '.join(parts)}."


def notes(result):
    machine = result["machine"]
    return (f"Medians of {result['rounds']} rounds on {machine['cpus']} x {machine['cpu']}, "
            f"Linux {machine['kernel']}: two network namespaces, a veth with MTU 9000, one rnicd "
            "in each. TCP is one stream of iperf3; beside an RPC it is the same protocol buffers "
            "echoed over a connection, and the time is a whole round trip. A ratio is rnicd's "
            "number divided by the other's. Raw UDP is one stream with "
            "UDP_SEGMENT and UDP_GRO (4 KiB segments; 40 B beside the message rate), and a "
            "ping-pong of 64 B, blocking / spinning. Latencies are medians of half a round trip. "
            "CPU time is that of both daemons and both programs. Wake-ups and system calls are "
            "those of both daemons, per message or connection; copies are how often daemons and "
            "kernel copy a byte of payload. A connection is opened and closed, with a queue pair "
            "at each end, by two programs over librdmacm. A daemon is rnicd with its device "
            "processes; the share of its memory is the proportional set size, which counts a page "
            "that n processes share as 1/n.")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("samples")
    parser.add_argument("--json", help="also write the samples and the table there")
    arguments = parser.parse_args()
    result = json.loads(pathlib.Path(arguments.samples).read_text())
    samples = Samples(result)
    rows = [case_row(samples, *row) for row in ROWS] + family_rows(samples) + memory_rows(samples)
    print(markdown([list(HEADER), *rows]))
    print()
    print(notes(result))
    print(spread(result))
    for name, why in {**result["absent"], **result["failures"]}.items():
        print(f"\n{name}: {why}")
    if arguments.json:
        document = {**result, "table": [dict(zip(HEADER, row)) for row in rows]}
        pathlib.Path(arguments.json).write_text(json.dumps(document, indent=1) + "\n")
    if samples.missing:
        print(f"table.py: missing: {', '.join(dict.fromkeys(samples.missing))}", file=sys.stderr)
    return 1 if samples.missing else 0


if __name__ == "__main__":
    sys.exit(main())
