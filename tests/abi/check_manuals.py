#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_manuals.py --cmake CMAKE --build BUILD [--whole]

The manual of an installation: each call that a library shows has a page of section 3, by its own
name and by its usual one; each page names what its file is called after; the pages that one of ours
names exist, in a build that is --whole; and groff, mandoc and lexgrog have no complaint.
check_command_lines.py has the pages of the programs.
"""

import argparse
import re
import shutil
import subprocess
import sys

from installed_tree import tree_of_arguments

SKIP = 77
# Of rdma-core's manual, whatever their names begin with.
FOREIGN = "rdma_"
REFERENCE = re.compile(r"^\.BR ([\w.\\-]+) \((\d)\)|\\fB([\w.\\-]+)\\fR\((\d)\)", re.MULTILINE)


def shown_calls(tree):
    for library in tree.libraries.glob(f"librnic*.so.{tree.version}"):
        text = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True,
                              text=True, check=True).stdout
        yield from re.findall(r" T (\w+)", text)


def usual_names(tree):
    """The macros that stand for a call, but those whose names have pages of rdma-core."""
    for header in tree.root.glob("include/rnic/*.h"):
        text = header.read_text(encoding="utf-8")
        for name in re.findall(r"^#define\s+(\w+)\s+rnic_\w+$", text, re.MULTILINE):
            if not name.startswith(FOREIGN):
                yield name


def check_pages(tree, manual, is_whole):
    for name in {*shown_calls(tree), *usual_names(tree)}:
        tree.expect(f"{name} has a page", (manual / "man3" / f"{name}.3").is_file())
    for page in manual.glob("man*/*"):
        text = page.read_text(encoding="utf-8")
        names = re.search(r"^\.SH NAME\n(.*?) \\- ", text, re.MULTILINE)
        names = names[1].replace("\\-", "-").split(", ") if names else []
        tree.expect(f"{page.name} names {page.stem}", page.stem in names, names)
        if page.is_symlink() or not is_whole:
            continue
        for found in REFERENCE.findall(text):
            name, section = (found[0] or found[2]).replace("\\-", "-"), found[1] or found[3]
            if name.startswith(("rnic", "iw_")):
                tree.expect(f"{page.name} names a page that exists",
                            (manual / f"man{section}" / f"{name}.{section}").is_file(),
                            f"{name}({section})")


# A program, its command without the pages, and whether the pages that it finds good are silent.
JUDGES = {
    "groff": (["groff", "-man", "-ww", "-z", "-Tutf8"], True),
    "mandoc": (["mandoc", "-T", "lint", "-W", "warning"], True),
    "lexgrog": (["lexgrog"], False),
}


def ask_judges(tree, pages):
    """The judges that are not there."""
    missing = []
    for name, (command, is_silent) in JUDGES.items():
        if not shutil.which(name):
            missing.append(name)
            continue
        done = subprocess.run([*command, *pages], capture_output=True, text=True, check=False)
        tree.expect(f"{name} has no complaint",
                    done.returncode == 0 and done.stderr == "" and
                    not (is_silent and done.stdout), f"\n{done.stdout}{done.stderr}")
    return missing


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--whole", action="store_true")
    arguments, tree = tree_of_arguments(parser)
    with tree:
        manual = tree.root / "share/man"
        check_pages(tree, manual, arguments.whole)
        pages = sorted(path for path in manual.glob("man*/*") if not path.is_symlink())
        missing = ask_judges(tree, pages)
    status = tree.report(f"{len(pages)} pages")
    if missing:
        print(f"skipped: the judges {' and '.join(missing)} are not installed")
    return status or (SKIP if missing else 0)


if __name__ == "__main__":
    sys.exit(main())
