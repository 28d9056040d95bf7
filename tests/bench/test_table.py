#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The arithmetic of table.py, on numbers that are easy to follow."""

import copy
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from bench_cases import Perftest, parse_perf
from bench_host import RunFailed

TABLE = pathlib.Path(__file__).with_name("table.py")

BANDWIDTH_OUTPUT = """
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      5000             0.00               12.50\t\t   0.023842
---------------------------------------------------------------------------------------
"""
LATENCY_OUTPUT = (
    " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "
    "t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]\n"
    " 8       1000          4.00           90.00        5.50     \t       6.25        \t"
    "1.00\t\t9.00    \t\t20.00\n"
    "------------------------------------------------------------\n")


def verbs_sample(messages, size, **values):
    payload_bytes = messages * size
    return {"messages": messages, "payload_bytes": payload_bytes, "wakeups": messages / 4,
            "counters": {"sent_bytes": payload_bytes, "rcvd_bytes": payload_bytes}, **values}


def whole_result():
    bandwidth = [verbs_sample(100, 65536, gbit_per_s=speed, cpu_s_per_gib=1.5)
                 for speed in (10.0, 30.0, 20.0)]
    latency = [verbs_sample(100, 8, us=30.0)]
    samples = {name: bandwidth for name in ("write_64k", "write_1m", "read_64k", "send_64k",
                                           "write_64k_local", "user_write_64k")}
    samples.update({
        "write_rate": [verbs_sample(100, 8, messages_per_s=5e5)],
        "write_lat": latency,
        "send_lat": latency,
        "send_lat_local": latency,
        **{name: latency for name in ("verbs_lat", "handle_lat", "context_lat")},
        **{name: [{"messages": 100, "wakeups": 300, "connections_per_s": 1234.0}]
           for name in ("connect", "connect_many", "connect_local", "connect_local_many")},
        **{name: [{"messages": 100, "wakeups": 300, "us": 50.0, "calls_per_s": 40000.0}]
           for name in ("rpc_ud_lat", "rpc_rc_lat", "rpc_ud_rate", "rpc_rc_rate")},
        "rpc_tcp_lat": [{"us": 25.0, "calls_per_s": 30000.0}],
        "rpc_tcp_rate": [{"us": 250.0, "calls_per_s": 160000.0}],
        "two_users_64k": [{"gbit_per_s": 24.0, "smaller_share": 0.48}],
        "first_completion": [{"no_daemon_ms": 30.0, "daemon_ms": 8.0, "next_ms": 5.0}],
        "tcp": [{"gbit_per_s": 16.0, "cpu_s_per_gib": 0.75}],
        "udp_gso": [{"gbit_per_s": 40.0}],
        "udp_small": [{"messages_per_s": 1e7}],
        "udp_blocking": [{"us": 40.0}],
        "udp_spinning": [{"us": 5.0}],
    })
    return {
        "machine": {"cpu": "a machine", "cpus": 2, "kernel": "6.1"}, "rounds": 3,
        "samples": samples, "failures": {}, "idle_kib": {"rss": 10240, "pss": 5120},
        "memory": {"qps": 64, "kib_per_qp": 20.5, "cq_kib_per_qp": 16.0},
        "family_kib": {"rss": 20480, "pss": 6144}, "device_kib": {"rss": 10240, "pss": 1024},
        "absent": {},
        "system_calls": {name: {"all": 0.5} for name in samples if "udp" not in name},
    }


def run_table(result):
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, "samples")
        path.write_text(json.dumps(result))
        return subprocess.run([sys.executable, TABLE, path], capture_output=True, text=True)


def row_of(output, label):
    line = next(line for line in output.splitlines() if label in line)
    return [cell.strip() for cell in line.strip("| ").split("|")]


