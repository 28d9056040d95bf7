# SPDX-License-Identifier: MIT
"""A function's name should say which file it is from: in a stack trace the name stands alone."""

import collections
import re

from tree_files import without_comments_and_strings

REPEATED_NAMES = 30


def function_names(text):
    """The functions that a C file defines. Each starts in the first column, and its body at "{"."""
    head = ""
    for line in without_comments_and_strings(text).splitlines():
        if line.rstrip() == "{":
            match = re.match(r"[\w\s*]*?\b(\w+)\s*\(", head)
            if match:
                yield match.group(1)
        elif re.match(r"[A-Za-z_]", line):
            head = re.sub(r"__attribute__\s*\(\(.*?\)\)\)*", "", line)


def check_repeated_names(tree):
    files = collections.defaultdict(set)
    for path in tree.product_sources():
        if path.suffix == ".c":
            for name in function_names(path.read_text(errors="replace")):
                files[name].add(path)
    # Every program has a main().
    repeated = sorted(name for name in files if len(files[name]) > 1 and name != "main")
    if len(repeated) >= REPEATED_NAMES:
        tree.complaints.append(f"{len(repeated)} names of functions occur in several files, "
                               f"fewer than {REPEATED_NAMES} may: {' '.join(repeated)}")
