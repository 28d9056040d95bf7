# SPDX-License-Identifier: MIT
"""The links of pages to files of this tree, and to headings, lead somewhere."""

import re

LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")


def anchors_of(text):
    """The anchors of a page, as GitHub makes them of its headings."""
    without_code = re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)
    anchors = set()
    for heading in re.findall(r"^#+ (.*)$", without_code, re.M):
        anchor = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        repeats = sum(1 for other in anchors if re.fullmatch(re.escape(anchor) + r"(-\d+)?", other))
        anchors.add(f"{anchor}-{repeats}" if repeats else anchor)
    return anchors


def check_page_links(tree):
    for path, text in tree.texts({".md"}):
        for number, line in enumerate(text.splitlines(), 1):
            for target, anchor in LINK.findall(line):
                page = path.parent / target if target else path
                if not page.exists():
                    tree.complain(path, number, f"there is no {target}")
                elif anchor and page.suffix == ".md" and anchor not in anchors_of(page.read_text()):
                    tree.complain(path, number, f"{target or 'this page'} has no heading {anchor}")
