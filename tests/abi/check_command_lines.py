#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_command_lines.py --cmake CMAKE --build BUILD

Installs the build into a folder and asks every program there what a newcomer asks. --help and
--version print to standard output and end with status 0. Each program for people has a manual with
the usual parts, without a warning of man, that names the options of --help and no others.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PARTS = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES", "SEE ALSO"]
ARGP = {"help", "usage", "version"} # of every program
SUBCOMMANDS = {"rnicctl": ["show", "explain", "top", "serve", "link", "event", "qp",
                           "fault", "record", "metrics", "cdi"]}

problems = []


def expect(what, is_so, detail=""):
    if not is_so:
        problems.append(f"{what}: {detail}".rstrip(": \n"))


def ask(program, *words):
    """What the program prints. It must say nothing to standard error."""
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=30,
                          stdin=subprocess.DEVNULL, check=False)
    what = f"{program.name} {' '.join(words)}"
    expect(f"{what} ends with 0", done.returncode == 0, f"{done.returncode} {done.stderr}")
    expect(f"{what} is silent on standard error", done.stderr == "", done.stderr)
    expect(f"{what} prints", done.stdout != "")
    return done.stdout


def options_of_help(text):
    return set(re.findall(r"^ +(?:-\S, )?--([a-z-]+)", text, re.MULTILINE)) - ARGP


def options_of_manual(text):
    """Those that the part OPTIONS lists, each behind a .TP."""
    part = re.search(r"^\.SH OPTIONS\n(.*?)(?=^\.SH |\Z)", text, re.MULTILINE | re.DOTALL)
    if not part:
        return set()
    heads = re.findall(r"^\.TP\n(.*)$", part[1], re.MULTILINE)
    return {option for head in heads
            for option in re.findall(r"--([a-z-]+)", head.replace("\\", ""))}


def check_manual(name, path, help_text):
    text = path.read_text(encoding="utf-8")
    for part in PARTS:
        expect(f"{path.name} has {part}", re.search(rf"^\.SH {part}$", text, re.MULTILINE))
    told, written = options_of_help(help_text), options_of_manual(text)
    expect(f"{path.name} names the options of {name} --help", told == written,
           f"only in --help {sorted(told - written)}, only in the manual {sorted(written - told)}")
    if shutil.which("man"):
        done = subprocess.run(["man", "--warnings", "-l", path], capture_output=True, text=True,
                              env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin", "MANWIDTH": "120",
                                   "MANROFFSEQ": ""}, check=False)
        expect(f"man formats {path.name}", done.returncode == 0 and done.stderr == "", done.stderr)


# What a subcommand tells a person to type is a command.
def check_subcommands(program):
    for word in SUBCOMMANDS[program.name]:
        command = f"{program.name} {word}"
        expect(f"the usage of {command}",
               ask(program, word, "--help").startswith(f"Usage: {command} "))
        for mistake in ("--no-such-option",), ("device", "losses"):
            done = subprocess.run([program, word, *mistake], capture_output=True, text=True,
                                  check=False)
            expect(f"{command} {' '.join(mistake)} names the help",
                   done.returncode == 1 and done.stderr.startswith(f"{command}: ") and
                   f"Try `{command} --help'" in done.stderr, done.stderr)


def check_program(program, version, manuals):
    name = program.name
    help_text = ask(program, "--help")
    expect(f"{name} --help says how to call it", help_text.startswith("Usage: "), help_text[:60])
    expect(f"{name} --version", ask(program, "--version") == f"{name} {version}\n", version)
    if name in SUBCOMMANDS:
        help_text = "".join(ask(program, word, "--help") for word in SUBCOMMANDS[name])
        check_subcommands(program)
    if program.parent.name == "libexec": # no program for people
        return
    manual = next(iter(manuals.glob(f"man*/{name}.[0-9]")), None)
    expect(f"{name} has a manual", manual is not None)
    if manual:
        check_manual(name, manual, help_text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cmake", required=True)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    version = re.search(r"^CMAKE_PROJECT_VERSION:STATIC=(.*)$",
                        (arguments.build / "CMakeCache.txt").read_text(encoding="utf-8"),
                        re.MULTILINE)[1]
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        subprocess.run([arguments.cmake, "--install", arguments.build, "--prefix", root],
                       stdout=subprocess.DEVNULL, check=True)
        programs = sorted(path for folder in ("bin", "sbin", "libexec")
                          for path in root.glob(folder + "/*") if path.is_file())
        for program in programs:
            check_program(program, version, root / "share/man")
    names = [program.name for program in programs]
    expect("the programs of a core build are installed",
           {"rnicd", "rnicctl", "rnic-run", "rnic-inspect", "rnicd-device"} <= set(names))
    print("\n".join(problems) or f"{len(names)} programs: {' '.join(names)}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
