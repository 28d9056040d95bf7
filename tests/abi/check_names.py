#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_names.py OURS: our libibverbs has the distribution's words for each number, since people
search for these words, and scripts compare them."""

import ctypes
import sys

from check_symbols import SKIP, reference_of

FUNCTIONS = ["ibv_wc_status_str", "ibv_event_type_str", "ibv_port_state_str", "ibv_node_type_str"]
NUMBERS = range(-2, 40)


def words(path):
    library = ctypes.CDLL(path)
    found = {}
    for name in FUNCTIONS:
        function = getattr(library, name)
        function.restype = ctypes.c_char_p
        found.update({(name, number): function(number) for number in NUMBERS})
    return found


def main():
    reference = reference_of("libibverbs.so.1")
    if reference is None:
        print("skipped: the distribution's libibverbs is not installed, nothing to compare with")
        return SKIP
    ours, theirs = words(sys.argv[1]), words(reference)
    wrong = {key for key in theirs if ours[key] != theirs[key]}
    for name, number in sorted(wrong):
        print(f"{name}({number}): {ours[name, number]}, not {theirs[name, number]}")
    print(f"{len(theirs)} words of {reference} compared, {len(wrong)} differ")
    return 1 if wrong or len(set(theirs.values())) < 50 else 0


sys.exit(main())
