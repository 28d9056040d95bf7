#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The rules of this tree that a program can check.

    check_tree.py --tree DIR [--build DIR]

Prints one line for each place that breaks a rule and exits 1 when there is any. With --build it
also looks at the engine's archive, at the two programs of the daemon and at the calls between
object files. test_check_tree.py proves that each rule can fail.
"""

import argparse
import collections
import pathlib
import re
import subprocess
import sys

from call_circles import check_build_calls
from contract_pages import check_contract_files, check_life_and_death
from filter_manual import check_fence_manual, check_filter_manual
from folder_order import check_folder_order
from function_names import check_repeated_names
from include_circles import check_circles
from out_words import check_words
from page_links import check_page_links
from tree_files import Tree, without_comments_and_strings

LINE_COLUMNS = 100
PAGE_COLUMNS = 130
FILE_LINES = 800
FUNCTION_LINES = 70
FOLDER_FILES = 40
TAB_COLUMNS = 8

# Names that a folder may hold whatever the others hold.
COMMON_NAMES = {"CMakeLists.txt", "README.md", "run.sh"}

# Where a file is -> the folders and files that its "..." includes may name, by their paths from the
# repository; the first match counts. A folder may always include its own files. What may include
# what inside a room is the business of folder_order.py.
LAYERS = [
    ("proto/", {"proto/"}),
    ("lib/nic/", {"proto/base/", "proto/wire/", "proto/mad/", "lib/nic/"}),
    ("lib/wait/", {"proto/base/"}),
    ("lib/client/", {"proto/", "lib/wait/", "lib/client/"}),
    ("lib/dropin/guard/", set()),
    ("lib/dropin/", {"proto/", "lib/wait/", "lib/client/", "lib/dropin/"}),
    # The programming interfaces see public headers, which are <...> includes.
    ("lib/apis/", {"lib/apis/"}),
    ("daemon/shared/", {"proto/", "lib/nic/base/", "lib/nic/engine/counters.def", "lib/wait/",
                        "daemon/shared/"}),
    # The two programs of the daemon never see each other.
    ("daemon/control/", {"proto/", "lib/nic/", "lib/wait/", "daemon/shared/",
                         "daemon/control/"}),
    ("daemon/device/", {"proto/", "lib/nic/", "lib/wait/", "lib/dropin/guard/guard.h",
                        "daemon/shared/", "daemon/device/"}),
    ("tools/examples/modular-samples/", set()),
    # Scenarios are in the language of rules, whose parser is the device's.
    ("tools/rnic-run/", {"proto/", "lib/nic/base/prng.h", "lib/nic/port/", "lib/wait/",
                         "lib/client/", "tools/"}),
    ("tools/", {"proto/", "lib/wait/", "lib/client/", "tools/", "rpc_echo.pb-c.h"}),
]

# The page with a table of LAYERS.
ROOM_PAGE = "doc/architecture.md"
ROOM_TABLE = "| room | includes |"

STANDALONE = ("tools/examples/", "lib/include/", "proto/base/")

# <...> includes that a layer must not use: what would let it do I/O, read a clock or start threads.
IO_HEADERS = re.compile(
    r"(sys/|linux/|netinet/|arpa/|net/|unistd\.h|stdio\.h|time\.h|pthread\.h|poll\.h|fcntl\.h|"
    r"ev\.h|liburing\.h|signal\.h|infiniband/|rdma/)")
SYSTEM_BANS = [
    ("proto/", IO_HEADERS),
    ("lib/nic/engine/", IO_HEADERS),
    ("daemon/control/cm/", IO_HEADERS),
    ("lib/apis/rpc/wire/", IO_HEADERS),
    ("lib/client/native/", re.compile(r"(infiniband|rdma)/")),
    ("lib/nic/port/", re.compile(r"(infiniband|rdma)/")),
    # These are for every RNIC.
    ("tools/examples/modular-samples/", re.compile(r"rnic/")),
]
# Types, and conversions of text in the caller's memory.
SYSTEM_ALLOWED = {"sys/uio.h", "sys/types.h", "arpa/inet.h"}

BANNED_CALLS = {
    "strcpy": "strcpy() does not know its room: use snprintf() or memcpy()",
    "strcat": "strcat() does not know its room: use snprintf()",
    "sprintf": "sprintf() does not know its room: use snprintf()",
    "vsprintf": "vsprintf() does not know its room: use vsnprintf()",
    "gets": "gets() does not know its room",
    "rand": "rand() is shared state: use base/random_source.h",
    "random": "random() is shared state: use base/random_source.h",
    "srand": "srand() is shared state: use base/random_source.h",
    "alloca": "alloca() has no limit",
    "setjmp": "setjmp() hides control flow",
}
BANNED_IN_TESTS = {
    "sleep": "sleep() is no synchronisation",
    "usleep": "usleep() is no synchronisation",
    "nanosleep": "nanosleep() is no synchronisation",
}

# What the engine's archive may take from outside.
ENGINE_SYMBOLS = re.compile(
    r"(mem(cpy|set|cmp|move|chr)|malloc|calloc|realloc|free|aligned_alloc|posix_memalign|"
    r"qsort|abort|str(n?len|ncmp|cmp|chr)|v?snprintf|"
    r"__(v?snprintf|mem(cpy|set|move)|strncpy)_chk|"
    r"memory_batch_\w+|__assert_fail|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_|"
    r"__(asan|ubsan|tsan|sanitizer|gcov|llvm)_\w+)$")


def check_first_line(tree):
    for path, text in tree.texts():
        head = "\n".join(text.splitlines()[:2])
        if "SPDX-License-Identifier: MIT" not in head:
            tree.complain(path, 1, "the first line must name the licence (SPDX)")


def check_lengths(tree):
    for path, text in tree.texts():
        lines = text.splitlines()
        if len(lines) > FILE_LINES:
            tree.complain(path, len(lines), f"{len(lines)} lines, at most {FILE_LINES}")
        for number, line in enumerate(lines, 1):
            if len(line.expandtabs(TAB_COLUMNS)) > LINE_COLUMNS:
                tree.complain(path, number, f"more than {LINE_COLUMNS} columns")
            if line != line.rstrip():
                tree.complain(path, number, "blanks at the end of the line")


# The names of these files are others' choice.
OTHERS_NAMES = ("lib/include/rnic/compat/", "debian/")


def check_base_names(tree):
    seen = {}
    for path in tree.files:
        if path.name in COMMON_NAMES or path.name.startswith("."):
            continue
        if tree.name(path).startswith(OTHERS_NAMES):
            continue
        if path.name in seen:
            tree.complain(path, 1, f"the name is taken by {tree.name(seen[path.name])}")
        seen.setdefault(path.name, path)


def check_functions(tree):
    """A function starts at a line that is just "{" and ends at one that is just "}"."""
    for path, text in tree.texts({".c", ".h"}):
        start = None
        for number, line in enumerate(without_comments_and_strings(text).splitlines(), 1):
            if line.rstrip() == "{":
                start = number
            elif line.rstrip() == "}" and start is not None:
                length = number - start + 1
                if length > FUNCTION_LINES:
                    tree.complain(path, start, f"a function of {length} lines, at most "
                                               f"{FUNCTION_LINES}")
                start = None


def check_folders(tree):
    """No folder of the product is too large for one look."""
    folders = collections.Counter(path.parent for path in tree.product_sources())
    for folder, count in folders.items():
        if count > FOLDER_FILES:
            tree.complain(folder, 1, f"{count} source files, at most {FOLDER_FILES}")


def layer_of(name):
    for prefix, allowed in LAYERS:
        if name.startswith(prefix):
            return prefix, allowed
    return None, None


def check_quoted_include(tree, path, number, target):
    prefix, allowed = layer_of(tree.name(path))
    if prefix is None:
        return
    folder = tree.name(path.parent) + "/"
    if (path.parent / target).exists():
        # Headers that are installed, and examples, have no repository around them.
        if not folder.startswith(STANDALONE):
            tree.complain(path, number, f"\"{target}\" is no path from the repository")
    elif not target.startswith((folder, *allowed)):
        tree.complain(path, number, f"{prefix} must not include \"{target}\"")


def check_system_include(tree, path, number, target):
    for prefix, banned in SYSTEM_BANS:
        if (tree.name(path).startswith(prefix) and banned.match(target)
                and target not in SYSTEM_ALLOWED):
            if target == "stdio.h" and only_formats(path):
                continue
            tree.complain(path, number, f"{prefix} must not include <{target}>")


def only_formats(path):
    """<stdio.h> for snprintf() alone does no I/O."""
    code = without_comments_and_strings(path.read_text(errors="replace"))
    return not re.search(r"\b(FILE|f?printf|fopen|fputs|puts|stderr|stdout)\b", code)


def check_includes(tree):
    for path, text in tree.texts({".c", ".h"}):
        for number, line in enumerate(text.splitlines(), 1):
            match = re.match(r'\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)', line)
            if not match:
                continue
            if match.group(1):
                check_quoted_include(tree, path, number, match.group(1))
            else:
                check_system_include(tree, path, number, match.group(2))


def check_room_table(tree):
    """The map of the tree names the rooms of LAYERS, and for each what it may include."""
    page = tree.root / ROOM_PAGE
    if not page.exists():
        return
    lines = page.read_text().splitlines()
    start = lines.index(ROOM_TABLE) + 2 if ROOM_TABLE in lines else len(lines)
    rows = {}
    for number, line in enumerate(lines[start:], start + 1):
        if not line.startswith("|"):
            break
        room, *included = re.findall(r"`([^`]+)`", line)
        rows[room] = number, set(included)
    for prefix, allowed in LAYERS:
        room = prefix.rstrip("/")
        wanted = {target.rstrip("/") for target in allowed - {prefix}}
        number, named = rows.pop(room, (1, None))
        if named != wanted:
            tree.complain(page, number, f"{room} includes {', '.join(sorted(wanted)) or 'nothing'}")
    for room, (number, _) in rows.items():
        tree.complain(page, number, f"LAYERS has no {room}")


def check_calls(tree):
    for path, text in tree.texts({".c", ".h"}):
        banned = dict(BANNED_CALLS)
        if tree.name(path).startswith("tests/"):
            banned.update(BANNED_IN_TESTS)
        pattern = re.compile(r"(?<![\w.>])(" + "|".join(banned) + r")\s*\(")
        for number, line in enumerate(without_comments_and_strings(text).splitlines(), 1):
            for match in pattern.finditer(line):
                tree.complain(path, number, banned[match.group(1)])


def check_shell_sleeps(tree):
    for path, text in tree.texts({".sh"}):
        if not tree.name(path).startswith("tests/"):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if re.match(r"\s*sleep\s", line) and "poll" not in line:
                tree.complain(path, number, "sleep is no synchronisation: poll for the condition")


TREE_PATH = re.compile(r"(?<![\w/.])((?:tools|tests|daemon|lib|proto|\.ci)/[\w./-]+)")


README_LINES = 150


def check_page_commands(tree):
    """Every path of this tree that indented or fenced commands of the README and of doc/ name
    exists."""
    if not (tree.root / "README.md").exists():
        tree.complain(tree.root / "README.md", 1, "there is no README.md")
    for path, text in tree.texts({".md"}):
        if tree.name(path) == "README.md" or tree.name(path).startswith("doc/"):
            check_commands_of(tree, path, text)


def check_commands_of(tree, page, text):
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        if not fenced and not line.startswith("    "):
            continue
        for match in TREE_PATH.finditer(line):
            if not (tree.root / match.group(1)).exists():
                tree.complain(page, number, f"there is no {match.group(1)}")


def check_page_sizes(tree):
    """The README leads on to other pages; lines of text have 130 columns, tables and code any."""
    for path, text in tree.texts({".md"}):
        name = tree.name(path)
        lines = text.splitlines()
        if name == "README.md" and len(lines) > README_LINES:
            tree.complain(path, len(lines), f"{len(lines)} lines, at most {README_LINES}")
        if name != "README.md" and not name.startswith("doc/"):
            continue
        for number, line in enumerate(lines, 1):
            if len(line) > PAGE_COLUMNS and not line.startswith(("|", "    ")):
                tree.complain(path, number, f"more than {PAGE_COLUMNS} columns")


def list_symbols(archive, *options):
    return subprocess.run(["nm", "-P", *options, archive], check=True, capture_output=True,
                          text=True).stdout.splitlines()


def undefined_symbols(archive):
    """What the members of an archive take from outside it."""
    defined, undefined = set(), set()
    for line in list_symbols(archive):
        fields = line.split()
        if len(fields) < 2 or line.endswith(":"):
            continue
        (undefined if fields[1] in "Uw" else defined).add(fields[0])
    return undefined - defined


def project_symbols(build):
    """What the archives that the engine may use define."""
    defined = set()
    for name in ("librnic_proto.a", "librnic_nic_base.a", "librnic_recorder.a"):
        for archive in pathlib.Path(build).rglob(name):
            defined.update(line.split()[0] for line in list_symbols(archive, "--defined-only")
                           if " " in line)
    return defined


def check_engine_archive(tree, build):
    archives = [path for name in ("librnic_engine.a", "librnic_cm.a")
                for path in pathlib.Path(build).rglob(name)]
    if not archives:
        tree.complaints.append("no archive of the engine in the build tree")
        return
    ours = project_symbols(build)
    for archive in archives:
        for symbol in sorted(undefined_symbols(archive) - ours):
            if not ENGINE_SYMBOLS.match(symbol):
                tree.complaints.append(f"{archive.name}: the engine must not use {symbol}()")


# A program of the daemon -> the archives of which it must have nothing. Each program is cut so that
# what it reads from strangers cannot reach what only the other one has.
PROGRAMS = {
    "bin/rnicd": ["librnic_engine.a", "librnic_mem.a", "librnic_path.a", "librnic_memory.a",
                  "librnic_session.a", "librnic_queues.a", "librnic_objects.a",
                  "librnic_requests.a", "librnic_device.a", "librnic_device_link.a",
                  "librnic_device_process.a"],
    "libexec/rnicd-device": ["librnic_cm.a", "librnic_cm_ids.a", "librnic_lanes.a",
                             "librnic_control.a", "librnic_server.a", "librnic_clients.a",
                             "librnic_supervisor.a", "librnic_network.a"],
}


def defined_symbols(binary, *options):
    symbols = {line.split()[0] for line in list_symbols(binary, "--defined-only", *options)
               if len(line.split()) > 1}
    # Every object with a static probe (probe.h) brings this one.
    return symbols - {"_.stapsdt.base"}


def check_programs(tree, build, programs=None):
    for name, foreign in (programs or PROGRAMS).items():
        program = pathlib.Path(build) / name
        if not program.exists():
            tree.complaints.append(f"no {name} in the build tree")
            continue
        symbols = defined_symbols(program)
        for archive_name in foreign:
            archives = list(pathlib.Path(build).rglob(archive_name))
            if not archives:
                tree.complaints.append(f"no {archive_name} in the build tree")
            for archive in archives:
                for symbol in sorted(symbols & defined_symbols(archive, "--extern-only")):
                    tree.complaints.append(f"{name} has {symbol}() of {archive_name}")


RULES = [check_first_line, check_lengths, check_base_names, check_functions, check_folders,
         check_includes, check_room_table, check_folder_order, check_circles,
         check_repeated_names, check_calls, check_shell_sleeps, check_page_commands,
         check_page_sizes, check_words, check_filter_manual, check_fence_manual, check_page_links,
         check_contract_files, check_life_and_death]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tree", required=True)
    parser.add_argument("--build")
    arguments = parser.parse_args()
    tree = Tree(arguments.tree, has_top_sources=False)
    for rule in RULES:
        rule(tree)
    if arguments.build:
        check_engine_archive(tree, arguments.build)
        check_programs(tree, arguments.build)
        check_build_calls(tree, arguments.build)
    for complaint in tree.complaints:
        print(complaint)
    print(f"{len(tree.files)} files, {len(tree.complaints)} complaints")
    return 1 if tree.complaints else 0


if __name__ == "__main__":
    sys.exit(main())
