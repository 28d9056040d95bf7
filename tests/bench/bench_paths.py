#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What paths with a round trip carry, compared with TCP in the same delay. run.sh calls it.

    bench_paths.py paths|loss-map|crowds --build DIR [--quick] [--rounds N] [--only REGEX]
                   [--json FILE]

paths: WRITE, SEND and READ of 64 KiB over round trips, both MTUs, both paths, daemons of root and
of an ordinary user. loss-map: WRITE and READ where packets are lost. crowds: programs and hosts
that share a path. Prints a table in Markdown. Exit status: 1 when a number is missing."""

import argparse
import contextlib
import json
import pathlib
import re
import signal
import statistics
import sys

from bench_cases import Bench, Perftest, run_tcp
from bench_family import USERS
from bench_host import PATHS, Absent, RunFailed, finish_all
from bench_wire import Lab

MESSAGE_BYTES = 65536
DEPTH = 512
ROUND_TRIPS_MS = (0, 0.2, 1, 10, 40, 100)
MTUS = (9000, 1500)
OPERATIONS = ("write", "send", "read")
LOSSES = (0, 0.01, 0.1, 1, 5)
LOSS_OPERATIONS = ("write", "read")
LOSS_ROUND_TRIPS_MS = (0.05, 1, 10, 40, 100)
START_ROUND_TRIPS = 20  # until a path is known; what comes before is not counted
SENDERS = 8
MANY_QPS = 1000
BOTTLENECK_MS = 10
BOTTLENECK = ("--round-trip", BOTTLENECK_MS, "--rate", 10**9, "--queue", 10**9 // 8 // 400)
FIRST_PORT = 18600


class Timed(Perftest):
    """perftest for a time instead of a number of messages, with much posted."""

    def __init__(self, operation, round_trip_ms, seconds, path="shared", qps=1, depth=DEPTH,
                 uid=None, port=FIRST_PORT):
        arguments = ["-t", depth] + (["-r", depth] if operation == "send" else [])
        super().__init__(f"ib_{operation}_bw", MESSAGE_BYTES, qps, arguments, uid, port)
        self.path = path
        self.margin_s = margin_s(round_trip_ms)
        self.duration_s = max(1, round(seconds)) + 2 * self.margin_s

    def command(self, bench, iterations, peer=None):
        words = super().command(bench, iterations, peer)
        at = words.index("-n")
        return [*words[:at], "-D", self.duration_s, "-f", self.margin_s, *words[at + 2:]]

    def gbit_per_s(self, bench):
        output, _, _ = bench.pair(*self.start_pair(bench, None))
        return self.parse(output)["gbit_per_s"]


def margin_s(round_trip_ms):
    return max(1, round(START_ROUND_TRIPS * round_trip_ms / 1000))


def pair(lab, ends, seconds, uid=None):
    left, right = (lab.host(where, device, address, uid)
                   for (where, device), address in zip(ends, ("10.79.0.1", "10.79.0.2")))
    return Bench(left, right, None, seconds)


@contextlib.contextmanager
def hosts_on_a_wire(options, mtu, *wire_options, uid=None):
    with Lab(options.build) as lab:
        ends = [(lab.namespace(), "wire0"), (lab.namespace(), "wire1")]
        lab.wire(ends, mtu, *wire_options)
        yield pair(lab, ends, options.seconds, uid)


class Samples:
    """Numbers by what was measured, with what failed."""

    def __init__(self, options):
        self.options = options
        self.values = {}
        self.failures = {}
        self.absent = {}

    def is_wanted(self, key):
        return re.search(self.options.only, " ".join(map(str, key))) is not None

    def take(self, key, measure):
        if not self.is_wanted(key):
            return
        print("  " + " ".join(map(str, key)), file=sys.stderr, flush=True)
        try:
            self.values.setdefault(key, []).append(measure())
        except Absent as reason:
            self.absent[key] = str(reason)
        except (RunFailed, OSError, KeyError, ValueError) as failure:
            self.failures[key] = str(failure)
            print(f"  failed: {failure}", file=sys.stderr, flush=True)

    def median(self, key):
        values = self.values.get(key)
        return statistics.median(values) if values else None

    def has_any(self, keys):
        return any(key in self.values or key in self.failures for key in keys)


def number(value, digits=2):
    return "–" if value is None else f"{value:.{digits}f}"


def ratio(value, other):
    return "–" if value is None or not other else f"{value / other:.2f}"


def markdown(header, rows):
    lines = ["| " + " | ".join(row) + " |" for row in (header, *rows)]
    lines.insert(1, "|" + "---|" * len(header))
    return "\n".join(lines)


# --- round trips ---

def tcp_key(mtu, round_trip_ms, loss=0):
    return ("tcp", mtu, f"{loss}%", round_trip_ms)


def take_tcp(samples, bench, key, round_trip_ms):
    samples.take(key, lambda: run_tcp(bench, "--omit", margin_s(round_trip_ms))["gbit_per_s"])


def measure_round_trip(samples, options, mtu, round_trip_ms):
    for who, uid in (("root", None), ("user", USERS[0])):
        keys = [(who, path, operation, mtu, round_trip_ms)
                for path in PATHS for operation in OPERATIONS]
        tcp = tcp_key(mtu, round_trip_ms)
        if not any(map(samples.is_wanted, (*keys, tcp))):
            continue
        with hosts_on_a_wire(options, mtu, "--round-trip", round_trip_ms, uid=uid) as bench:
            if uid is None:
                take_tcp(samples, bench, tcp, round_trip_ms)
            for key in keys:
                case = Timed(key[2], round_trip_ms, options.seconds, key[1], uid=uid)
                samples.take(key, lambda case=case: case.gbit_per_s(bench))


def best_of(samples, key):
    """What the posted work allows in a round trip, or the path without one, if that is less."""
    *who, round_trip_ms = key
    without = samples.median((*who, 0))
    if round_trip_ms == 0 or without is None:
        return without
    return min(without, DEPTH * MESSAGE_BYTES * 8 / (round_trip_ms * 1e6))


def round_trip_row(samples, mtu, round_trip_ms, who, path):
    keys = [(who, path, operation, mtu, round_trip_ms) for operation in OPERATIONS]
    tcp = samples.median(tcp_key(mtu, round_trip_ms))
    values = [samples.median(key) for key in keys]
    return [str(mtu), f"{round_trip_ms} ms", who, path, *map(number, values), number(tcp),
            " / ".join(ratio(value, best_of(samples, key)) for key, value in zip(keys, values)),
            " / ".join(ratio(value, tcp) for value in values)]


def run_paths(samples, options):
    for _ in range(options.rounds):
        for mtu in MTUS:
            for round_trip_ms in ROUND_TRIPS_MS:
                measure_round_trip(samples, options, mtu, round_trip_ms)
    header = ["MTU", "round trip", "daemons of", "path", "WRITE", "SEND", "READ", "TCP",
              "of what is posted, or of no round trip", "to TCP"]
    rows = [round_trip_row(samples, mtu, round_trip_ms, who, path)
            for mtu in MTUS for round_trip_ms in ROUND_TRIPS_MS
            for who in ("root", "user") for path in PATHS
            if samples.has_any([(who, path, operation, mtu, round_trip_ms)
                                for operation in OPERATIONS])]
    return markdown(header, rows)


# --- losses ---

def loss_key(operation, loss, round_trip_ms):
    return (operation, f"{loss}%", round_trip_ms)


def run_loss_map(samples, options):
    for _ in range(options.rounds):
        for loss in LOSSES:
            for round_trip_ms in LOSS_ROUND_TRIPS_MS:
                measure_loss(samples, options, loss, round_trip_ms)
    rows = [[f"{loss} %", operation.upper(),
             *(loss_cell(samples, operation, loss, ms) for ms in LOSS_ROUND_TRIPS_MS)]
            for loss in LOSSES for operation in LOSS_OPERATIONS]
    return markdown(["lost", "operation", *(f"{ms} ms" for ms in LOSS_ROUND_TRIPS_MS)], rows)


def measure_loss(samples, options, loss, round_trip_ms):
    keys = [loss_key(operation, loss, round_trip_ms) for operation in LOSS_OPERATIONS]
    tcp = tcp_key(9000, round_trip_ms, loss)
    if not any(map(samples.is_wanted, (*keys, tcp))):
        return
    # Cut into packets also where nothing is lost, so that the columns differ by loss alone.
    with hosts_on_a_wire(options, 9000, "--round-trip", round_trip_ms, "--loss", loss,
                         "--segments", "cut") as bench:
        for key in keys:
            case = Timed(key[0], round_trip_ms, options.seconds)
            samples.take(key, lambda case=case: case.gbit_per_s(bench))
        take_tcp(samples, bench, tcp, round_trip_ms)


def loss_cell(samples, operation, loss, round_trip_ms):
    own = samples.median(loss_key(operation, loss, round_trip_ms))
    tcp = samples.median(tcp_key(9000, round_trip_ms, loss))
    return f"{number(own, 3)} / {number(tcp, 3)} ({ratio(own, tcp)})"


# --- crowds ---

def at_once(cases_and_benches, timeout):
    """Gb/s of programs that run at the same time."""
    with contextlib.ExitStack() as running:
        servers, clients = [], []
        for case, bench in cases_and_benches:
            servers.append(case.start_server(bench, None))
            running.callback(servers[-1].stop)
        for case, bench in cases_and_benches:
            clients.append(case.start_client(bench, None))
            running.callback(clients[-1].stop)
        outputs = [output for output, _ in finish_all(clients + servers, timeout)]
        running.pop_all()
    return [case.parse(output)["gbit_per_s"]
            for (case, _), output in zip(cases_and_benches, outputs)]


def jain(speeds):
    return sum(speeds) ** 2 / (len(speeds) * sum(speed * speed for speed in speeds))


def star(lab, mtu, round_trips_ms):
    """A host on a bridge, and one host behind each wire; None: behind a veth. Returns the first,
    and the others."""
    hub = lab.namespace()
    hub_host = lab.namespace()
    lab.bridge(hub, "bridge", mtu)
    lab.link([(hub_host, "net0"), (hub, "port")], mtu)
    lab.join(hub, "bridge", "port")
    others = []
    for index, round_trip_ms in enumerate(round_trips_ms):
        where = lab.namespace()
        ends = [(hub, f"port{index}"), (where, "net0")]
        if round_trip_ms is None:
            lab.link(ends, mtu)
        else:
            lab.wire(ends, mtu, "--round-trip", round_trip_ms)
        lab.join(hub, "bridge", f"port{index}")
        others.append(lab.host(where, "net0", f"10.79.0.{index + 2}"))
    return lab.host(hub_host, "net0", "10.79.0.1"), others


def measure_incast(options, path):
    with Lab(options.build) as lab:
        receiver, senders = star(lab, 9000, [None] * SENDERS)
        benches = [Bench(sender, receiver, None, options.seconds) for sender in senders]
        cases = [Timed("write", 0, options.seconds, path, port=FIRST_PORT + index)
                 for index in range(SENDERS)]
        alone = cases[0].gbit_per_s(benches[0])
        speeds = at_once(list(zip(cases, benches)), benches[0].timeout * 2)
    return {"sum / one sender": sum(speeds) / alone, "Jain": jain(speeds)}


def measure_two_round_trips(options, path):
    """Two programs of one device, to hosts 1 and 40 ms away: of half of what each has alone."""
    round_trips_ms = (1, 40)
    with Lab(options.build) as lab:
        sender, receivers = star(lab, 9000, round_trips_ms)
        benches = [Bench(sender, receiver, None, options.seconds) for receiver in receivers]
        cases = [Timed("write", 40, options.seconds, path, port=FIRST_PORT + index)
                 for index in range(2)]
        alone = [case.gbit_per_s(bench) for case, bench in zip(cases, benches)]
        speeds = at_once(list(zip(cases, benches)), benches[0].timeout * 2)
    return {f"share of the one {ms} ms away": 2 * speed / one
            for ms, speed, one in zip(round_trips_ms, speeds, alone)}


def measure_bottleneck(options, path):
    """A line of 1 Gb/s with a queue of a quarter of what the path holds, alone and shared."""
    with hosts_on_a_wire(options, 9000, *BOTTLENECK) as bench:
        case = Timed("write", BOTTLENECK_MS, options.seconds, path)
        own = case.gbit_per_s(bench)
        found = {"Gb/s of WRITE": own, "% sent again": 100 * share_sent_again(bench.left)}
        for control in ("cubic", "bbr"):
            words = ("--omit", case.margin_s, "--congestion", control)
            found[f"WRITE / TCP of {control}, each alone"] = own / run_tcp(
                bench, *words)["gbit_per_s"]
            tcp, beside = beside_each_other(case, bench, words)
            found[f"share of WRITE beside TCP of {control}"] = beside / (beside + tcp)
    return found


def beside_each_other(case, bench, tcp_options):
    """Gb/s of a TCP stream and of a program beside it, both counted over the same seconds."""
    with contextlib.ExitStack() as running:
        server = case.start_server(bench, None)
        running.callback(server.stop)
        client = case.start_client(bench, None)
        running.callback(client.stop)
        tcp = run_tcp(bench, *tcp_options)["gbit_per_s"]
        (output, _), _ = finish_all((client, server), bench.timeout)
        running.pop_all()
    return tcp, case.parse(output)["gbit_per_s"]


def share_sent_again(host):
    counters = host.counters()
    return counters["retransmitted_pkts"] / max(1, counters["sent_pkts"])


def measure_lossless(options, path):
    """What is sent again where the wire loses nothing, by root's daemons and an ordinary user's."""
    found = {}
    for who, uid in (("root", None), ("user", USERS[0])):
        with hosts_on_a_wire(options, 9000, "--round-trip", BOTTLENECK_MS, uid=uid) as bench:
            Timed("write", BOTTLENECK_MS, options.seconds, path, uid=uid).gbit_per_s(bench)
            found[f"% sent again, {who}"] = 100 * share_sent_again(bench.left)
    return found


def measure_many_qps(options, path):
    with hosts_on_a_wire(options, 9000, "--round-trip", 10) as bench:
        bench.timeout *= 4  # perftest exchanges the numbers of one queue pair after the other
        one = Timed("write", 10, options.seconds, path).gbit_per_s(bench)
        many = Timed("write", 10, options.seconds, path, MANY_QPS, 4).gbit_per_s(bench)
    return {"1,000 queue pairs / one": many / one}


CROWDS = {
    "incast of 8 senders, no round trip": measure_incast,
    "two programs, 1 and 40 ms": measure_two_round_trips,
    "1,000 queue pairs, 10 ms": measure_many_qps,
    "line of 1 Gb/s, 10 ms, shallow queue": measure_bottleneck,
    "10 ms, nothing lost": measure_lossless,
}


def run_crowds(samples, options):
    rows = []
    for name, measure in CROWDS.items():
        for path in PATHS:
            for _ in range(options.rounds):
                samples.take((name, path), lambda: measure(options, path))
            found = samples.values.get((name, path), [])
            for what in found[0] if found else ():
                values = [sample[what] for sample in found]
                rows.append([name, path, what, number(statistics.median(values))])
    return markdown(["measured", "path", "what", "ratio"], rows)


WHATS = {"paths": run_paths, "loss-map": run_loss_map, "crowds": run_crowds}


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=WHATS)
    parser.add_argument("--build", required=True)
    parser.add_argument("--quick", action="store_true", help="a second for each number")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default=".", help="a regular expression over the rows' names")
    parser.add_argument("--json", help="also write all samples there")
    options = parser.parse_args()
    options.seconds = 1 if options.quick else 3
    options.rounds = 1 if options.quick else options.rounds
    return options


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was made is removed
    options = parse_arguments()
    samples = Samples(options)
    print(WHATS[options.what](samples, options))
    for key, why in {**samples.absent, **samples.failures}.items():
        print(f"\n{' '.join(map(str, key))}: {why}")
    if options.json:
        document = [{"row": key, "samples": values} for key, values in samples.values.items()]
        pathlib.Path(options.json).write_text(json.dumps(document, indent=1) + "\n")
    return 1 if samples.failures else 0


if __name__ == "__main__":
    sys.exit(main())
