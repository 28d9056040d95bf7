# SPDX-License-Identifier: MIT
"""What is measured: plain TCP and UDP, and on our RNICs Debian's perftest and connection_load. Each
case runs once when called and returns one sample, a dict of numbers."""

import json
import os
import re
import shutil
import subprocess
import tempfile

from bench_host import (READY_S, Absent, Account, OnPath, RunFailed, finish_all,
                        mapping_kib_of)
from table import names_on_paths

GIB = 1 << 30
PERFTEST_PORT = 18515
PERFTEST_BATCH = 100
CONNECTION_PORT = 7471
CONNECTIONS_PER_S = 2000  # at a guess
IPERF_PORT = 5201
RPC_PORT = 7794
QUEUES_PORT = 7795
RPC_AT_ONCE = 100
SEGMENT_BYTES = 4096
# BTH, RETH, 8 bytes of payload and the ICRC.
SMALL_SEGMENT_BYTES = 12 + 16 + 8 + 4
CQ_MAPPING = "/memfd:rnic-cq"
QUEUES_MAPPING = "/memfd:rnic-queues"
# What the daemons are asked to be counted for, but for what a kernel lacks.
SYSTEM_CALLS = ("sendmsg", "sendmmsg", "recvmsg", "recvmmsg", "io_uring_enter", "epoll_wait",
                "epoll_pwait", "epoll_pwait2", "poll", "ppoll", "read", "write", "pread64",
                "pwrite64", "preadv", "pwritev", "process_vm_readv", "process_vm_writev",
                "sched_yield")
ALL_SYSTEM_CALLS = "raw_syscalls:sys_enter"


class Bench:
    """The two hosts and how long one run shall last."""

    def __init__(self, left, right, baseline, seconds, lossy=None, own=None):
        """`lossy`: the same on a link that loses packets. `own`: the same with daemons of an
        ordinary user; None where an ordinary user cannot start daemons."""
        self.lossy = lossy
        self.own = own
        self.left = left
        self.right = right
        self.hosts = (left, right)
        self.baseline = baseline
        self.seconds = seconds
        self.is_quick = seconds < 1
        self.timeout = 60 + 10 * seconds

    def pair(self, server, client):
        """Both ends' output and CPU time, client first. `server` is up already."""
        try:
            (client_output, client_cpu), (server_output, server_cpu) = finish_all(
                (client, server), self.timeout)
        except RunFailed:
            server.stop()
            raise
        return client_output, server_output, client_cpu + server_cpu


def json_of(output):
    start = output.find("{")
    if start < 0:
        raise RunFailed(f"no JSON in \"{output.strip()[:80]}\"")
    return json.loads(output[start:])


def run_tcp(bench, *options):
    server = bench.right.start(["iperf3", "--server", "--one-off", "--port", IPERF_PORT])
    bench.right.wait_for_listener(server, IPERF_PORT, READY_S)
    client = bench.left.start(["iperf3", "--client", bench.right.address, "--port", IPERF_PORT,
                               "--time", max(1, round(bench.seconds)), "--json", *options])
    client_output, _, cpu_seconds = bench.pair(server, client)
    received = json_of(client_output)["end"]["sum_received"]
    return {"gbit_per_s": received["bits_per_second"] / 1e9,
            "cpu_s_per_gib": cpu_seconds / (received["bytes"] / GIB)}


def per_core_s(messages, cpu_seconds):
    """What one core at each end does in a second, of CPU seconds of both ends."""
    return messages / (cpu_seconds / 2)


def run_udp_stream(bench, segment_bytes, *more):
    options = ["--segment", segment_bytes, *more]
    server = bench.right.start([bench.baseline, "receive", *options])
    server.wait_for_line("ready", READY_S)
    client = bench.left.start([bench.baseline, "send", "--to", bench.right.address,
                               "--seconds", bench.seconds, *options])
    client_output, server_output, cpu_seconds = bench.pair(server, client)
    received = json_of(server_output)
    segments = received["received_bytes"] / segment_bytes
    lost = 1 - received["received_bytes"] / json_of(client_output)["sent_bytes"]
    return {"gbit_per_s": received["gbit_per_second"],
            "messages_per_s": received["segments_per_second"],
            "messages_per_core_s": per_core_s(segments, cpu_seconds),
            "lost_share": lost,
            "cpu_s_per_gib": cpu_seconds / (received["received_bytes"] / GIB)}


