#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The arithmetic of table.py, on numbers that are easy to follow."""

import contextlib
import copy
import io
import json
import pathlib
import tempfile
import types
import unittest
from unittest import mock

import table
from bench_cases import ALL_SYSTEM_CALLS, Perftest, parse_perf, why_uncounted
from bench_family import FAMILY
from bench_host import RunFailed
from bench_ucx import TagLatency
from table import names_of_rows

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

# With -e the standard deviation is no number.
EVENTS_OUTPUT = LATENCY_OUTPUT.replace("1.00", "-nan")
UCX_OUTPUT = ("iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,"
              "overall_mr\n20000,14.293,39.124,73.941,0.02,0.01,2550,1357\n")


def verbs_sample(messages, size, **values):
    payload_bytes = messages * size
    return {"messages": messages, "payload_bytes": payload_bytes, "wakeups": messages / 4,
            "counters": {"sent_bytes": payload_bytes, "rcvd_bytes": payload_bytes}, **values}


def faster(samples):
    """On the direct path: twice as fast, at half the cost."""
    doubled = ("gbit_per_s", "messages_per_s", "messages_per_core_s", "connections_per_s",
               "calls_per_s")
    halved = ("us", "p99_us", "round_us", "round_p99_us", "cpu_s_per_gib", "cpu_us_per_message")
    return [{**sample, **{name: 2 * sample[name] for name in doubled if name in sample},
             **{name: sample[name] / 2 for name in halved if name in sample}}
            for sample in samples]


def whole_result():
    bandwidth = [verbs_sample(100, 65536, gbit_per_s=speed, cpu_s_per_gib=1.5)
                 for speed in (10.0, 30.0, 20.0)]
    latency = [verbs_sample(100, 8, us=30.0, p99_us=45.0)]
    samples = {name: bandwidth for name in ("write_64k", "write_1m", "read_64k", "send_64k",
                                           "write_64k_local", "user_write_64k")}
    lossy = verbs_sample(100, 65536, gbit_per_s=5.0, cpu_s_per_gib=2.5)
    lossy["counters"]["sent_bytes"] *= 2
    samples.update({
        "write_rate": [verbs_sample(100, 8, messages_per_s=5e5, messages_per_core_s=4e5)],
        "write_lat": latency,
        "write_64k_lossy": [lossy],
        **{f"qps_{count}": [{"messages": 100, "cpu_us_per_message": cost}]
           for count, cost in ((1, 2.0), (100, 2.5), (1000, 5.0), (10000, 41.0))},
        "send_lat": latency,
        "send_lat_events": latency,
        "read_lat": [verbs_sample(100, 8, round_us=60.0, round_p99_us=75.0)],
        "ucx_lat": [{"messages": 100, "wakeups": 300, "us": 50.0, "p99_us": 80.0}],
        "ucx_tcp_lat": [{"us": 25.0, "p99_us": 30.0}],
        "send_lat_local": latency,
        **{name: latency for name in ("verbs_lat", "handle_lat", "context_lat")},
        **{name: [{"messages": 100, "wakeups": 300, "connections_per_s": 1234.0}]
           for name in ("connect", "connect_many", "connect_local", "connect_local_many")},
        **{name: [{"messages": 100, "wakeups": 300, "us": 50.0, "p99_us": 90.0,
                   "calls_per_s": 40000.0}]
           for name in ("rpc_ud_lat", "rpc_rc_lat", "rpc_ud_rate", "rpc_rc_rate")},
        "rpc_tcp_lat": [{"us": 25.0, "p99_us": 30.0, "calls_per_s": 30000.0}],
        "rpc_tcp_rate": [{"us": 250.0, "calls_per_s": 160000.0}],
        "two_users_64k": [{"gbit_per_s": 24.0, "smaller_share": 0.48}],
        "user_read_64k": [{"gbit_per_s": 30.0}],
        "user_send_64k": [{"gbit_per_s": 15.0}],
        "user_write_rate": [{"messages_per_s": 4.5e5}],
        "user_send_lat": [{"us": 40.0}],
        "user_write_lat": [{"us": 25.0}],
        "own_write_64k": [{"gbit_per_s": speed} for speed in (20.0, 50.0, 25.0)],
        "own_read_64k": [{"gbit_per_s": 24.0}],
        "own_send_64k": [{"gbit_per_s": 20.0}],
        "own_write_rate": [{"messages_per_s": 5e5}],
        "own_send_lat": [{"us": us} for us in (30.0, 10.0, 90.0)],
        "own_write_lat": [{"us": 27.5}],
        "first_completion": [{"no_daemon_ms": 30.0, "daemon_ms": 8.0, "next_ms": 5.0}],
        "tcp": [{"gbit_per_s": 16.0, "cpu_s_per_gib": 0.75}],
        "udp_gso": [{"gbit_per_s": 40.0}],
        "udp_icrc": [{"gbit_per_s": 25.0}],
        "udp_small": [{"messages_per_s": 1e7, "messages_per_core_s": 8e6}],
        "udp_blocking": [{"us": 40.0, "p99_us": 50.0, "round_us": 80.0, "round_p99_us": 100.0}],
        "udp_spinning": [{"us": 5.0, "p99_us": 6.0, "round_us": 10.0, "round_p99_us": 12.0}],
    })
    for case in table.DIRECT_CASES:
        samples[table.direct_name(case)] = faster(samples[case])
    return {
        "machine": {"cpu": "a machine", "cpus": 2, "kernel": "6.1"}, "rounds": 3,
        "samples": samples, "failures": {}, "idle_kib": {"rss": 10240, "pss": 5120},
        "memory": {"qps": 64, "kib_per_qp": 20.5, "cq_kib_per_qp": 16.0,
                   "direct_kib_per_qp": 12.5, "direct_cq_kib_per_qp": 4.0},
        "family_kib": {"rss": 20480, "pss": 6144}, "device_kib": {"rss": 10240, "pss": 1024},
        "absent": {}, "only": None,
        "system_calls": {name: {"all": 0.5} for name in samples if "udp" not in name},
    }


