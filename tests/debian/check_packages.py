#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_packages.py --tree TREE --build BUILD [--cmake CMAKE]

Holds debian/ against the project without building packages: each file that the project installs
is in one package, and no list names a file that is not there; the symbols files name what the
libraries export; each page of doc/ is in a package; the build needs in debian/control are those
of tools/packages.txt; the version is that of CMakeLists.txt. Prints one line for each difference
and exits 1 when there is any. test_check_packages.py proves that each can be found.
"""
import argparse
import fnmatch
import pathlib
import re
import subprocess
import sys
import tempfile

# Those that every Debian package may build with.
ESSENTIAL = {"gcc", "libc6-dev"}
# Those that make packages of what needs no build.
HELPERS = {"debhelper-compat", "dh-python", "pybuild-plugin-pyproject", "python3-all",
           "python3-setuptools"}
LIBRARY_LISTS = "librnic0"


def read_list(path):
    """The patterns of a list of debhelper's, without comments."""
    lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [line.split()[0] for line in lines if line and not line.startswith("#")]


def read_lists(folder):
    """Package -> patterns; not-installed is one of the packages."""
    lists = {path.stem: read_list(path) for path in folder.glob("*.install")}
    lists["not-installed"] = read_list(folder / "not-installed")
    return lists


def matches(name, pattern):
    """As debhelper has it: a star stays within a folder, and a folder stands for all below."""
    parts, wanted = name.split("/"), pattern.rstrip("/").split("/")
    return len(parts) >= len(wanted) and all(map(fnmatch.fnmatchcase, parts, wanted))


def check_files(names, lists):
    """A file that not-installed names may be in a package as well."""
    patterns = [(package, pattern) for package, known in sorted(lists.items()) for pattern in known]
    for name in sorted(names):
        owners = {package for package, pattern in patterns if matches(name, pattern)}
        if not owners:
            yield f"{name} is in no package"
        if len(owners - {"not-installed"}) > 1:
            yield f"{name} is in {' and '.join(sorted(owners))}"
    for package, pattern in patterns:
        if not any(matches(name, pattern) for name in names):
            yield f"{package}: nothing is installed as {pattern}"


def read_symbols(text):
    """Library -> symbols with their version nodes."""
    libraries, symbols = {}, set()
    for line in text.splitlines():
        if re.match(r"\S+\.so\.\S+ ", line):
            symbols = libraries.setdefault(line.split()[0], set())
        elif line.startswith(" "):
            symbols.add(line.split()[0])
    return libraries


def check_documents(names, patterns):
    """Every page is in a package."""
    for name in sorted(names):
        if not any(matches(name, pattern) for pattern in patterns):
            yield f"{name} is in no list of documents"


def check_symbols(exported, listed):
    """Both are library -> symbols."""
    for library in sorted(exported.keys() - listed.keys()):
        yield f"the symbols file lacks {library}"
    for library in sorted(listed.keys() - exported.keys()):
        yield f"there is no {library}, which the symbols file has"
    for library in sorted(exported.keys() & listed.keys()):
        for symbol in sorted(exported[library] - listed[library]):
            yield f"{library}: the symbols file lacks {symbol}"
        for symbol in sorted(listed[library] - exported[library]):
            yield f"{library}: there is no {symbol}, which the symbols file has"


def read_needs(control):
    """The packages of Build-Depends, without versions and profiles."""
    field = re.search(r"^Build-Depends:(.*(?:\n[ \t].*)*)", control, re.MULTILINE)[1]
    return {re.match(r"[a-z0-9.+-]+", part.strip())[0] for part in field.split(",")}


def read_groups(text, groups):
    rows = (line.split() for line in text.splitlines() if line and not line.startswith("#"))
    return {package for group, package in rows if group in groups}


def check_needs(control, packages):
    wanted = read_groups(packages, {"core", "verbs", "apis", "lab", "serve"}) - ESSENTIAL
    known = wanted | read_groups(packages, {"test"}) | HELPERS
    needs = read_needs(control)
    for package in sorted(wanted - needs):
        yield f"debian/control does not build with {package}"
    for package in sorted(needs - known):
        yield f"tools/packages.txt does not know {package} of debian/control"


def check_version(cmake, changelog):
    project = re.search(r"^project\(rnicd VERSION (\S+)", cmake, re.MULTILINE)[1]
    package = re.match(r"rnicd \((\S+)\)", changelog)[1]
    if project != package:
        yield f"CMakeLists.txt has version {project}, debian/changelog has {package}"


def installed_names(root):
    """As a package has them: below usr, and libraries below a folder of the processor."""
    for path in root.rglob("*"):
        if path.is_symlink() or not path.is_dir():
            name = path.relative_to(root).as_posix()
            yield re.sub(r"^lib/(?![a-z0-9_]+-linux-gnu/|systemd/|sysusers|tmpfiles)",
                         "lib/triplet/", name)


def exported_symbols(library):
    """Of one library, by its name for the loader."""
    dynamic = subprocess.run(["readelf", "-dW", library], check=True, capture_output=True,
                             text=True).stdout
    name = re.search(r"\(SONAME\).*\[(.*)\]", dynamic)[1]
    table = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", library],
                           check=True, capture_output=True, text=True).stdout
    symbols = {line.split()[2].replace("@@", "@") for line in table.splitlines()}
    return name, {symbol if "@" in symbol else f"{symbol}@{symbol}" for symbol in symbols}


def check_tree(tree, root):
    folder = tree / "debian"
    names = {f"usr/{name}" for name in installed_names(root)}
    lists = read_lists(folder)
    yield from check_files(names, lists)
    pages = {path.relative_to(tree).as_posix() for path in (tree / "doc").rglob("*.md")}
    yield from check_documents(pages, read_list(folder / "rnicd.docs"))
    libraries = {path.resolve() for path in root.glob("lib/**/librnic*.so*")
                 if path.parent.name != "rnic"}
    listed = read_symbols((folder / f"{LIBRARY_LISTS}.symbols").read_text(encoding="utf-8"))
    yield from check_symbols(dict(map(exported_symbols, libraries)), listed)
    control = (folder / "control").read_text(encoding="utf-8")
    packages = (tree / "tools/packages.txt").read_text(encoding="utf-8")
    yield from check_needs(control, packages)
    yield from check_version((tree / "CMakeLists.txt").read_text(encoding="utf-8"),
                             (folder / "changelog").read_text(encoding="utf-8"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tree", required=True, type=pathlib.Path)
    parser.add_argument("--build", required=True)
    parser.add_argument("--cmake", default="cmake")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([arguments.cmake, "--install", arguments.build, "--prefix", folder],
                       check=True, capture_output=True)
        differences = list(check_tree(arguments.tree, pathlib.Path(folder)))
    for difference in differences:
        print(difference)
    print(f"debian/: {len(differences)} differences")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
