# SPDX-License-Identifier: MIT
"""The folders of a room have an order: a file includes its own folder and those below alone."""

import pathlib
import re

# Files of daemon/device, not folders, that are one part together.
DEVICE_FILES = {"device", "device_counters", "device_forget", "device_order", "device_show",
                "device_show_paths",
                "device_state", "session_turn", "sigbus_guard"}

# Room -> its parts, the lowest first: folders, and files without their suffix. Parts of one row do
# not include each other. The room's other files are shared by all parts: the headers may put
# together what the parts declare; the .c files use no part.
ORDERS = {
    "proto/": [{"base"}, {"wire", "shm", "ctl"}, {"mad"}],
    "lib/nic/": [{"base"}, {"mem", "recorder"}, {"engine", "port"}, {"path"}],
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
    "lib/client/": [{"native"}, {"admin"}],
    "lib/dropin/": [{"guard", "view", "verbs"}, {"rdmacm"}, {"rsockets"}],
    # A handler of signals reaches what is below it, and no lock but the table's.
    "lib/dropin/guard/": [
        {"guard", "bare_calls", "guarded_copy"},
        {"code_ranges", "action_table"},
        {"held_signals"},
        {"fault_handler"},
        {"kernel_actions"},
        {"guard_interface", "guard_open", "signal_calls"},
    ],
    "lib/apis/": [{"dial"}, {"rdma", "connection", "rpc"}],
    "daemon/shared/": [{"base", "loop", "network", "reports"}, {"link", "quota"}, {"served_peer"}],
    "daemon/control/": [
        {"cm", "lanes", "view"},
        {"network", "supervisor"},
        {"clients"},
        {"cm_ids"},
        {"server"},
        {"main"},
    ],
    "daemon/device/": [
        {"memory"},
        {"session"},
        {"queues"},
        {"objects"},
        {"requests"},
        DEVICE_FILES,
        {"link"},
        {"host_process", "host_program"},
    ],
}
SHARED = -1


def part_of(name, room):
    return pathlib.PurePath(name[len(room):].split("/")[0]).stem


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
            name = match.group(1)
            used = part_of(name, room) if name.startswith(room) else own
            if is_together(room, own, used):
                continue
            if used != own and used in ranks and ranks[used] >= ranks.get(own, SHARED):
                line = text.count("\n", 0, match.start(1)) + 1
                tree.complain(path, line, f"{own} must not include \"{name}\": see "
                                          f"folder_order.py")


TOGETHER = {"daemon/device/": DEVICE_FILES}


def is_together(room, *parts):
    return TOGETHER.get(room, set()).issuperset(parts)


def check_folder_order(tree):
    for room, order in ORDERS.items():
        check_room(tree, room, order)
