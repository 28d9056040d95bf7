# SPDX-License-Identifier: MIT
"""What is measured of UCX: the same program over our verbs, and over TCP."""

import functools
import re
import shutil
import subprocess

from bench_cases import count_system_calls
from bench_host import READY_S, Absent, Account, OnPath, RunFailed

UCX_PORT = 13337
WARM_UP_ROUNDS = 100
TRIAL_ROUNDS = 1000
NETDEV = "bench0"
MEDIAN, P99 = 50, 99


@functools.cache
def ucx_perftest():
    """The words of the command. One that is built with MPI waits for mpirun without -P 0."""
    text = subprocess.run(["ucx_perftest", "-h"], capture_output=True, text=True,
                          check=False).stdout
    return ["ucx_perftest", *(["-P", 0] if "-P <0|1>" in text else [])]


class TagLatency(OnPath):
    """A ping-pong of 8 B by tag matching."""

    def __init__(self, is_tcp):
        self.is_tcp = is_tcp
        self.iterations = None

    def start(self, host, arguments, wrapper=()):
        settings = {"UCX_LOG_LEVEL": "error"}
        if self.is_tcp:
            settings.update(UCX_TLS="tcp,self", UCX_NET_DEVICES=NETDEV)
        else:
            # rc_verbs makes its connections over ud_verbs.
            settings.update(UCX_TLS="rc_verbs,ud_verbs,self", UCX_NET_DEVICES="rnic0:1",
                            UCX_IB_GID_INDEX=host.ipv4_gid_index())
        command = ["env", *(f"{name}={value}" for name, value in settings.items()),
                   *ucx_perftest(), "-p", UCX_PORT, *arguments]
        if self.is_tcp:
            return host.start(command, wrapper)
        return host.start_verbs(command, wrapper, path=self.path)

    def start_pair(self, bench, iterations, wrapper=(), rank=MEDIAN):
        server = self.start(bench.right, [])
        bench.right.wait_for_listener(server, UCX_PORT, READY_S)
        # -f and -v: one line of numbers with commas.
        client = self.start(bench.left, [bench.right.address, "-t", "tag_lat", "-s", 8,
                                         "-n", iterations, "-w", WARM_UP_ROUNDS, "-R", rank,
                                         "-f", "-v"], wrapper)
        return server, client

    def parse(self, output):
        """The line has the iterations, the percentile that was asked for, the average."""
        match = re.search(r"^(\d+),([\d.]+),([\d.]+),", output, re.M)
        if not match:
            raise RunFailed("ucx_perftest printed no result")
        return {"messages": 2 * int(match.group(1)), "us": float(match.group(2)),
                "average_us": float(match.group(3))}

    def iterations_for(self, bench):
        """For half the time that the bench wants: each percentile needs a run."""
        if bench.is_quick:
            return TRIAL_ROUNDS
        if self.iterations is None:
            output, _, _ = bench.pair(*self.start_pair(bench, TRIAL_ROUNDS))
            per_second = 1e6 / (2 * self.parse(output)["average_us"])
            self.iterations = max(TRIAL_ROUNDS, round(per_second * bench.seconds / 2))
        return self.iterations

    def run(self, bench):
        if not shutil.which("ucx_perftest"):
            raise Absent("ucx_perftest is not installed")
        iterations = self.iterations_for(bench)
        account = Account(bench.hosts)
        samples = [self.parse(bench.pair(*self.start_pair(bench, iterations, rank=rank))[0])
                   for rank in (MEDIAN, P99)]
        return {**account.close(), **samples[0], "p99_us": samples[1]["us"],
                "messages": sum(sample["messages"] for sample in samples)}


class VerbsTagLatency(TagLatency):
    def __init__(self):
        super().__init__(is_tcp=False)

    def count_system_calls(self, bench):
        return count_system_calls(self, bench, self.iterations_for(bench))


UCX = {"ucx_tcp_lat": TagLatency(is_tcp=True), "ucx_lat": VerbsTagLatency()}