def run_table(result):
    """In this process: a Python for each test takes seconds on a busy machine."""
    stdout, stderr = io.StringIO(), io.StringIO()
    with (tempfile.TemporaryDirectory() as directory, contextlib.redirect_stdout(stdout),
          contextlib.redirect_stderr(stderr)):
        path = pathlib.Path(directory, "samples")
        path.write_text(json.dumps(result))
        returncode = table.main([str(path)])
    return types.SimpleNamespace(returncode=returncode, stdout=stdout.getvalue(),
                                 stderr=stderr.getvalue())


def row_of(output, label):
    line = next(line for line in output.splitlines() if label in line)
    return [cell.strip() for cell in line.strip("| ").split("|")]


class TableTest(unittest.TestCase):
    def test_bandwidth_is_a_median_with_ratios(self):
        done = run_table(whole_result())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(row_of(done.stdout, "`ib_read_bw` 64 KiB")[1:],
                         ["20.0 Gb/s", "16.0 Gb/s", "1.25", "40.0 Gb/s / 25.0 Gb/s",
                          "0.50 / 0.80", "1.50", "0.75", "0.25", "0.5", "4.0",
                          "40.0 Gb/s", "2.50", "1.00 / 1.60", "0.75"])

    def test_loss_is_a_share_and_copies_again(self):
        row = row_of(run_table(whole_result()).stdout, "packets lost")
        self.assertEqual(row[1], "5.0 Gb/s, 0.25 of that without loss")
        self.assertEqual(row[-5:], ["6.0", *"–" * 4])

    def test_latency_has_two_baselines(self):
        done = run_table(whole_result())
        self.assertEqual(row_of(done.stdout, "ib_send_lat")[1:6],
                         ["30.0 us (45.0)", "–", "–", "40.0 us (50.0) / 5.0 us (6.0)",
                          "0.75 / 6.00"])

    def test_direct_path_has_the_same_baselines(self):
        output = run_table(whole_result()).stdout
        self.assertEqual(row_of(output, "`ib_send_lat` 8 B |")[-4:],
                         ["15.0 us (22.5)", "–", "0.38 / 3.00", "–"])
        self.assertEqual(row_of(output, "per core at each end")[1:6],
                         ["0.400 M/s", "–", "–", "8.000 M/s", "0.05"])
        self.assertEqual(row_of(output, "per core at each end")[-4:],
                         ["0.800 M/s", "–", "0.10", "–"])

    def test_direct_path_that_is_not_built(self):
        result = whole_result()
        for name in map(table.direct_name, table.DIRECT_CASES):
            del result["samples"][name]
            result["absent"][name] = "not in this build"
        done = run_table(result)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(row_of(done.stdout, "`ib_read_bw` 64 KiB")[-4:],
                         ["not built", *"–" * 3])
        self.assertEqual(row_of(done.stdout, "packets lost")[-4:], [*"–" * 4])
        self.assertEqual(row_of(done.stdout, "on the direct path")[1], "–")
        self.assertEqual(done.stdout.count("not in this build"), 1)

    def test_program_that_is_not_here(self):
        result = whole_result()
        for name in ("ucx_lat", "ucx_lat_direct", "ucx_tcp_lat"):
            del result["samples"][name]
            result["absent"][name] = "ucx_perftest is not installed"
        done = run_table(result)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(row_of(done.stdout, "`ucx_perftest -t tag_lat` 8 B |")[-4:], [*"–" * 4])

    def test_direct_path_that_failed_is_missing(self):
        result = whole_result()
        del result["samples"]["read_64k_direct"]
        done = run_table(result)
        self.assertEqual(done.returncode, 1)
        self.assertIn("read_64k_direct", done.stderr)

    def test_read_is_a_whole_round_trip(self):
        done = run_table(whole_result())
        self.assertEqual(row_of(done.stdout, "ib_read_lat` 8 B")[1:6],
                         ["60.0 us (75.0)", "–", "–", "80.0 us (100.0) / 10.0 us (12.0)",
                          "0.75 / 6.00"])

    def test_ucx_is_compared_with_its_tcp(self):
        self.assertEqual(row_of(run_table(whole_result()).stdout, "ucx_perftest -t")[1:6],
                         ["50.0 us (80.0)", "25.0 us (30.0)", "2.00", "–", "–"])

    def test_cost_of_queue_pairs(self):
        result = whole_result()
        costs = "2.00 us with 1 QP, 1.25 times as much with 100, 2.50 times as much with 1,000"
        self.assertEqual(row_of(run_table(result).stdout, "8 B WRITE")[1],
                         f"{costs}, 20.50 times as much with 10,000")
        self.assertEqual(row_of(run_table(result).stdout, "on the direct path")[1],
                         f"{costs}, 20.50 times as much with 10,000".replace("2.00", "1.00"))
        del result["samples"]["qps_10000"]
        self.assertEqual(run_table(result).returncode, 1)
        result["absent"] = {"qps_10000": "a quick run makes fewer queue pairs"}
        done = run_table(result)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(row_of(done.stdout, "8 B WRITE")[1], costs)

    def test_only_some_rows(self):
        result = whole_result()
        result["only"] = "ib_read|memory_of_nothing"
        del result["samples"]["write_64k"], result["samples"]["rpc_tcp_lat"]
        done = run_table(result)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("\n| "), 3)

    def test_connections_move_no_payload(self):
        done = run_table(whole_result())
        self.assertEqual(row_of(done.stdout, "connections, one by one")[1:],
                         ["1234 /s", *"–" * 6, "3", "0.5", "–", "2468 /s", *"–" * 3])

    def test_calls_are_compared_with_tcp(self):
        output = run_table(whole_result()).stdout
        self.assertEqual(row_of(output, "RPC of 64 B by datagrams")[1:4],
                         ["50.0 us (90.0)", "25.0 us (30.0)", "2.00"])
        self.assertEqual(row_of(output, "... by a connection, 100 at a time")[1:],
                         ["40000 /s", "160000 /s", "0.25", *"–" * 4, "3", "0.5", "–",
                          "80000 /s", "0.50", *"–" * 2])

    def test_memory(self):
        output = run_table(whole_result()).stdout
        self.assertIn("10.0 MiB resident", row_of(output, "idle daemon")[1])
        self.assertEqual(row_of(output, "memory per QP")[1],
                         "20.5 KiB, and 16.0 KiB of completion queues; "
                         "direct 12.5 KiB, and 4.0 KiB of completion queues")
        result = whole_result()
        result["memory"] = {"qps": 64, "kib_per_qp": 20.5, "cq_kib_per_qp": 16.0}
        self.assertEqual(row_of(run_table(result).stdout, "memory per QP")[1],
                         "20.5 KiB, and 16.0 KiB of completion queues")

    def test_users(self):
        output = run_table(whole_result()).stdout
        self.assertEqual(row_of(output, "two users at once")[1],
                         "24.0 Gb/s together, the smaller share 0.48 (one alone 20.0 Gb/s)")
        self.assertEqual(row_of(output, "first completion")[1],
                         "30.0 ms without a daemon, 8.0 ms with one, the next program 5.0 ms")
        self.assertIn("(1.0 MiB its share)", row_of(output, "its device process")[1])

    def test_users_get_a_share_of_what_their_own_daemons_give(self):
        label = "of what they get on their own"
        result = whole_result()
        self.assertEqual(row_of(run_table(result).stdout, label)[1],
                         "64 KiB write 0.80, read 1.25, send 0.75; 8 B rate 0.90; "
                         "send_lat 0.75, write_lat 1.10")
        for case in table.USER_CASES:
            name = table.user_names(case)[1]
            del result["samples"][name]
            result["absent"][name] = "no daemons of users"
        done = run_table(result)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(row_of(done.stdout, label)[1], "–")
        self.assertEqual(done.stdout.count("no daemons of users"), 1)

    def test_users_run_on_both_kinds_of_daemons_in_turn(self):
        names = list(FAMILY)
        for case in table.USER_CASES:
            roots, own = table.user_names(case)
            self.assertEqual(names.index(own), names.index(roots) + 1)

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

    def test_no_counter_is_no_missing_number(self):
        for reason in ("perf is not installed", "this kernel shows no tracepoint"):
            result = whole_result()
            result["system_calls"] = {}
            result["failures"] = {"system calls": reason}
            done = run_table(result)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(reason, done.stdout)


