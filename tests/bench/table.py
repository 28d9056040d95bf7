#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes one markdown table of what measure.py wrote, medians over its rounds.

    table.py SAMPLES [--json FILE]

Exits 1 when a row is not complete, after printing what there is and why the rest is missing.
"""

import argparse
import json
import pathlib
import re
import statistics
import sys

MISSING = "?"
NOTHING = "–"
NOT_BUILT = "not built"
HEADER = ("measured", "rnicd", "TCP", "ratio to it", "raw UDP", "ratio to that",
          "CPU s/GiB", "of TCP", "wake-ups", "system calls", "copies",
          "direct", "direct to TCP", "direct to raw UDP", "direct CPU s/GiB")

# case, its name for people, the value compared, its UDP baselines
STREAMS = ("udp_gso", "udp_icrc")
PING_PONGS = ("udp_blocking", "udp_spinning")
ROWS = (
    ("write_64k", "`ib_write_bw` 64 KiB", "gbit_per_s", STREAMS),
    ("write_64k_lossy", "... with 1 % of the packets lost", "gbit_per_s", ()),
    ("write_1m", "`ib_write_bw` 1 MiB", "gbit_per_s", STREAMS),
    ("read_64k", "`ib_read_bw` 64 KiB", "gbit_per_s", STREAMS),
    ("send_64k", "`ib_send_bw` 64 KiB", "gbit_per_s", STREAMS),
    ("write_64k_local", "`ib_write_bw` 64 KiB, one device with itself", "gbit_per_s", ()),
    ("write_rate", "`ib_write_bw` 8 B, 16 QPs", "messages_per_s", ("udp_small",)),
    ("write_rate", "... per core at each end", "messages_per_core_s", ("udp_small",)),
    ("write_lat", "`ib_write_lat` 8 B", "us", PING_PONGS),
    ("send_lat", "`ib_send_lat` 8 B", "us", PING_PONGS),
    ("send_lat_events", "`ib_send_lat -e` 8 B", "us", PING_PONGS),
    ("read_lat", "`ib_read_lat` 8 B", "round_us", PING_PONGS),
    ("send_lat_local", "`ib_send_lat` 8 B, one device with itself", "us", ()),
    ("verbs_lat", "8 B by verbs, two completion queues", "us", ("udp_spinning",)),
    ("handle_lat", "... by the handle API", "us", ("udp_spinning",)),
    ("context_lat", "... by the context API", "us", ("udp_blocking",)),
    ("ucx_lat", "`ucx_perftest -t tag_lat` 8 B", "us", ()),
    ("connect", "connections, one by one", "connections_per_s", ()),
    ("connect_many", "connections, 100 at a time", "connections_per_s", ()),
    ("connect_local", "... one by one, one host", "connections_per_s", ()),
    ("connect_local_many", "... 100 at a time, one host", "connections_per_s", ()),
    ("rpc_ud_lat", "RPC of 64 B by datagrams", "us", ()),
    ("rpc_rc_lat", "RPC of 64 B by a connection", "us", ()),
    ("rpc_ud_rate", "... by datagrams, 100 at a time", "calls_per_s", ()),
    ("rpc_rc_rate", "... by a connection, 100 at a time", "calls_per_s", ()),
    ("user_write_64k", "`ib_write_bw` 64 KiB, ordinary users on root's daemons", "gbit_per_s",
     STREAMS),
)
# The cases that are measured on the direct path as well.
DIRECT_CASES = ("write_64k", "write_1m", "read_64k", "send_64k", "write_64k_local", "write_rate",
                "write_lat", "send_lat", "send_lat_events", "read_lat", "send_lat_local",
                "verbs_lat", "handle_lat", "context_lat", "ucx_lat",
                "connect", "connect_many", "connect_local", "connect_local_many",
                "rpc_ud_lat", "rpc_rc_lat", "rpc_ud_rate", "rpc_rc_rate",
                "qps_1", "qps_100", "qps_1000", "qps_10000")
# The cases that an ordinary user runs on root's daemons and on their own, by what is compared, with
# their names for people.
USER_SHARES = (
    ("gbit_per_s", (("write_64k", "64 KiB write"), ("read_64k", "read"), ("send_64k", "send"))),
    ("messages_per_s", (("write_rate", "8 B rate"),)),
    ("us", (("send_lat", "send_lat"), ("write_lat", "write_lat"))),
)
USER_CASES = tuple(case for _, cases in USER_SHARES for case, _ in cases)
# What a case is compared with over TCP.
TCP_CASES = {
    "write_64k": "tcp", "write_1m": "tcp", "read_64k": "tcp", "send_64k": "tcp",
    "user_write_64k": "tcp", "ucx_lat": "ucx_tcp_lat",
    "rpc_ud_lat": "rpc_tcp_lat", "rpc_rc_lat": "rpc_tcp_lat",
    "rpc_ud_rate": "rpc_tcp_rate", "rpc_rc_rate": "rpc_tcp_rate",
}
# Of which a case is a part.
WHOLE_CASES = {"write_64k_lossy": ("write_64k", "of that without loss")}
BASELINES = (
    ("tcp", "TCP", "gbit_per_s"),
    ("udp_gso", "raw UDP", "gbit_per_s"),
    ("udp_icrc", "with ICRC and copy", "gbit_per_s"),
    ("udp_blocking", "ping-pong blocking", "us"),
    ("udp_spinning", "spinning", "us"),
)
# Of programs that do not say how much payload they move.
UNCOPIED_CASES = ("verbs_lat", "handle_lat", "context_lat", "ucx_lat")
FORMATS = {
    "gbit_per_s": lambda value: f"{value:.1f} Gb/s",
    "messages_per_s": lambda value: f"{value / 1e6:.3f} M/s",
    "messages_per_core_s": lambda value: f"{value / 1e6:.3f} M/s",
    "us": lambda value: f"{value:.1f} us",
    "round_us": lambda value: f"{value:.1f} us",
    "connections_per_s": lambda value: f"{value:.0f} /s",
    "calls_per_s": lambda value: f"{value:.0f} /s",
}
PERCENTILES = {"us": "p99_us", "round_us": "round_p99_us"}
QP_COUNTS = (100, 1000, 10000)
QP_CASES = ("qps_1", *(f"qps_{count}" for count in QP_COUNTS))
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

    def cell(self, case, value):
        """The median; of a time, its 99th percentile behind it."""
        text = FORMATS[value](self.median(case, value))
        if value in PERCENTILES:
            text += f" ({self.median(case, PERCENTILES[value]):.1f})"
        return text

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


def own_text(samples, case, value):
    if case not in WHOLE_CASES:
        return samples.cell(case, value)
    whole, words = WHOLE_CASES[case]
    ratio = samples.median(case, value) / samples.median(whole, value)
    return f"{samples.cell(case, value)}, {ratio:.2f} {words}"


def direct_name(case):
    """The name of the case on the direct path."""
    return f"{case}_direct"


def names_on_paths(cases):
    """The cases, each on all paths that it is measured on."""
    return tuple(name for case in cases for name in
                 ((case, direct_name(case)) if case in DIRECT_CASES else (case,)))


def path_cells(samples, name, row):
    """A row's case on one path, `name`: its number, the ratios to TCP and raw UDP, its CPU time."""
    case, _, value, udp_cases = row
    ours = lambda: samples.median(name, value)
    tcp = TCP_CASES.get(case)
    return [
        samples.text(lambda: own_text(samples, name, value)),
        samples.text(lambda: f"{ours() / samples.median(tcp, value):.2f}") if tcp else NOTHING,
        samples.text(lambda: ratio_text(ours(), [samples.median(udp_case, value)
                                                 for udp_case in udp_cases]))
        if udp_cases else NOTHING,
        samples.text(lambda: f"{samples.median(name, 'cpu_s_per_gib'):.2f}")
        if value == "gbit_per_s" else NOTHING]


