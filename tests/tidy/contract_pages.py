# SPDX-License-Identifier: MIT
"""The pages of proto/: each names the headers of its folder, and "Life and death" real tests."""

import re

CONTRACTS = ("base", "ctl", "mad", "shm", "wire")
LIFE_PAGE = "proto/ctl/README.md"
SCENARIOS = "tests/interop/family/family_life.sh"
# The code words that end a cell.
WITNESSES = re.compile(r"((?:`[^`]+`(?:, )?)+)$")


def check_contract_files(tree):
    for path in tree.files:
        parts = tree.name(path).split("/")
        if len(parts) != 3 or parts[0] != "proto" or parts[1] not in CONTRACTS:
            continue
        page = path.parent / "README.md"
        if path.suffix in {".h", ".def"} and f"`{path.name}`" not in (
                page.read_text() if page.exists() else ""):
            tree.complain(page, 1, f"the page does not name {path.name}")


def check_witness(tree, number, word):
    scenarios = tree.root / SCENARIOS
    if "/" in word:
        if not (tree.root / "tests" / word).exists():
            tree.complain(tree.root / LIFE_PAGE, number, f"there is no tests/{word}")
    elif f"\n{word}() {{" not in scenarios.read_text():
        tree.complain(tree.root / LIFE_PAGE, number, f"{SCENARIOS} has no {word}")


def check_life_and_death(tree):
    page = tree.root / LIFE_PAGE
    if not page.exists():
        return
    lines = page.read_text().splitlines()
    if "## Life and death" not in lines:
        tree.complain(page, 1, "there is no table of life and death")
        return
    start = lines.index("## Life and death")
    rows = [(number, line) for number, line in enumerate(lines, 1)
            if number > start and line.startswith("|")][2:]
    if not rows:
        tree.complain(page, start + 1, "the table of life and death is empty")
    for number, line in rows:
        for cell in line.strip("| ").split(" | ")[1:]:
            witnesses = WITNESSES.search(cell.strip())
            if witnesses is None:
                tree.complain(page, number, "a cell names no test")
                continue
            for word in re.findall(r"`([^`]+)`", witnesses[1]):
                check_witness(tree, number, word)
