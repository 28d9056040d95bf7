# SPDX-License-Identifier: MIT
"""No two files of the product call each other in a circle, and no folder calls a higher one.

The calls are those of the object files: a symbol that one file takes and another file defines. So
the rule also sees a prototype in a header that all files of a folder share. Functions and tables
of functions count alike. Calls by pointer do not count: a callback is how a lower file reaches a
higher one. Names of the C library do not count either: the files that define them stand before the
C library, and whoever calls them means the C library.
"""

import collections
import ctypes
import pathlib
import subprocess

from folder_order import ORDERS, SHARED, is_together, part_of
from include_circles import find_circles
from tree_files import PRODUCT

# The circles that exist, each with its reason. A file that is in no circle any more leaves the
# list.
CIRCLES = [
    ("A state machine as a table: connection_table names its actions, and an action of one "
     "connection has an event of another one, of the same peer, or ends its own by an event.",
     ["daemon/control/cm/connection_action", "daemon/control/cm/connection_calls",
      "daemon/control/cm/connection_table", "daemon/control/cm/peer_question",
      "daemon/control/cm/request"]),
]


def source_of(build, path):
    """The source of an object file, by its path from the repository."""
    parts = []
    for part in path.relative_to(build).parts:
        if part == "__" and parts:
            parts.pop()
        elif part != "CMakeFiles" and not part.endswith(".dir"):
            parts.append(part)
    return pathlib.PurePosixPath(*parts).with_suffix("")


def object_files(tree, build):
    """Source without suffix -> its object files. A source may be in several targets, and a build
    tree may keep the objects of sources that were moved."""
    objects = collections.defaultdict(list)
    for path in sorted(pathlib.Path(build).rglob("*.o")):
        if any(part.endswith(".dir") for part in path.parts):
            source = source_of(build, path)
            if (path.relative_to(build).as_posix().startswith(PRODUCT)
                    and (tree.root / source).exists()):
                objects[source.with_suffix("").as_posix()].append(path)
    return objects


def symbols_of(paths):
    """Object file -> (what the file defines for others, what the file takes from others)."""
    lines = subprocess.run(["nm", "-A", "-P", "-g", *map(str, paths)], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    symbols = {str(path): (set(), set()) for path in paths}
    for line in lines:
        path, _, rest = line.rpartition(": ")
        name, kind = rest.split()[:2]
        symbols[path][kind in "Uwv"].add(name.split("@")[0])
    return symbols


def call_graph(tree, build):
    """(source -> the sources that the source calls, (caller, callee) -> the symbols). Where several
    programs define a symbol, nobody can tell which of them is called: such a call is none."""
    objects = object_files(tree, build)
    source_by_path = {str(path): source for source, paths in objects.items() for path in paths}
    symbols = symbols_of(list(source_by_path)) if source_by_path else {}
    c_library = ctypes.CDLL("libc.so.6")
    definers = collections.defaultdict(set)
    for path, (defined, _) in symbols.items():
        for name in defined:
            definers[name].add(source_by_path[path])
    graph = {source: set() for source in objects}
    calls = collections.defaultdict(set)
    for path, (_, taken) in symbols.items():
        for name in taken:
            if len(definers[name]) == 1 and not hasattr(c_library, name):
                caller, callee = source_by_path[path], next(iter(definers[name]))
                graph[caller].add(callee)
                calls[caller, callee].add(name)
    return graph, calls


def calls_inside(circle, calls):
    return "; ".join(f"{pathlib.PurePath(caller).name} calls {', '.join(sorted(names))} of "
                     f"{pathlib.PurePath(callee).name}"
                     for (caller, callee), names in sorted(calls.items())
                     if caller in circle and callee in circle)


def check_circles_of_calls(tree, graph, calls, exceptions):
    circles = find_circles(graph)
    for circle in circles:
        if not any(circle <= set(units) for _, units in exceptions):
            tree.complaints.append(f"{len(circle)} files call each other in a circle: "
                                   f"{calls_inside(circle, calls)}")
    for _, units in exceptions:
        for unit in units:
            if not any(unit in circle for circle in circles):
                tree.complaints.append(f"call_circles.py: {unit} is in no circle any more: take it "
                                       "out of CIRCLES")


def check_order_of_calls(tree, calls):
    """What folder_order.py says of includes holds for calls."""
    for room, order in ORDERS.items():
        ranks = {part: rank for rank, row in enumerate(order) for part in row}
        for (caller, callee), names in sorted(calls.items()):
            if not (caller.startswith(room) and callee.startswith(room)):
                continue
            own, used = part_of(caller, room), part_of(callee, room)
            if own == used or is_together(room, own, used):
                continue
            if used in ranks and ranks[used] >= ranks.get(own, SHARED):
                tree.complaints.append(f"{caller} must not call {', '.join(sorted(names))} of "
                                       f"{callee}: see folder_order.py")


def check_build_calls(tree, build, exceptions=None):
    graph, calls = call_graph(tree, pathlib.Path(build))
    if not graph:
        tree.complaints.append("no object files of the product in the build tree")
    check_circles_of_calls(tree, graph, calls, CIRCLES if exceptions is None else exceptions)
    check_order_of_calls(tree, calls)
