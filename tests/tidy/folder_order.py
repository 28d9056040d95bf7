# SPDX-License-Identifier: MIT
"""The folders of a room have an order: a file includes its own folder and those below alone."""

import pathlib
import re

# Room -> its parts, the lowest first: folders, and files without their suffix. Parts of one row do
# not include each other. The room's other files are shared by all parts: the headers may put
# together what the parts declare; the .c files use no part.
ORDERS = {
    # lib/nic/engine/CMakeLists.txt states the same order.
    "lib/nic/engine/": [
        {"objects"},
        {"reliability"},
        {"progress"},
        {"responder", "requester"},
        {"datagrams"},
        {"verbs"},
        {"engine"},
    ],
    # A handler of signals reaches what is below it, and no lock but the table's.
    "lib/dropin/guard/": [
        {"guard", "bare_calls", "guarded_copy"},
        {"code_ranges", "action_table"},
        {"held_signals"},
        {"fault_handler"},
        {"kernel_actions"},
        {"guard_interface", "guard_open", "signal_calls"},
    ],
}
INCLUDE_ROOTS = ["lib", "lib/nic"]
SHARED = -1


def part_of(name, room):
    return pathlib.PurePath(name[len(room):].split("/")[0]).stem


def included_name(tree, path, target):
    """The name in the tree of what `path` includes; None where the tree has no such file."""
    for root in [path.parent, *(tree.root / root for root in INCLUDE_ROOTS)]:
        if (root / target).exists():
            return tree.name((root / target).resolve())
    return None


def check_room(tree, room, order):
    ranks = {part: rank for rank, row in enumerate(order) for part in row}
    for path in tree.product_sources():
        if not tree.name(path).startswith(room):
            continue
        own = part_of(tree.name(path), room)
        if own not in ranks and path.suffix == ".h":
            continue
        text = path.read_text(errors="replace")
        for match in re.finditer(r'^\s*#\s*include\s+"([^"]+)"', text, re.M):
            name = included_name(tree, path, match.group(1))
            used = part_of(name, room) if name is not None and name.startswith(room) else own
            if used != own and used in ranks and ranks[used] >= ranks.get(own, SHARED):
                line = text.count("\n", 0, match.start(1)) + 1
                tree.complain(path, line, f"{own} must not include \"{match.group(1)}\": see "
                                          f"folder_order.py")


def check_folder_order(tree):
    for room, order in ORDERS.items():
        check_room(tree, room, order)