class ParseTest(unittest.TestCase):
    def test_bandwidth(self):
        parsed = Perftest("ib_write_bw", 65536).parse(BANDWIDTH_OUTPUT)
        self.assertEqual(parsed, {"messages": 5000, "gbit_per_s": 12.5, "messages_per_s": 23842})

    def test_latency_counts_both_directions(self):
        parsed = Perftest("ib_write_lat", 8).parse(LATENCY_OUTPUT)
        self.assertEqual(parsed, {"messages": 2000, "us": 5.5, "average_us": 6.25, "p99_us": 9.0})

    def test_read_latency_counts_one_message(self):
        parsed = Perftest("ib_read_lat", 8).parse(LATENCY_OUTPUT)
        self.assertEqual(parsed, {"messages": 1000, "round_us": 5.5, "average_us": 6.25,
                                  "round_p99_us": 9.0})

    def test_latency_without_a_deviation(self):
        parsed = Perftest("ib_send_lat", 8).parse(EVENTS_OUTPUT)
        self.assertEqual((parsed["us"], parsed["p99_us"]), (5.5, 9.0))

    def test_ucx(self):
        parsed = TagLatency(is_tcp=False).parse(UCX_OUTPUT)
        self.assertEqual(parsed, {"messages": 40000, "us": 14.293, "average_us": 39.124})

    def test_no_result(self):
        with self.assertRaises(RunFailed):
            Perftest("ib_write_bw", 8).parse("Unable to find the Infiniband/RoCE device\n")

    def test_rows_need_what_they_are_compared_with(self):
        self.assertEqual(names_of_rows("ucx_"), {"ucx_lat", "ucx_lat_direct", "ucx_tcp_lat"})
        self.assertEqual(names_of_rows("packets lost"), {"write_64k_lossy", "write_64k", "tcp"})
        self.assertEqual(names_of_rows("`ib_send_bw`"),
                         {"send_64k", "send_64k_direct", "tcp", "udp_gso", "udp_icrc"})
        self.assertEqual(names_of_rows("no such row"), set())
        self.assertLess(names_of_rows("lat"), names_of_rows(None))

    def test_counting_needs_perf_and_the_tracepoint(self):
        for has_perf, has_event, reason in ((False, True, "perf is not installed"),
                                            (True, False, "this kernel shows no tracepoint"),
                                            (True, True, None)):
            with mock.patch("shutil.which", return_value="perf" if has_perf else None), \
                 mock.patch("os.path.exists", return_value=has_event):
                found = why_uncounted()
                self.assertEqual(found and found.removesuffix(f" {ALL_SYSTEM_CALLS}"), reason)

    def test_perf(self):
        report = ("# started on Fri\n\n120,,raw_syscalls:sys_enter,5000,100.00,,\n"
                  "80,,syscalls:sys_enter_sendmsg,5000,100.00,,\n"
                  "<not counted>,,syscalls:sys_enter_poll,0,0.00,,\n")
        self.assertEqual(parse_perf(report), {"all": 120, "sendmsg": 80})


if __name__ == "__main__":
    unittest.main()
