# SPDX-License-Identifier: MIT
"""Words that are out: old names whose things have the field's term now."""

import re

# Word -> the term in its place. A word also stands for its parts in names: "nap" for end_nap().
OUT = {
    "courtesy": "yield_backoff",
    "replay ring": "responder resources",
    "replay_ring": "responder_resources",
    "intake": "wqe_fetch",
    "closer": "deferred_close",
    "file_number": "inode_id",
    "client_user": "user_quota",
    "socket_place": "socket_path",
    "train": "GSO batch",
    "trains": "GSO batches",
    "settle": "placement",
    "settled": "placed",
    "settles": "places",
    "doze": "idle",
    "dozes": "is idle",
    "dozed": "was idle",
    "dozing": "idle",
    "nap": "futex_wait, or sleep",
    "naps": "sleeps",
    "carrier": "transport",
    "carriers": "transports",
    "early_request": "pending_listen",
    "lost_memory": "sigbus",
    "fall_in_step": "uc_resync",
    "give_way": "yield_window",
    "leave_line": "cancel_window_wait",
    "stray": "misrouted",
    "strays": "misrouted packets",
    "side area": "spill area",
    "device half": "device",
    "silent neighbour": "unreachable neighbour",
    "silent_neighbours": "unreachable_neighbours",
    "held_clients": "client_ledger",
    "costly user": "throttled user",
    "costly_users": "throttled_users",
    "rows_slot": "pending_query",
    "poll_in_vain": "on_empty_poll",
}

# Where a word means something else, and what.
RPC_CALLS = "a settled call of RPC needs no answer any more"
ALLOWED = [
    ("settle", "lib/apis/rpc/", RPC_CALLS),
    ("settle", "tests/sim/rpc_", RPC_CALLS),
    ("settle", "tests/unit/lib/apis/rpc/", RPC_CALLS),
    ("settled", "lib/apis/rpc/", RPC_CALLS),
    ("settled", "tests/sim/rpc_", RPC_CALLS),
    ("settled", "tests/unit/lib/apis/rpc/", RPC_CALLS),
    ("settle", "lib/client/native/rnic_cm", "an event is settled when its channel has changed"),
    ("settle", "lib/nic/port/udp/udp_batch.c", "the outcome of a batch is settled"),
    ("carrier", "daemon/shared/network/", "the carrier of a network interface"),
    ("carrier", "daemon/control/network/", "the carrier of a network interface"),
    ("carrier", "lib/nic/port/", "the carrier of a network interface"),
    ("carrier", "tests/interop/bad_start.sh", "a pigeon"),
    ("give_way", "daemon/control/cm/", "a connection gives way to others when there are many"),
]

# A session is what one program has in a device. Where the word stood for something else: the rooms,
# and the words in its place.
NO_SESSION = {
    "lib/apis/rpc/": "conversation",
    "lib/include/rnic/rpc": "conversation",
    "tests/unit/lib/apis/rpc/": "conversation",
    "tests/sim/rpc_": "conversation",
    "tests/fuzz/fuzz_rpc_": "conversation",
    "tests/interop/apis/rpc": "conversation",
    "lib/dropin/verbs/": "opened device",
    "tools/lab/": "meeting, or connection",
    "tools/examples/": "a word of the example",
    "daemon/control/cm_ids/": "client",
}
# The right meaning in such a room: the whole line.
REAL_SESSIONS = {
    " * the session of that process the exporter's protection domains and tells it the keys of the",
}

SUFFIXES = {".c", ".h", ".def", ".py", ".sh", ".cmake", ".map", ".md", ".rnic", ".1", ".7", ".8"}

# The rule itself, its test, and the history of names.
EXEMPT = {"tests/tidy/out_words.py", "tests/tidy/test_check_tree.py", "CHANGELOG.md"}


def is_allowed(name, word):
    return any(word == allowed and name.startswith(prefix) for allowed, prefix, _ in ALLOWED)


def check_sessions(tree, path, lines):
    terms = [term for room, term in NO_SESSION.items() if tree.name(path).startswith(room)]
    for number, line in enumerate(lines, 1) if terms else ():
        if "session" in line.lower() and line not in REAL_SESSIONS:
            for term in terms:
                tree.complain(path, number, f'no "session" is here: {term}')


def check_words(tree):
    words = "|".join(re.escape(word) for word in OUT)
    pattern = re.compile(rf"(?<![A-Za-z])({words})(?![A-Za-z])", re.I)
    for path, text in tree.texts(SUFFIXES):
        if tree.name(path) in EXEMPT:
            continue
        lines = text.splitlines()
        check_sessions(tree, path, lines)
        for number, line in enumerate(lines, 1):
            for match in pattern.finditer(line):
                word = match.group(1).lower()
                if not is_allowed(tree.name(path), word):
                    tree.complain(path, number, f'"{word}" is out: {OUT[word]}')
