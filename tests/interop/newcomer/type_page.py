#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a page of doc/ has to type, and what it says comes then.

    type_page.py titles PAGE               prints the titles of its sections
    type_page.py script PAGE TITLE         prints the commands of a section, for bash
    type_page.py program PAGE NAME         prints the C program in the page that begins "/* NAME:"
    type_page.py judge PAGE TITLE TYPED BACKGROUND
                                           whether these outputs have every line that the page shows

A section begins with a heading, "## " or "### ". Its indented blocks hold commands behind "$ " and
lines of output. The script prints the title and each command, so that its output is a transcript.
What a command prints that ends with "&" goes to descriptor 3, and the script then calls the
function awaits with the command.

The lines behind a command must come from this command, in the order of the page, or from one in the
background. "..." stands for anything, and "or: " begins another text for the line before. A number
of one or two digits and an address must be as they are. Any number does for a longer one, but the
same for all its places in the line.
"""

import pathlib
import re
import shlex
import sys


def sections(page):
    """Title -> the lines of its indented blocks."""
    found, title, is_fenced = {}, None, False
    for line in pathlib.Path(page).read_text().splitlines():
        if line.startswith("```"):
            is_fenced = not is_fenced
        elif is_fenced:
            continue
        elif match := re.match(r"##+ (.*)", line):
            title = match[1]
            found[title] = []
        elif line.startswith("    ") and title:
            found[title].append(line[4:])
    return found


def heading(title):
    return f"== {title}"


def script(title, lines):
    print(f"echo {shlex.quote(heading(title))}")
    for line in lines:
        if not line.startswith("$ "):
            continue
        print(f"echo {shlex.quote(line)}")
        if line.endswith(" &"):
            print(f"{line[2:-2]} >&3 2>&3 &")
            print(f"awaits {shlex.quote(line[2:-2])}")
        else:
            print(line[2:])


NUMBER = r"0x[0-9a-f]+|[0-9]+(?:\.[0-9]+)*"
FIXED = r"[0-9]{1,2}|[0-9]+(?:\.[0-9]+){3}"


def program(text, name):
    return re.search(rf"^```c\n(/\* {re.escape(name)}:.*?)^```$", text, re.M | re.S)[1]


def plain(line):
    return " ".join(line.split())


def pattern_of(text):
    """The lines that do for a line of the page."""
    names, pattern = {}, ""
    for part in re.split(rf"( ?\.\.\. ?|{NUMBER})", plain(text)):
        if part.strip() == "...":
            pattern += ".*"
        elif not re.fullmatch(NUMBER, part) or re.fullmatch(FIXED, part):
            pattern += re.escape(part)
        elif part in names:
            pattern += f"(?P={names[part]})"
        else:
            names[part] = f"number{len(names)}"
            pattern += f"(?P<{names[part]}>{NUMBER})"
    return re.compile(pattern)


def take(texts, printed):
    """Takes the first line that is as one of the texts: its index, or None."""
    patterns = [pattern_of(text) for text in texts]
    for index, line in enumerate(printed):
        if any(pattern.fullmatch(plain(line)) for pattern in patterns):
            del printed[index]
            return index
    return None


def blocks(lines):
    """The commands, each with its lines, each of these a list of the texts that will do."""
    found = []
    for line in lines:
        if line.startswith("$ "):
            found.append((line, []))
        elif line.startswith("or: "):
            found[-1][1][-1].append(line[4:])
        elif line.strip() != "...":
            found[-1][1].append([line])
    return found


def missing_of(wanted, printed, background):
    """The lines of one block that are missing. Takes the others, with what came before them."""
    missing = []
    for texts in wanted:
        index = take(texts, printed)
        if index is not None:
            del printed[:index]
        elif take(texts, background) is None:
            missing.append(f"not printed: {' or '.join(texts)}")
    return missing


def judge(title, lines, typed, background):
    """The complaints. Of `typed`, only what follows the title counts."""
    if heading(title) not in typed:
        return [f"not begun: {title}"]
    rest = typed[typed.index(heading(title)) + 1:]
    complaints, commands = [], blocks(lines)
    for number, (command, wanted) in enumerate(commands):
        if command not in rest:
            return complaints + [f"not typed: {command}"]
        rest = rest[rest.index(command) + 1:]
        ends = [rest.index(line) for line in rest if line.startswith("== ")][:1]
        if number + 1 < len(commands) and commands[number + 1][0] in rest:
            ends.append(rest.index(commands[number + 1][0]))
        complaints += missing_of(wanted, rest[:min(ends, default=len(rest))], background)
    return complaints


def main():
    what, page = sys.argv[1:3]
    if what == "titles":
        print("\n".join(title for title, lines in sections(page).items() if lines))
    elif what == "program":
        print(program(pathlib.Path(page).read_text(), sys.argv[3]), end="")
    elif what == "script":
        script(sys.argv[3], sections(page)[sys.argv[3]])
    else:
        outputs = [pathlib.Path(name).read_text().splitlines() for name in sys.argv[4:6]]
        complaints = judge(sys.argv[3], sections(page)[sys.argv[3]], *outputs)
        print("\n".join(complaints))
        return 1 if complaints else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
