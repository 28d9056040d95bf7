# SPDX-License-Identifier: MIT
"""A build, installed into a folder that then moves: what the tests of this folder look at.

    with InstalledTree(cmake, build) as tree:
        tree.root                   the prefix
        tree.libraries              its folder of libraries
"""

import os
import pathlib
import re
import subprocess
import tempfile


def cached(build, name):
    text = (pathlib.Path(build) / "CMakeCache.txt").read_text(encoding="utf-8")
    return re.search(rf"^{name}:\w+=(.*)$", text, re.MULTILINE)[1]


class InstalledTree:
    def __init__(self, cmake, build):
        self.cmake, self.build = cmake, pathlib.Path(build).resolve()
        self.version = cached(build, "CMAKE_PROJECT_VERSION")
        self.complaints = []

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        top = pathlib.Path(self.folder.name).resolve()
        prefix = cached(self.build, "CMAKE_INSTALL_PREFIX")
        subprocess.run([self.cmake, "--install", self.build], stdout=subprocess.DEVNULL, check=True,
                       env={**os.environ, "DESTDIR": str(top / "destination")})
        self.root = (top / "destination" / prefix.lstrip("/")).rename(top / "moved")
        self.scratch = top
        self.libraries = self.root / cached(self.build, "CMAKE_INSTALL_LIBDIR")
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def expect(self, what, is_so, detail=""):
        if not is_so:
            self.complaints.append(f"{what}: {detail}".rstrip(": \n"))

    def run(self, *command, **options):
        """Runs a command. What it prints on standard output; a failure is a complaint."""
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=100, check=False, **options)
        self.expect(" ".join(str(word) for word in command), done.returncode == 0,
                    f"status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def report(self, summary):
        """The exit status."""
        print("\n".join(self.complaints) or summary)
        return 1 if self.complaints else 0


def tree_of_arguments(parser):
    parser.add_argument("--cmake", required=True)
    parser.add_argument("--build", required=True)
    arguments = parser.parse_args()
    return arguments, InstalledTree(arguments.cmake, arguments.build)
