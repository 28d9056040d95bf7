#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The kinds of network that path_grid.sh tries, and the table of doc/paths.md of what works there.

    path_grid.py --list            paths and programs, one path a line, for the guest
    path_grid.py --judge CONSOLE   what the guest printed: the table is as the run shows
    path_grid.py --write CONSOLE   puts the table of the run into the page

With --only REGEX only the paths whose names match, and no comparison with the page. Exit status: 1
when a program failed, when the run is not whole, or when the page says otherwise."""

import argparse
import pathlib
import re
import sys

PAGE = pathlib.Path(__file__).resolve().parents[3] / "doc/paths.md"
BEGIN = "<!-- from tests/run.sh --long=paths by path_grid.py: do not edit here -->"
END = "<!-- the end of what path_grid.py made -->"
PROGRAMS = {
    "pingpong": "`ibv_rc_pingpong -c`", "write": "`ib_write_bw`", "read": "`ib_read_bw`",
    "ud": "`ib_send_lat -c UD`", "rping": "`rping`",
}
ALL = tuple(PROGRAMS)
# UD promises no message, and ib_send_lat waits for each.
RELIABLE = tuple(name for name in ALL if name != "ud")
PATHS = {
    "veth": ("veth", ALL),
    "bridge": ("bridge", ALL),
    "macvlan": ("macvlan", ALL),
    "vlan": ("VLAN", ALL),
    "ipvlan_l2": ("ipvlan, mode l2", ALL),
    "ipvlan_l3": ("ipvlan, mode l3", ALL),
    "vxlan": ("VXLAN", ALL),
    "geneve": ("Geneve", ALL),
    "gre": ("GRE", ALL),
    "ip6gre": ("GRE over IPv6", ALL),
    "wireguard": ("WireGuard", ALL),
    "wireguard6": ("WireGuard over IPv6", ALL),
    "esp": ("IPsec (ESP, transport mode)", ALL),
    "bond": ("bond, active-backup", (*ALL, "failover")),
    "delay": ("20 ms of round trip (netem)", ALL),
    "tbf": ("200 Mb/s (tbf)", ALL),
    "fq_codel": ("200 Mb/s, fq_codel with ECN, `rnicd --ecn on`", ALL),
    "loss": ("1 % lost (netem)", RELIABLE),
    "duplicate": ("1 % twice (netem)", ALL),
    "corrupt": ("0.5 % damaged (netem)", RELIABLE),
    "reorder": ("a quarter out of order (netem)", ALL),
}
EXTRA = {"failover": "a link that goes down in the middle"}


def results_of(console):
    """Whether each program ended well, by path; and what it printed."""
    text = console.replace("\r", "")
    found = {}
    for path, program, output, status in re.findall(
            r"^@@ (\S+) (\S+)\n((?:(?!@@ ).*\n)*)@@ end (\d+)", text, re.M):
        found.setdefault(path, {})[program] = (status == "0", output)
    return found, "@@ done" in text


def cell(programs, results, name):
    if name not in programs:
        return "–"
    return "works" if results.get(name, (False, ""))[0] else "fails"


def table(found):
    lines = ["| network | " + " | ".join(PROGRAMS.values()) + " |",
             "|" + "---|" * (len(PROGRAMS) + 1)]
    for path, (name, programs) in PATHS.items():
        if path not in found:
            continue
        results = found[path]
        for extra in programs[len(ALL):]:
            if cell(programs, results, extra) == "works":
                name += f", {EXTRA[extra]}"
        cells = [cell(programs, results, program) for program in PROGRAMS]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def parts_of_page():
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    made, _, after = rest.partition(END)
    return before, made.strip(), after


def chosen(only):
    return {path: programs for path, (_, programs) in PATHS.items() if re.search(only, path)}


def say_failures(found, only):
    failed = 0
    for path, programs in chosen(only).items():
        for program in programs:
            is_good, output = found.get(path, {}).get(program, (False, "it did not run\n"))
            if not is_good:
                failed += 1
                print(f"FAIL  {path} {program}", *output.splitlines()[-12:], sep="\n      | ")
    return failed


def judge(console, only):
    found, is_whole = results_of(console)
    failed = say_failures(found, only)
    if not is_whole:
        print("FAIL  the guest ended early; its last lines:", *console.splitlines()[-8:],
              sep="\n      | ")
    is_same = only != "." or parts_of_page()[1] == table(found)
    if not is_same:
        print(f"FAIL  {PAGE.name} says otherwise; this run:\n{table(found)}")
    print(f"# {sum(map(len, found.values()))} transfers, {failed} failed")
    return 0 if is_whole and is_same and not failed else 1


def write(console):
    before, _, after = parts_of_page()
    PAGE.write_text(f"{before}{BEGIN}\n{table(results_of(console)[0])}\n{END}{after}",
                    encoding="utf-8")
    return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--judge", metavar="CONSOLE")
    parser.add_argument("--write", metavar="CONSOLE")
    parser.add_argument("--only", metavar="REGEX", default=".")
    arguments = parser.parse_args()
    if arguments.list:
        for path, programs in chosen(arguments.only).items():
            print(path, *programs)
        return 0
    file = pathlib.Path(arguments.judge or arguments.write)
    console = file.read_text(encoding="utf-8", errors="replace")
    return judge(console, arguments.only) if arguments.judge else write(console)


if __name__ == "__main__":
    sys.exit(main())
