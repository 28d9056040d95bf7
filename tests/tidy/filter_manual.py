# SPDX-License-Identifier: MIT
"""The manual lists what the filter of system calls allows and the fence refuses, nothing else."""

import re

from tree_files import without_comments_and_strings

FILTER = "daemon/device/host_process/call_filter.c"
FENCE = "daemon/control/main/call_fence.c"
MANUAL = "daemon/control/main/rnicd.8"
CONSTANT = r"\b(?:F_[A-Z_]+|UDP_[A-Z_]+|IP(?:V6)?_RECV[A-Z_]+|SO_[A-Z_]+)\b"


def table(text, name):
    """The text of an array of the filter."""
    match = re.search(rf"\b{name}\[\] = \{{(.*?)\}};", text, re.S)
    return match[1] if match else ""


def calls(text):
    return set(re.findall(r"SCMP_SYS\((\w+)\)", text))


def block(text, name):
    """The text of the manual between two comments."""
    match = re.search(rf'^\.\\" {name} begin$(.*?)^\.\\" {name} end$', text, re.S | re.M)
    return match[1] if match else ""


def listed(text):
    """What stands behind the colons of a list, word by word."""
    items = re.split(r"^\.IP .*$", text, flags=re.M)
    return {word for item in items for word in re.findall(r"[a-z]\w+", item.partition(":")[2])}


def compare(tree, what, in_filter, in_manual, source=FILTER):
    path = tree.root / MANUAL
    for name in sorted(in_filter - in_manual):
        tree.complain(path, 1, f"{what}: {source} has {name}, the manual does not say so")
    for name in sorted(in_manual - in_filter):
        tree.complain(path, 1, f"{what}: the manual says {name}, {source} has none")


def check_fence_manual(tree):
    if not (tree.root / FENCE).exists():
        return
    code = without_comments_and_strings((tree.root / FENCE).read_text())
    fenced = calls(table(code, "call_fence_refused")) | calls(table(code, "call_fence_uring"))
    if not fenced:
        tree.complain(tree.root / FENCE, 1, "the tables of calls are not where they were")
    compare(tree, "fenced calls", fenced,
            listed(block((tree.root / MANUAL).read_text(), "fence")), FENCE)


def check_filter_manual(tree):
    if not (tree.root / FILTER).exists():
        return
    code = without_comments_and_strings((tree.root / FILTER).read_text())
    manual = (tree.root / MANUAL).read_text()
    allowed = calls(table(code, "call_filter_allowed"))
    refused = calls(table(code, "call_filter_refused"))
    limited = calls(code) - allowed - refused
    words = set(re.findall(r"\w+", block(manual, "arguments")))
    if not (allowed and refused and limited):
        tree.complain(tree.root / FILTER, 1, "the tables of calls are not where they were")
    compare(tree, "calls", allowed, listed(block(manual, "calls")))
    compare(tree, "refused calls", refused,
            set(re.findall(r"\b(?:open|openat|clone3|" + "|".join(refused) + r")\b",
                           block(manual, "refused"))))
    compare(tree, "limited calls", limited, words & limited)
    compare(tree, "arguments",
            set(re.findall(CONSTANT, code.partition("static const int call_filter_allowed")[2])),
            set(re.findall(CONSTANT, block(manual, "arguments"))))