def direct_cells(samples, row):
    name = direct_name(row[0])
    if row[0] not in DIRECT_CASES:
        return [NOTHING] * 4
    if name in samples.result["absent"]:
        is_there = row[0] not in samples.result["absent"]
        return [NOT_BUILT if is_there else NOTHING, NOTHING, NOTHING, NOTHING]
    return path_cells(samples, name, row)


def copies_text(samples, case, value):
    if value in ("connections_per_s", "calls_per_s") or case.startswith("rpc_") \
            or case.endswith("_local") or case in UNCOPIED_CASES:
        return NOTHING
    return samples.text(lambda: f"{samples.copies(case):.1f}")


def case_row(samples, row):
    case, label, value, udp_cases = row
    own, to_tcp, to_udp, cpu = path_cells(samples, case, row)
    tcp = TCP_CASES.get(case)
    return [
        label, own,
        samples.text(lambda: samples.cell(tcp, value)) if tcp else NOTHING, to_tcp,
        samples.text(lambda: " / ".join(samples.cell(udp_case, value) for udp_case in udp_cases))
        if udp_cases else NOTHING, to_udp, cpu,
        samples.text(lambda: f"{samples.median('tcp', 'cpu_s_per_gib'):.2f}")
        if value == "gbit_per_s" else NOTHING,
        samples.text(lambda: f"{samples.per_message(case, 'wakeups'):.3g}"),
        samples.text(lambda: calls_text(samples.system_calls(case))),
        copies_text(samples, case, value), *direct_cells(samples, row)]


