#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A user at a terminal: lab_terminal.py STEP... -- COMMAND...

Runs the command on a pseudo terminal. A step is "expect TEXT" (what the terminal shows next, after
what was expected before), "type LINE", "interrupt" (Ctrl-C) or "end" (Ctrl-D). Exits with the
command's status, 99 when a step did not come true within 30 s. Shows the terminal's contents.
"""

import os
import pty
import select
import sys
import time

SECONDS = 30


class Terminal:
    def __init__(self, command):
        self.shown = b""
        self.expected = 0
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvp(command[0], command)

    def read(self, deadline):
        """Takes what is shown; False when nothing more will be."""
        ready, _, _ = select.select([self.fd], [], [], max(0, deadline - time.monotonic()))
        if not ready:
            return False
        try:
            more = os.read(self.fd, 4096)
        except OSError:
            more = b""
        self.shown += more.replace(b"\r\n", b"\n")
        return bool(more)

    def expect(self, text):
        deadline = time.monotonic() + SECONDS
        while (found := self.shown.find(text.encode(), self.expected)) < 0:
            if not self.read(deadline):
                return False
        self.expected = found + len(text.encode())
        return True

    def type(self, characters):
        os.write(self.fd, characters)
        return True

    def step(self, text):
        kind, _, rest = text.partition(" ")
        if kind == "expect":
            return self.expect(rest)
        keys = {"type": rest.encode() + b"\n", "interrupt": b"\x03", "end": b"\x04"}
        return self.type(keys[kind])

    def finish(self):
        deadline = time.monotonic() + SECONDS
        while self.read(deadline):
            pass
        if time.monotonic() >= deadline:
            os.kill(self.pid, 9)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def main():
    split = sys.argv.index("--")
    terminal = Terminal(sys.argv[split + 1:])
    missed = None
    for step in sys.argv[1:split]:
        if not terminal.step(step):
            missed = step
            os.kill(terminal.pid, 9)
            break
    status = terminal.finish()
    print(terminal.shown.decode(errors="replace"), end="")
    if missed:
        print(f"\nnever came true: {missed}")
        status = 99
    sys.exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
