#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How the benchmark waits for programs, tried with shells that need no namespace."""

import pathlib
import tempfile
import unittest

from bench_cases import Bench
from bench_host import Program, RunFailed, finish_all

# Drops "ip netns exec NAMESPACE".
WITHOUT_NAMESPACE = ("sh", "-c", 'shift 4; exec "$@"', "sh")
PIPE_BYTES = 1 << 16
TIMEOUT_S = 10


def start(script, *arguments, has_input=False):
    return Program("none", ["sh", "-c", script, "sh", *arguments], WITHOUT_NAMESPACE,
                   has_input=has_input)


class BenchHostTest(unittest.TestCase):
    def test_a_server_with_much_to_say_does_not_hold_its_client_up(self):
        with tempfile.TemporaryDirectory() as folder:
            is_done = pathlib.Path(folder) / "done"
            server = start('head -c "$1" /dev/zero | tr "\\0" x; : >"$2"', 4 * PIPE_BYTES, is_done)
            client = start('until [ -e "$1" ]; do sleep 0.01; done; echo done', is_done)
            bench = Bench(None, None, None, 0)
            bench.timeout = TIMEOUT_S
            client_output, server_output, _ = bench.pair(server, client)
        self.assertEqual(client_output, "done\n")
        self.assertEqual(server_output, 4 * PIPE_BYTES * "x")

    def test_lines_come_before_the_rest(self):
        program = start("echo ready; read line; echo got $line; cat; echo end", has_input=True)
        program.wait_for_line("ready", TIMEOUT_S)
        self.assertEqual(program.ask("go"), "got go\n")
        self.assertEqual(finish_all([program], TIMEOUT_S)[0][0], "end\n")

    def test_who_does_not_end_is_ended(self):
        program = start("echo alive; exec sleep 1000")
        with self.assertRaisesRegex(RunFailed, "did not end"):
            program.finish(0.2)
        self.assertEqual(program.stop(), "alive\n")
        self.assertLess(program.process.returncode, 0)

    def test_a_failure_says_why(self):
        with self.assertRaisesRegex(RunFailed, "failed: no device"):
            start("echo no device; exit 3").finish(TIMEOUT_S)


if __name__ == "__main__":
    unittest.main()