def run_udp_ping(bench, spin):
    options = ["--spin"] if spin else []
    server = bench.right.start([bench.baseline, "echo", *options])
    server.wait_for_line("ready", READY_S)
    rounds = int(bench.seconds * (50000 if spin else 10000))
    client = bench.left.start([bench.baseline, "ping", "--to", bench.right.address,
                               "--rounds", rounds, *options])
    client_output, _, _ = bench.pair(server, client)
    answer = json_of(client_output)
    return {"us": answer["median_us"], "average_us": answer["average_us"],
            "p99_us": answer["p99_us"],
            "round_us": 2 * answer["median_us"], "round_p99_us": 2 * answer["p99_us"]}


def whole_batches(iterations):
    """perftest asks for every hundredth completion and counts each for a hundred. With several QPs
    and another number of iterations it may stop to poll while it still has to post, for ever."""
    return max(1, round(iterations / PERFTEST_BATCH)) * PERFTEST_BATCH


class Perftest(OnPath):
    """One perftest program with its arguments, from one host to the other, or to a program on the
    same device, on one of the paths. Bandwidth and rate, or latency."""

    def __init__(self, program, size, qps=1, arguments=(), uid=None, port=PERFTEST_PORT,
                 is_local=False):
        self.program = program
        self.size = size
        self.qps = qps
        self.arguments = list(arguments)
        self.uid = uid
        self.port = port
        self.is_local = is_local
        self.is_latency = program.endswith("_lat")
        # Messages of an iteration. perftest halves the time of a ping-pong, and not that of a READ.
        self.trips = 1 if program == "ib_read_lat" else 2
        self.iterations = None

    def server_host(self, bench):
        return bench.left if self.is_local else bench.right

    def command(self, bench, iterations, peer=None):
        command = [self.program, "-F", "-s", self.size, "-n", iterations, "-p", self.port]
        if not self.is_latency:
            command += ["-N", "--report_gbits", "-q", self.qps]
        host = bench.left if peer else self.server_host(bench)
        command += ["-x", host.ipv4_gid_index(), *self.arguments]
        return command + [peer] if peer else command

    def start_pair(self, bench, iterations, wrapper=()):
        server = self.start_server(bench, iterations)
        return server, self.start_client(bench, iterations, wrapper)

    def start_server(self, bench, iterations):
        host = self.server_host(bench)
        server = host.start_verbs(self.command(bench, iterations), uid=self.uid, path=self.path)
        host.wait_for_listener(server, self.port, READY_S)
        return server

    def start_client(self, bench, iterations, wrapper=()):
        command = self.command(bench, iterations, self.server_host(bench).address)
        return bench.left.start_verbs(command, wrapper, self.uid, path=self.path)

    def measure(self, bench, iterations):
        account = Account(bench.hosts)
        output, _, cpu_seconds = bench.pair(*self.start_pair(bench, iterations))
        sample = {**account.close(), **self.parse(output), "program_cpu_s": cpu_seconds}
        sample["payload_bytes"] = sample["messages"] * self.size
        total = cpu_seconds + sample["daemon_cpu_s"]
        sample["cpu_s_per_gib"] = total / (sample["payload_bytes"] / GIB)
        sample["messages_per_core_s"] = per_core_s(sample["messages"], total)
        return sample

    def parse(self, output):
        """The numbers of the line under "#bytes", whose columns perftest names above it."""
        match = re.search(r"^\s*#bytes\s+#iterations.*\n\s*(\d[-na\d. \t]+)$", output, re.M)
        if not match:
            raise RunFailed(f"{self.program} printed no result")
        cells = [float(cell) for cell in match.group(1).split()]
        if cells[3] <= 0:
            raise RunFailed(f"{self.program} measured nothing")
        if self.is_latency:
            way = "round_" if self.trips == 1 else ""
            return {"messages": self.trips * cells[1], f"{way}us": cells[4],
                    "average_us": cells[5], f"{way}p99_us": cells[7]}
        return {"messages": cells[1], "gbit_per_s": cells[3], "messages_per_s": cells[4] * 1e6}

    def iterations_for(self, bench):
        """How many iterations last as long as the bench wants: found by a short run, once."""
        trial = 1000 if self.is_latency else whole_batches(min(5000, (64 << 20) // self.size))
        if bench.is_quick:
            return trial
        if self.iterations is None:
            sample = self.measure(bench, trial)
            if self.is_latency:
                per_second = 1e6 / (self.trips * sample["average_us"])
            else:
                per_second = sample["messages_per_s"] / self.qps
                per_second = per_second or sample["gbit_per_s"] * 1e9 / 8 / self.size / self.qps
            self.iterations = max(trial, whole_batches(per_second * bench.seconds))
        return self.iterations

    def run(self, bench):
        return self.measure(bench, self.iterations_for(bench))

    def count_system_calls(self, bench):
        return count_system_calls(self, bench, whole_batches(self.iterations_for(bench) / 2))


class OnLossyLink(Perftest):
    """On the link that loses packets."""

    def run(self, bench):
        return super().run(bench.lossy)

    def count_system_calls(self, bench):
        return super().count_system_calls(bench.lossy)


class Connections(OnPath):
    """How many connections can be opened and closed in a second, `at_once` of them under way, from
    one host to the other or to itself."""

    def __init__(self, at_once, is_local=False):
        self.at_once = at_once
        self.is_local = is_local

    def start_pair(self, bench, count, wrapper=()):
        target = bench.left if self.is_local else bench.right
        load = bench.left.build / "tests/connection_load"
        server = target.start_verbs([load, "serve", target.address, CONNECTION_PORT, count],
                                    path=self.path)
        server.wait_for_line("ready", READY_S)
        client = bench.left.start_verbs([load, "connect", target.address, CONNECTION_PORT, count,
                                         self.at_once], wrapper, path=self.path)
        return server, client

    def parse(self, output):
        answer = json_of(output)
        return {"messages": answer["connections"],
                "connections_per_s": answer["connections_per_second"]}

    def run(self, bench):
        account = Account(bench.hosts)
        count = round(bench.seconds * CONNECTIONS_PER_S)
        output, _, cpu_seconds = bench.pair(*self.start_pair(bench, count))
        return {**account.close(), **self.parse(output), "program_cpu_s": cpu_seconds}

    def count_system_calls(self, bench):
        return count_system_calls(self, bench, round(bench.seconds * CONNECTIONS_PER_S / 2))


class Calls(OnPath):
    """Remote procedure calls of 64 B, `at_once` of them under way; or, as what they are compared
    with, the same messages echoed over TCP."""

    def __init__(self, way, at_once):
        self.way = way
        self.at_once = at_once

    def start_pair(self, bench, seconds, wrapper=()):
        program = bench.left.build / "tests/rpc_bench"
        is_tcp = self.way == "tcp"
        serve = [program, "serve", "tcp" if is_tcp else "rdma", RPC_PORT]
        call = [program, "call", self.way, bench.right.address, RPC_PORT, seconds, self.at_once]
        server = (bench.right.start(serve) if is_tcp
                  else bench.right.start_verbs(serve, path=self.path))
        server.wait_for_line("ready", READY_S)
        if is_tcp:
            return server, bench.left.start(call, wrapper)
        return server, bench.left.start_verbs(call, wrapper, path=self.path)

    def parse(self, output):
        answer = json_of(output)
        return {"messages": answer["calls"], "us": answer["median_us"],
                "p99_us": answer["p99_us"], "calls_per_s": answer["calls_per_second"]}

    def run(self, bench):
        account = Account(bench.hosts)
        output, _, cpu_seconds = bench.pair(*self.start_pair(bench, bench.seconds))
        return {**account.close(), **self.parse(output), "program_cpu_s": cpu_seconds}

    def count_system_calls(self, bench):
        return count_system_calls(self, bench, bench.seconds / 2)


class Queues(OnPath):
    """Messages of 8 B to and fro between programs that poll two completion queues each, by the
    handle API, the context API or plain verbs."""

    def __init__(self, way):
        self.way = way

    def start_pair(self, bench, seconds, wrapper=()):
        program = bench.left.build / "tests/queues_bench"
        server = bench.right.start_verbs([program, "serve", self.way, QUEUES_PORT],
                                         path=self.path)
        server.wait_for_line("ready", READY_S)
        client = bench.left.start_verbs([program, "call", self.way, bench.right.address,
                                         QUEUES_PORT, seconds], wrapper, path=self.path)
        return server, client

    def parse(self, output):
        answer = json_of(output)
        return {"messages": answer["messages"], "us": answer["median_us"],
                "average_us": answer["average_us"], "p99_us": answer["p99_us"]}

    def run(self, bench):
        account = Account(bench.hosts)
        output, _, cpu_seconds = bench.pair(*self.start_pair(bench, bench.seconds))
        return {**account.close(), **self.parse(output), "program_cpu_s": cpu_seconds}

    def count_system_calls(self, bench):
        return count_system_calls(self, bench, bench.seconds / 2)


def count_system_calls(case, bench, iterations):
    """System calls of both daemons by name, per message; a run of its own, for counting costs
    time. perf also counts the device processes that start later."""
    for host in bench.hosts:
        host.wake_device(getattr(case, "uid", None))
    with tempfile.NamedTemporaryFile("r") as report:
        wrapper = ["perf", "stat", "-x,", "-o", report.name, "-e",
                   ",".join([ALL_SYSTEM_CALLS,
                             *filter(has_tracepoint, (f"syscalls:sys_enter_{name}"
                                                      for name in SYSTEM_CALLS))]),
                   "-p", ",".join(str(pid) for host in bench.hosts for pid in host.family()), "--"]
        output, _, _ = bench.pair(*case.start_pair(bench, iterations, wrapper))
        counts = parse_perf(report.read())
    messages = case.parse(output)["messages"]
    return {name: count / messages for name, count in counts.items() if count}


def why_uncounted():
    """Why this machine cannot count system calls; None where it can."""
    if not shutil.which("perf"):
        return "perf is not installed"
    if not has_tracepoint(ALL_SYSTEM_CALLS):
        return f"this kernel shows no tracepoint {ALL_SYSTEM_CALLS}"
    return None


def has_tracepoint(event):
    """`event` is system:name, as perf writes it."""
    return any(os.path.exists(f"{root}/events/{event.replace(':', '/')}")
               for root in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing"))


def parse_perf(report):
    """perf stat -x, prints: count,unit,event,..."""
    counts = {}
    for line in report.splitlines():
        fields = line.split(",")
        if len(fields) > 2 and fields[0].isdigit():
            name = fields[2].rsplit("sys_enter", 1)[1].lstrip("_") or "all"
            counts[name] = int(fields[0])
    return counts


def daemon_kib(bench, _):
    return {"total": bench.left.memory_kib()["rss"],
            "cqs": bench.left.resident_kib_of(CQ_MAPPING)}


def program_kib(_, pid):
    """The share of a program: of queues, of completion queues, and of its heap, where a device
    inside it has its objects."""
    found = {name: mapping_kib_of(pid, mapping, "Pss")
             for name, mapping in (("cqs", CQ_MAPPING), ("queues", QUEUES_MAPPING),
                                   ("heap", "[heap]"))}
    return {"total": sum(found.values()), **found}


def peak_memory(bench, qps, path, look):
    """What `look` finds at the peak of its total, while a program has so many QPs 128 deep and
    traffic both ways on all."""
    case = Perftest("ib_send_bw", 4096, qps, ["-b", "-t", "128", "-r", "128"]).on_path(path)
    server, client = case.start_pair(bench, 1000)
    peak = {"total": 0}
    while client.process.poll() is None:
        peak = max(peak, look(bench, client.process.pid), key=lambda found: found["total"])
        try:
            client.process.wait(0.02)
        except subprocess.TimeoutExpired:
            continue
    bench.pair(server, client)
    return peak


def growth_per_qp(bench, qps, path, look):
    """What `qps` more QPs add to each number, for one of them."""
    few = peak_memory(bench, 1, path, look)
    many = peak_memory(bench, 1 + qps, path, look)
    return {name: (many[name] - few[name]) / qps for name in many}


def run_memory(bench, qps):
    """What one more QP costs a daemon; its entries in completion queues apart. The daemon must be
    new, for memory that was freed once hides what is allocated again, and its packet buffers in
    use, for they would seem to belong to the QPs. On the direct path: the queues, and by how much
    more the heap of the program grows than on the shared one."""
    bench.pair(*Perftest("ib_write_bw", 1 << 20, 1, ["-b"]).start_pair(bench, 300))
    daemon = growth_per_qp(bench, qps, "shared", daemon_kib)
    sample = {"qps": qps, "kib_per_qp": daemon["total"] - daemon["cqs"],
              "cq_kib_per_qp": daemon["cqs"]}
    try:
        direct = growth_per_qp(bench, qps, "direct", program_kib)
    except Absent:
        return sample
    shared = growth_per_qp(bench, qps, "shared", program_kib)
    sample["direct_kib_per_qp"] = direct["queues"] + direct["heap"] - shared["heap"]
    sample["direct_cq_kib_per_qp"] = direct["cqs"]
    return sample


BASELINES = {
    "tcp": run_tcp,
    "udp_gso": lambda bench: run_udp_stream(bench, SEGMENT_BYTES),
    "udp_icrc": lambda bench: run_udp_stream(bench, SEGMENT_BYTES, "--icrc"),
    "udp_small": lambda bench: run_udp_stream(bench, SMALL_SEGMENT_BYTES),
    "udp_blocking": lambda bench: run_udp_ping(bench, False),
    "udp_spinning": lambda bench: run_udp_ping(bench, True),
    "rpc_tcp_lat": Calls("tcp", 1).run,
    "rpc_tcp_rate": Calls("tcp", RPC_AT_ONCE).run,
}

VERBS = {
    "write_64k": Perftest("ib_write_bw", 65536),
    "write_1m": Perftest("ib_write_bw", 1 << 20),
    "read_64k": Perftest("ib_read_bw", 65536),
    "send_64k": Perftest("ib_send_bw", 65536),
    "write_64k_lossy": OnLossyLink("ib_write_bw", 65536),
    "write_64k_local": Perftest("ib_write_bw", 65536, is_local=True),
    "write_rate": Perftest("ib_write_bw", 8, 16),
    "write_lat": Perftest("ib_write_lat", 8),
    "send_lat": Perftest("ib_send_lat", 8),
    "send_lat_events": Perftest("ib_send_lat", 8, arguments=["-e"]),
    "read_lat": Perftest("ib_read_lat", 8),
    "send_lat_local": Perftest("ib_send_lat", 8, is_local=True),
    "handle_lat": Queues("handle"),
    "context_lat": Queues("context"),
    "verbs_lat": Queues("verbs"),
    "connect": Connections(1),
    "connect_many": Connections(100),
    "connect_local": Connections(1, is_local=True),
    "connect_local_many": Connections(100, is_local=True),
    "rpc_ud_lat": Calls("ud", 1),
    "rpc_rc_lat": Calls("rc", 1),
    "rpc_ud_rate": Calls("ud", RPC_AT_ONCE),
    "rpc_rc_rate": Calls("rc", RPC_AT_ONCE),
}
# What machines do changes by the minute, so each of ours runs near what it is compared with.
ORDER = names_on_paths((
    "tcp", "udp_gso", "udp_icrc", "write_64k", "write_64k_lossy", "write_1m", "read_64k",
    "send_64k", "write_64k_local", "udp_small", "write_rate", "qps_1", "qps_100", "qps_1000",
    "qps_10000", "udp_blocking", "udp_spinning", "write_lat", "send_lat", "send_lat_events",
    "read_lat", "send_lat_local", "verbs_lat", "handle_lat", "context_lat", "ucx_tcp_lat",
    "ucx_lat", "connect", "connect_many", "connect_local", "connect_local_many", "rpc_tcp_lat",
    "rpc_ud_lat", "rpc_rc_lat", "rpc_tcp_rate", "rpc_ud_rate", "rpc_rc_rate"))
