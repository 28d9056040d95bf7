#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_completion.py --cmake CMAKE --build BUILD

The completion of each installed program, in bash and in zsh, offers the options of --help, all of
them and no others, and the values and files that --help speaks of. The functions of the shells that
do the rest are replaced here by ones that print what they are asked for, so that no shell needs a
terminal. One process of each shell asks for everything.
"""

import argparse
import re
import shutil
import subprocess
import sys

from installed_tree import tree_of_arguments

SKIP = 77

BASH = r"""
_command_offset() { COMPREPLY=("offset $1"); }
compopt() { :; }
asks() {
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
	_rnic_complete "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
	echo "${COMPREPLY[*]}"
}
"""

ZSH = r"""
_call_program() { shift; eval "$@"; }
_arguments() { print -r -- "${(pj:\t:)@}"; }
asks() { words=("$@"); ${functions_of[${1:t}]}; }
typeset -A functions_of
"""

# A command line whose last word is to be completed -> what bash offers, words of zsh's specs.
VALUES = [
    ("rnicd --port ''", "auto uring socket", ["--port=", "(auto uring socket)"]),
    ("rnicd --port = u", "uring", ["--port=", "(auto uring socket)"]),
    ("rnicd --capture /etc/passw", "/etc/passwd", ["--capture=", ":_files"]),
    ("rnicd --user roo", "root", ["--user=", ":_users"]),
    ("rnicctl sh", "show", ["1:argument:(show "]),
    ("rnicctl show trou", "troubles",
     ["2:argument:(device ",
      "1:subcommand:(show explain top serve link event qp fault record metrics cdi)"]),
    ("rnicctl top pat", "paths", ["2:argument:(clients ", "-i+"]),
    ("rnicctl metrics -o /etc/passw", "/etc/passwd", ["-o+", ":_files"]),
    ("rnicctl -s /etc/passw", "/etc/passwd", ["-s+", ":_files"]),
    ("rnic-run --ns -s a.sock ls -", "offset 4", ["*::arguments:_normal"]),
    ("rnic-run --socket = a.sock ls -", "offset 4", ["(-):command:_command_names"]),
    ("rnic-inspect /etc/passw", "/etc/passwd", ["1:argument:_files"]),
    ("rnic-lab la", "lambda", ["1:argument:(send write read lambda trace)",
                          "2:argument:{_hosts; compadd --  send write write-imm read add}"]),
    ("rnic-lab trace write-", "write-imm", []),
    ("rnic-lambda-cc -o /etc/passw", "/etc/passwd", ["-o+", ":_files"]),
]
SUBCOMMANDS = {"rnicctl": "show"}


def options_of_help(program):
    command = [program, *SUBCOMMANDS.get(program.name, "").split(), "--help"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^ {2,6}(?:(-[A-Za-z])\b,? ?)?(?:-\?, )?(--[a-z-]+)?", text, re.MULTILINE)
    return {option for pair in found for option in pair if option}


def ask_shell(shell, script):
    done = subprocess.run([*shell, "-c", script], capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL, check=False)
    return done.stdout.splitlines(), done.stderr


def lines_of_values(programs):
    """The rows of VALUES whose programs are installed."""
    return [(f"{programs[line.split()[0]]}{line.removeprefix(line.split()[0])}", offer, specs)
            for line, offer, specs in VALUES if line.split()[0] in programs]


def check_bash(tree, programs):
    folder = tree.root / "share/bash-completion/completions"
    script, values = BASH, lines_of_values(programs)
    for name, program in programs.items():
        script += f". '{folder / name}'; complete -p {name}; asks '{program}' -\n"
    script += "".join(f"asks {line}\n" for line, *_ in values)
    answers, stderr = ask_shell(["bash", "--norc"], script)
    tree.expect("bash is silent", stderr == "", stderr)
    for name, program in programs.items():
        registered, offered, answers = *answers[:2], answers[2:]
        tree.expect(f"bash completes {name}", registered == f"complete -F _rnic_complete {name}")
        options, told = set(offered.split()), options_of_help(program)
        tree.expect(f"bash offers the options of {name} --help", options == told, options ^ told)
    for line, wanted, _ in values:
        offered, answers = answers[0].split(), answers[1:]
        tree.expect(f"bash offers for {line}", set(wanted.split()) <= set(offered), offered)
        tree.expect(f"bash offers little for {line}", len(offered) < 5, offered)


def check_zsh(tree, programs):
    folder = tree.root / "share/zsh/site-functions"
    script, values = ZSH + f"fpath=('{folder}')\n", lines_of_values(programs)
    for name, program in programs.items():
        first = (folder / f"_{name}").read_text(encoding="utf-8").split("\n", maxsplit=1)[0]
        tree.expect(f"zsh completes {name}", first == f"#compdef {name}", first)
        script += f"functions_of[{name}]=_{name}; autoload -Uz _{name}; asks '{program}' -\n"
    script += "".join(f"asks {line}\n" for line, *_ in values)
    answers, stderr = ask_shell(["zsh", "-f"], script)
    tree.expect("zsh is silent", stderr == "", stderr)
    for name, program in programs.items():
        specs, answers = answers[0], answers[1:]
        options = set(re.findall(r"(?:^|\t)(?:\([^)\t]*\))?(--?[\w-]+)[=+]?\[", specs))
        told = options_of_help(program)
        tree.expect(f"zsh offers the options of {name} --help", options == told, options ^ told)
    for line, _, wanted in values:
        specs, answers = answers[0], answers[1:]
        for spec in wanted:
            tree.expect(f"zsh has {spec} for {line}", spec in specs, specs)


def main():
    _, tree = tree_of_arguments(argparse.ArgumentParser())
    with tree:
        programs = {path.name: path for path in sorted(tree.root.glob("bin/*"))}
        check_bash(tree, programs)
        has_zsh = shutil.which("zsh") is not None
        if has_zsh:
            check_zsh(tree, programs)
    status = tree.report(f"{len(programs)} programs in {'bash and zsh' if has_zsh else 'bash'}")
    if not has_zsh:
        print("skipped: zsh is not installed")
    return status or (0 if has_zsh else SKIP)


if __name__ == "__main__":
    sys.exit(main())