def calls_text(calls):
    return NOTHING if calls is None else f"{calls:.3g}"


def cost_text(samples):
    """What a message costs with one QP, and how many times as much with more."""
    return cost_on_path(samples, lambda case: case)


def direct_cost_text(samples):
    return cost_on_path(samples, direct_name)


def cost_on_path(samples, name):
    cost = lambda count: samples.median(name(f"qps_{count}"), "cpu_us_per_message")
    more = [f"{cost(count) / cost(1):.2f} times as much with {count:,}"
            for count in QP_COUNTS if name(f"qps_{count}") not in samples.result["absent"]]
    return f"{cost(1):.2f} us with 1 QP, {', '.join(more)}"


def two_users_text(samples):
    of_two = lambda name: samples.median("two_users_64k", name)
    return (f"{of_two('gbit_per_s'):.1f} Gb/s together, the smaller share "
            f"{of_two('smaller_share'):.2f} (one alone "
            f"{samples.median('user_write_64k', 'gbit_per_s'):.1f} Gb/s)")


def user_names(case):
    """The names of the case by an ordinary user: on root's daemons, and on daemons of that user."""
    return f"user_{case}", f"own_{case}"


def user_share(samples, case, value):
    """How fast the case is on root's daemons, as a share of how fast it is on the user's own."""
    roots, own = (samples.median(name, value) for name in user_names(case))
    return own / roots if value in PERCENTILES else roots / own


def user_shares_text(samples):
    return "; ".join(", ".join(f"{label} {user_share(samples, case, value):.2f}"
                               for case, label in cases) for value, cases in USER_SHARES)


def first_completion_text(samples):
    ms = lambda name: samples.median("first_completion", name)
    return (f"{ms('no_daemon_ms'):.1f} ms without a daemon, {ms('daemon_ms'):.1f} ms with one, the "
            f"next program {ms('next_ms'):.1f} ms")


def memory_text(measurement):
    def text(samples):
        mib = lambda name: samples.memory_kib(measurement, name) / KIB_PER_MIB
        return f"{mib('rss'):.1f} MiB resident ({mib('pss'):.1f} MiB its share)"

    return text


def device_text(samples):
    samples.require("device process")
    return memory_text("device_kib")(samples)


def qp_memory_text(samples):
    def text(prefix):
        kib = lambda name: samples.memory_kib("memory", prefix + name)
        return (f"{kib('kib_per_qp'):.1f} KiB, and {kib('cq_kib_per_qp'):.1f} KiB of completion "
                "queues")

    shared = text("")
    has_direct = "direct_kib_per_qp" in samples.result["memory"]
    return f"{shared}; direct {text('direct_')}" if has_direct else shared


# label, what must be measured, one cell that says all
SENTENCES = (
    ("... of two users at once", ("two_users_64k", "user_write_64k"), two_users_text),
    ("ordinary users on root's daemons, of what they get on their own",
     tuple(name for case in USER_CASES for name in user_names(case)), user_shares_text),
    ("CPU time of an 8 B WRITE", QP_CASES, cost_text),
    ("... on the direct path", tuple(map(direct_name, QP_CASES)), direct_cost_text),
    ("start of `rnic-run` to the first completion", ("first_completion",), first_completion_text),
    ("memory of an idle daemon", ("idle_kib",), memory_text("idle_kib")),
    ("... with an idle program", ("family_kib",), memory_text("family_kib")),
    ("... of which its device process", ("device_kib",), device_text),
    ("memory per QP, 128 entries deep", ("memory",), qp_memory_text),
)


def is_wanted(only, *names):
    return not only or any(re.search(only, name) for name in names)


def rows_of(samples, only):
    blanks = [NOTHING] * (len(HEADER) - 2)
    rows = [case_row(samples, row) for row in ROWS if is_wanted(only, *row[:2])]
    return rows + [[label, samples.text(lambda make=make: make(samples)), *blanks]
                   for label, names, make in SENTENCES if is_wanted(only, label, *names)]


