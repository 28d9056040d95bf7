# SPDX-License-Identifier: MIT
"""The links of pages to files of this tree lead somewhere: a test that is gone proves nothing."""

import re

LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)(?:#[^)]*)?\)")


def check_page_links(tree):
    for path, text in tree.texts({".md"}):
        for number, line in enumerate(text.splitlines(), 1):
            for match in LINK.finditer(line):
                if not (path.parent / match.group(1)).exists():
                    tree.complain(path, number, f"there is no {match.group(1)}")
