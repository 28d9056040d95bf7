#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_fragments.py FOLDER BUILD

The fragments of C in the pages of a folder compile and link, without a warning, by the commands
that stand behind them. Each becomes the body of main() with the header that its paragraph names;
what it takes for granted is declared here.
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

FRAGMENT = re.compile(r"\*\*`<(rnic/\w+\.h)>`\*\*(.*?)```c\n(.*?)```\s+(cc [^\n]*)", re.DOTALL)

PROGRAM = """
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <{header}>

char buffer[4096];
uint64_t remote_address;
uint32_t remote_key;

int main(void)
{{
{body}
}}
"""


def compiles(header, body, command, build):
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(build, os.path.join(folder, "build"))
        with open(os.path.join(folder, "program.c"), "w", encoding="utf-8") as program:
            program.write(PROGRAM.format(header=header, body=body))
        # As the command is written, for $PWD is the reader's shell's.
        strict = "-Wall -Werror -Wno-maybe-uninitialized -Wno-uninitialized"
        result = subprocess.run(
            ["bash", "-c", f"{command} {strict}"],
            cwd=folder, capture_output=True, text=True, check=False,
        )
        if result.returncode != 0:
            print(f"{header}: {shlex.join(shlex.split(command))}\n{result.stderr}")
        return result.returncode == 0


def main():
    folder, build = sys.argv[1:]
    pages = sorted(pathlib.Path(folder).rglob("*.md"))
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    fragments = FRAGMENT.findall(text)
    if len(fragments) != text.count("```c\n") or not fragments:
        print(f"{text.count('```c')} fragments of C, {len(fragments)} with header and command")
        return 1
    results = [compiles(header, body, command, build) for header, _, body, command in fragments]
    print(f"{sum(results)} of {len(results)} fragments compile")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