def names_of_row(case, value, udp_cases):
    names = {*names_on_paths([case]), *udp_cases}
    if value == "gbit_per_s":
        names.add("tcp")
    if case in TCP_CASES:
        names.add(TCP_CASES[case])
    if case in WHOLE_CASES:
        names.add(WHOLE_CASES[case][0])
    return names


def names_of_rows(only):
    """What must be measured for the rows whose names match the expression; None: for all rows."""
    names = set()
    for case, label, value, udp_cases in ROWS:
        if is_wanted(only, case, label):
            names |= names_of_row(case, value, udp_cases)
    for label, needed, _ in SENTENCES:
        if is_wanted(only, label, *needed):
            names.update(needed)
    return names


def markdown(rows):
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + " --- |" * len(HEADER))
    return "\n".join(lines)


def names_by_reason(reasons):
    names = {}
    for name, why in reasons.items():
        names.setdefault(why, []).append(name)
    return names


def spread(result):
    """How far the baselines' rounds lie apart: how much of a ratio the machine may have made."""
    parts = []
    for case, label, value in BASELINES:
        values = [sample[value] for sample in result["samples"].get(case, [])]
        if values:
            parts.append(f"{label} {FORMATS[value](min(values))} to {FORMATS[value](max(values))}")
    return f"Between rounds the machine itself varied: {', '.join(parts)}." if parts else ""


def notes(result):
    machine = result["machine"]
    return (f"Medians of {result['rounds']} rounds on {machine['cpus']} x {machine['cpu']}, "
            f"Linux {machine['kernel']}: two network namespaces, a veth with MTU 9000, one rnicd "
            "in each. TCP is one stream of iperf3. Beside an RPC it is the same protocol buffers "
            "echoed over a connection, and the time is a whole round trip. Beside ucx_perftest it "
            "is the same program on UCX's TCP. A ratio is rnicd's number divided by the other's. "
            "Raw UDP is a stream of one thread a side with UDP_SEGMENT and UDP_GRO, first in plain "
            "segments of 4 KiB, then with what every RNIC over UDP sockets must do: 24 B of "
            "headers and ICRC in each segment, which the sender computes and the receiver checks, "
            "and a copy of the payload by the receiver. Beside the message rate the segments have "
            "40 B. Beside latencies raw UDP is a ping-pong of 64 B, blocking / spinning. Latencies "
            "are medians of half a round trip, those of `ib_read_lat` and the ping-pong beside it "
            "of a whole one, with the 99th percentile in brackets. `rnicd --fault drop=1%` at both "
            "ends loses the packets that are lost. CPU time is that of both daemons and both "
            "programs. For the CPU time of an 8 B WRITE a program writes to all its queue pairs in "
            "turn, with 128 messages under way; what it takes to make the queue pairs is not in "
            "it. Wake-ups and system calls are "
            "those of both daemons, per message or connection; copies are how often daemons and "
            "kernel copy a byte of payload. A connection is opened and closed, with a queue pair "
            "at each end, by two programs over librdmacm. A daemon is rnicd with its device "
            "processes; the share of its memory is the proportional set size, which counts a page "
            "that n processes share as 1/n, with six daemons in all. On the direct path the device "
            "runs inside the programs, and each takes its turns in its own threads; what it is "
            "compared with is the same. Messages per core are those that one core at each end "
            "makes in a second, by the CPU time of both ends. What ordinary users get on root's "
            "daemons is a share of what the same program gets on daemons of the same user, right "
            "after: a share of 1 is as fast, and less than 1 is slower, also for latencies.")


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("samples")
    parser.add_argument("--json", help="also write the samples and the table there")
    arguments = parser.parse_args(words)
    result = json.loads(pathlib.Path(arguments.samples).read_text())
    samples = Samples(result)
    rows = rows_of(samples, result["only"])
    print(markdown([list(HEADER), *rows]))
    print()
    print(notes(result))
    print(spread(result))
    for why, names in names_by_reason({**result["absent"], **result["failures"]}).items():
        print(f"\n{', '.join(names)}: {why}")
    if arguments.json:
        document = {**result, "table": [dict(zip(HEADER, row)) for row in rows]}
        pathlib.Path(arguments.json).write_text(json.dumps(document, indent=1) + "\n")
    if samples.missing:
        print(f"table.py: missing: {', '.join(dict.fromkeys(samples.missing))}", file=sys.stderr)
    return 1 if samples.missing else 0


if __name__ == "__main__":
    sys.exit(main())
