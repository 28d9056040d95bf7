#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a page of doc/ has to type, and what it says comes then.

    type_page.py titles PAGE               prints the titles of its sections
    type_page.py script PAGE TITLE         prints the commands of a section, for bash
    type_page.py program PAGE              prints the C program in the page
    type_page.py judge PAGE TITLE OUTPUT   whether the file has every line that the page shows

A section begins with a heading, "## " or "### ". Its indented blocks hold commands behind "$ " and
lines of output. After a command that ends with "&" the script calls the function awaits with the
command. A line is found when another one differs from it in numbers and blanks alone; "..." stands
for anything, and "or: " begins another text for the line before.
"""

import pathlib
import re
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


def script(lines):
    for line in lines:
        if line.startswith("$ "):
            print(line[2:])
            if line.endswith(" &"):
                print(f"awaits '{line[2:-2]}'")


NUMBER = r"0x[0-9a-f]+|[0-9]+(?:\.[0-9]+)*"


def plain(line):
    """Without its numbers, which differ in each run; the one small number of a line is a count."""
    numbers = re.findall(NUMBER, line)
    if len(numbers) != 1 or len(numbers[0]) > 1:
        line = re.sub(NUMBER, "#", line)
    return " ".join(line.split())


def take(texts, printed):
    """Takes the first line that is as one of the texts. Each line that was printed proves one."""
    for number, line in enumerate(printed):
        if any(pattern_of(text).fullmatch(line) for text in texts):
            del printed[number]
            return True
    return False


def pattern_of(line):
    parts = plain(line).split("...")
    return re.compile(".*".join(re.escape(part.strip()) for part in parts))


def judge(lines, output):
    printed = [plain(line) for line in pathlib.Path(output).read_text().splitlines()]
    wanted = []  # lines, each a list of the texts that will do
    for line in lines:
        if line.startswith("or: "):
            wanted[-1].append(line[4:])
        elif not line.startswith("$ ") and line.strip() != "...":
            wanted.append([line])
    missing = [texts for texts in wanted if not take(texts, printed)]
    for texts in missing:
        print(f"not printed: {' or '.join(texts)}")
    return 1 if missing else 0


def main():
    what, page = sys.argv[1:3]
    if what == "titles":
        print("\n".join(title for title, lines in sections(page).items() if lines))
    elif what == "program":
        print(re.search(r"^```c\n(.*?)^```$", pathlib.Path(page).read_text(), re.M | re.S)[1])
    elif what == "script":
        script(sections(page)[sys.argv[3]])
    else:
        return judge(sections(page)[sys.argv[3]], sys.argv[4])
    return 0


if __name__ == "__main__":
    sys.exit(main())
