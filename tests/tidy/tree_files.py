# SPDX-License-Identifier: MIT
"""The files of a tree, as the rules of check_tree.py see them."""

import pathlib
import re

TEXT_SUFFIXES = {".c", ".h", ".S", ".def", ".py", ".sh", ".cmake", ".map"}

# Where the product is; the rest is tests.
PRODUCT = ("daemon/", "lib/", "proto/", "tools/")


class Tree:
    """The files under a root, and what is wrong with them. Without `has_top_sources`, C files of
    the root itself are not the project's: the README's commands make one for the reader."""

    def __init__(self, root, has_top_sources=True):
        self.root = pathlib.Path(root).resolve()
        self.has_top_sources = has_top_sources
        self.complaints = []
        self.files = [path for path in sorted(self.root.rglob("*")) if self.is_ours(path)]

    def is_ours(self, path):
        parts = path.relative_to(self.root).parts
        is_hidden = any(part == ".git" or part.startswith("build") or part == "__pycache__"
                     for part in parts)
        is_foreign = len(parts) == 1 and path.suffix in {".c", ".h"} and not self.has_top_sources
        return path.is_file() and not is_hidden and not is_foreign

    def name(self, path):
        return path.relative_to(self.root).as_posix()

    def complain(self, path, line, what):
        self.complaints.append(f"{self.name(path)}:{line}: {what}")

    def texts(self, suffixes=frozenset(TEXT_SUFFIXES)):
        for path in self.files:
            if path.suffix in suffixes or (path.name == "CMakeLists.txt" and ".cmake" in suffixes):
                yield path, path.read_text(errors="replace")

    def product_sources(self):
        """The C files that are no tests."""
        for path in self.files:
            if path.suffix in {".c", ".h"} and self.name(path).startswith(PRODUCT):
                yield path


def without_comments_and_strings(text):
    """C text with comments and literals blanked, line by line as before."""

    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())

    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text,
                  flags=re.S)
