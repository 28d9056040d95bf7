# SPDX-License-Identifier: MIT
"""What a message costs a program that has many queue pairs."""

import contextlib

from bench_cases import json_of
from bench_host import Absent, Account, OnPath
from table import names_on_paths

MANY_QPS_PORT = 7796
CONNECTED_S = 120  # ten thousand queue pairs take their time to be made
QUICK_QPS_MAX = 1000


class ManyQps(OnPath):
    """WRITEs of 8 B to so many queue pairs in turn. The CPU time is that of the messages alone,
    without that of making the queue pairs."""

    def __init__(self, count):
        self.count = count

    def start(self, host, mode, more=(), has_input=False):
        return host.start_verbs([host.build / "tests/many_qps", mode, MANY_QPS_PORT,
                                 host.ipv4_gid_index(), self.count, *more], has_input=has_input,
                                path=self.path)

    def run(self, bench):
        if bench.is_quick and self.count > QUICK_QPS_MAX:
            raise Absent("a quick run makes fewer queue pairs")
        with contextlib.ExitStack() as running:
            server = self.start(bench.right, "serve")
            running.callback(server.stop)
            server.wait_for_line("ready", CONNECTED_S)
            client = self.start(bench.left, "call", [bench.right.address, bench.seconds / 2], True)
            running.callback(client.stop)
            client.wait_for_line("connected", CONNECTED_S)
            account = Account(bench.hosts)
            answer = json_of(client.ask("go"))
            spent = account.close()
            bench.pair(server, client)
            running.pop_all()
        total = spent["daemon_cpu_s"] + answer["cpu_seconds"]
        return {**spent, "messages": answer["messages"], "program_cpu_s": answer["cpu_seconds"],
                "messages_per_s": answer["messages"] / answer["seconds"],
                "cpu_us_per_message": 1e6 * total / answer["messages"]}


QPS = {f"qps_{count}": ManyQps(count) for count in (1, 100, 1000, 10000)}
# Its queue pairs take longer to make than all else of a round.
ONCE = names_on_paths(("qps_10000",))