class TableTest(unittest.TestCase):
    def test_bandwidth_is_a_median_with_ratios(self):
        done = run_table(whole_result())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(row_of(done.stdout, "`ib_read_bw` 64 KiB")[1:],
                         ["20.0 Gb/s", "16.0 Gb/s", "1.25", "40.0 Gb/s", "0.50", "1.50", "0.75",
                          "0.25", "0.5", "4.0"])

    def test_latency_has_two_baselines(self):
        done = run_table(whole_result())
        self.assertEqual(row_of(done.stdout, "ib_send_lat")[1:6],
                         ["30.0 us", "–", "–", "40.0 us / 5.0 us", "0.75 / 6.00"])

    def test_connections_move_no_payload(self):
        done = run_table(whole_result())
        self.assertEqual(row_of(done.stdout, "connections, one by one")[1:],
                         ["1234 /s", *"–" * 6, "3", "0.5", "–"])

    def test_calls_are_compared_with_tcp(self):
        output = run_table(whole_result()).stdout
        self.assertEqual(row_of(output, "RPC of 64 B by datagrams")[1:4],
                         ["50.0 us", "25.0 us", "2.00"])
        self.assertEqual(row_of(output, "... by a connection, 100 at a time")[1:],
                         ["40000 /s", "160000 /s", "0.25", *"–" * 4, "3", "0.5", "–"])

    def test_memory(self):
        output = run_table(whole_result()).stdout
        self.assertIn("10.0 MiB resident", row_of(output, "idle daemon")[1])
        self.assertEqual(row_of(output, "memory per QP")[1],
                         "20.5 KiB, and 16.0 KiB of completion queues")

    def test_users(self):
        output = run_table(whole_result()).stdout
        self.assertEqual(row_of(output, "two users at once")[1],
                         "24.0 Gb/s together, the smaller share 0.48 (one alone 20.0 Gb/s)")
        self.assertEqual(row_of(output, "first completion")[1],
                         "30.0 ms without a daemon, 8.0 ms with one, the next program 5.0 ms")
        self.assertIn("(1.0 MiB its share)", row_of(output, "its device process")[1])

    def test_what_is_not_here_is_no_missing_number(self):
        result = whole_result()
        del result["samples"]["user_write_64k"], result["samples"]["two_users_64k"]
        result["device_kib"] = None
        result["absent"] = {"user_write_64k": "no users", "two_users_64k": "no users",
                            "device process": "rnicd has no device process"}
        done = run_table(result)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(row_of(done.stdout, "two users at once")[1], "–")
        self.assertEqual(row_of(done.stdout, "its device process")[1], "–")
        self.assertIn("rnicd has no device process", done.stdout)

    def test_missing_numbers_are_told(self):
        for case in ("write_rate", "tcp", "udp_spinning"):
            result = copy.deepcopy(whole_result())
            del result["samples"][case]
            done = run_table(result)
            self.assertEqual(done.returncode, 1)
            self.assertIn("| ? |", done.stdout)
            self.assertIn(case, done.stderr)

    def test_no_perf_is_no_missing_number(self):
        result = whole_result()
        result["system_calls"] = {}
        result["failures"] = {"system calls": "perf is not installed"}
        done = run_table(result)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("perf is not installed", done.stdout)


class ParseTest(unittest.TestCase):
    def test_bandwidth(self):
        parsed = Perftest("ib_write_bw", 65536).parse(BANDWIDTH_OUTPUT)
        self.assertEqual(parsed, {"messages": 5000, "gbit_per_s": 12.5, "messages_per_s": 23842})

    def test_latency_counts_both_directions(self):
        parsed = Perftest("ib_write_lat", 8).parse(LATENCY_OUTPUT)
        self.assertEqual(parsed, {"messages": 2000, "us": 5.5, "average_us": 6.25, "p99_us": 9.0})

    def test_no_result(self):
        with self.assertRaises(RunFailed):
            Perftest("ib_write_bw", 8).parse("Unable to find the Infiniband/RoCE device\n")

    def test_perf(self):
        report = ("# started on Fri\n\n120,,raw_syscalls:sys_enter,5000,100.00,,\n"
                  "80,,syscalls:sys_enter_sendmsg,5000,100.00,,\n"
                  "<not counted>,,syscalls:sys_enter_poll,0,0.00,,\n")
        self.assertEqual(parse_perf(report), {"all": 120, "sendmsg": 80})


if __name__ == "__main__":
    unittest.main()
