#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cause_manual.py TABLE PAGE: the manual page rnic-causes(7), made from causes.def."""

import pathlib
import re
import sys

from manual_text import filled, inline

DATE = "2026-11-28"
ROW = re.compile(r'^CAUSE\((0x[0-9a-f]{2}), (\w+), (\w+), "([^"]*)",\n((?:\s+"[^\n]*\n)+)',
                 re.MULTILINE)
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
GROUPS = {
    0x10: "Found in a request of the own program",
    0x40: "Found in a request of the peer, which ends the connection",
    0x60: "Seen in packets, while the connection goes on",
    0x80: "What the peer answered, or that it did not",
    0xa0: "First causes, which rnicctl explain finds; no completion names them",
    0xe0: "How a connection was refused, or ended",
    0xf0: "What follows from another error, or from a queue",
}
HEAD = """.\\" SPDX-License-Identifier: MIT
.TH RNIC\\-CAUSES 7 {date} rnicd "Miscellaneous Information"
.SH NAME
rnic\\-causes \\- codes of failures, which vendor_err of a completion names
.SH DESCRIPTION
A work completion that is not successful has a status, which every RDMA device has, and a
.IR vendor_err ,
which says more.
.BR "rnicctl explain" " prints an entry of this page."
The codes stay from release to release."""
FOOT = """.SH SEE ALSO
.BR rnicctl (1),
.BR rnic (7)"""


def texts(block):
    """The two texts of a row: pieces of the first end where a line ends with a comma."""
    first, second = re.split(r'",\n', block.rstrip().removesuffix(")"), maxsplit=1)
    return ["".join(STRING.findall(part)) for part in (first + '"', second)]


def entry(code, name, status, clause, block):
    sentence, hint = texts(block)
    status_text = f"status IBV_WC_{status}" if status != "SUCCESS" else "no completion"
    yield ".TP"
    yield f".BR {code} \" {name}\""
    yield from filled(inline(f"{sentence} {hint}", {}))
    yield ".br"
    yield from filled(inline(f"({status_text}; IBTA 1.4, {clause})", {}))


def main():
    table, page = map(pathlib.Path, sys.argv[1:])
    rows = ROW.findall(table.read_text(encoding="utf-8"))
    lines, group = [HEAD.format(date=DATE)], None
    if len(rows) != table.read_text(encoding="utf-8").count("\nCAUSE("):
        sys.exit(f"cause_manual.py: {table} has rows of another form")
    for row in rows:
        now = max(first for first in GROUPS if first <= int(row[0], 16))
        if now != group:
            lines.append(f".SS {GROUPS[now]}")
        group = now
        lines += entry(*row)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("\n".join([*lines, FOOT]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
