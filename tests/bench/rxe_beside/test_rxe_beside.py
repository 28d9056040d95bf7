#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the guest prints becomes a table, and what is missing in it is told."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(__file__).with_name("rxe_beside.py")

BANDWIDTH = """ #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
Correlation coefficient r^2: 0.71 < 0.9
 65536      5000             0.00               {}   \t\t   0.002114
"""
LATENCY = """ #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]
 8       5000          15.00          4035.32      {}    \t       30.77
"""


def section(stack, row, output, round_number=1, status=0):
    return (f"@@ 9000 {stack} {row} {round_number}\r\n{output}"
            f"@@ end {status} after 3 tries\n")


def run(*arguments):
    return subprocess.run([sys.executable, PROGRAM, *arguments], capture_output=True, text=True,
                          timeout=30, check=False)


def table_of(console):
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(console)
        file.flush()
        return run("--table", file.name)


class RxeBeside(unittest.TestCase):
    def test_rows(self):
        done = run("--rows", "_lat$")
        self.assertEqual(done.returncode, 0)
        self.assertIn("send_lat ib_send_lat -s 8", done.stdout)
        self.assertNotIn("write_64k", done.stdout)
        done = run("--rows", "write_64k|write_1m", "--part", "10")
        self.assertIn("-s 65536 -n 500 -N", done.stdout)
        self.assertIn("-s 1048576 -n 100 -t", done.stdout)
        done = run("--rows", "write_deep", "--part", "10")
        self.assertIn("-t 512 -n 512 -N", done.stdout)

    def test_ratios_are_of_medians(self):
        console = "".join(section("rxe", "write_64k", BANDWIDTH.format(value), number) +
                          section("rnicd", "write_64k", BANDWIDTH.format(2 * value), number)
                          for number, value in enumerate((1.0, 2.0, 9.0)))
        console += section("rxe", "send_lat", LATENCY.format(20)) + section(
            "rnicd", "send_lat", LATENCY.format(30))
        done = table_of(console + "@@ done\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("| 9000 | write_64k | 2.00 Gb/s (1.00 to 9.00) | "
                      "4.00 Gb/s (2.00 to 18.00) | 2.00 |", done.stdout)
        self.assertIn("| 20.00 us (20.00 to 20.00) | 30.00 us (30.00 to 30.00) | 1.50 |",
                      done.stdout)

    def test_a_row_has_a_round_trip(self):
        console = (section("rxe", "write_64k@10ms", BANDWIDTH.format(1.0)) +
                   section("rnicd", "write_64k@10ms", BANDWIDTH.format(5.0)))
        done = table_of(console + "@@ done\n")
        self.assertIn("| 9000 | write_64k@10ms | 1.00 Gb/s (1.00 to 1.00) | "
                      "5.00 Gb/s (5.00 to 5.00) | 5.00 |", done.stdout)

    def test_a_failed_row_is_told(self):
        done = table_of(section("rxe", "send_lat", LATENCY.format(20)) +
                        section("rnicd", "send_lat", "no device\n", status=1) + "@@ done\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("| failed | – |", done.stdout)

    def test_a_failed_row_of_rxe_is_told(self):
        done = table_of(section("rxe", "send_lat", "no device\n", status=1) +
                        section("rnicd", "send_lat", LATENCY.format(20)) + "@@ done\n")
        self.assertIn("| failed | 20.00 us (20.00 to 20.00) | – |", done.stdout)
        self.assertEqual(done.returncode, 1)

    def test_a_guest_that_ends_early_is_told(self):
        done = table_of(section("rxe", "send_lat", LATENCY.format(20)) +
                        section("rnicd", "send_lat", LATENCY.format(20)) + "panic\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("ended early", done.stderr)
        self.assertIn("panic", done.stderr)


if __name__ == "__main__":
    unittest.main()
