# SPDX-License-Identifier: MIT
"""Comments and declarations of C as text of a manual page: roff with the macros of man(7)."""

import re
import textwrap

TEXT_COLUMNS = 90
CODE_COLUMNS = 78
MARKS = re.compile(
    r"`(?P<argument>[^`]+)`"
    r"|(?P<page>[\w.-]+)\((?P<section>[1-8])\)"
    r"|(?P<call>\b[a-z_]\w*)\(\)"
    r"|(?P<header><[\w/]+\.h>)"
    r"|(?P<error>-E[A-Z]{2,}\b)"
    r"|(?P<flag>(?<![\w-])-[a-z][\w-]*)"
    r"|(?P<negative>(?<![\w-])-\d)")


def escape(text):
    return text.replace("\\", "\\e")


def minus(text):
    return escape(text).replace("-", "\\-")


def inline(text, pages):
    """A run of text, with the names in it in bold and its arguments in italics; `pages` are the
    names of functions that have a page, and the pages."""

    def mark(match):
        found = match.groupdict()
        if found["argument"]:
            return f"\\fI{minus(found['argument'])}\\fR"
        if found["page"]:
            return f"\\fB{minus(found['page'])}\\fR({found['section']})"
        if found["call"]:
            section = "(3)" if found["call"] in pages else "()"
            return f"\\fB{found['call']}\\fR{section}"
        if found["header"]:
            return f"\\fI{found['header']}\\fR"
        if found["error"]:
            return "\\%" + minus(match[0]) # no hyphen within
        return minus(match[0])

    parts, end = [], 0
    for match in MARKS.finditer(text):
        parts += [escape(text[end:match.start()]), mark(match)]
        end = match.end()
    return "".join(parts) + escape(text[end:])


def filled(text):
    """Lines of a paragraph, none of which roff takes for a request."""
    lines = textwrap.wrap(" ".join(text.split()), TEXT_COLUMNS, break_long_words=False,
                          break_on_hyphens=False)
    return ["\\&" + line if line[0] in ".'" else line for line in lines]


def code(text):
    """Code as it stands, with narrower indentation. A comment that goes on below itself, far to the
    right, stays where it is below its first line."""
    lines, shift = [], 0
    for line in text.expandtabs(8).rstrip().splitlines():
        indent = len(line) - len(line.lstrip())
        shift = indent // 2 if indent <= 24 and indent % 8 == 0 else shift
        line = escape(line[min(shift, indent):])
        lines.append("\\&" + line if line[:1] in (".", "'") else line)
    return [".EX", *(line or "\\&" for line in lines), ".EE"]


def paragraphs(comment):
    """The blocks of a comment, each with its kind: text, code or list."""
    for block in re.split(r"\n[ \t]*\n", comment):
        lines = block.splitlines()
        if all(re.match(r"\t|  ", line) for line in lines):
            yield "code", "\n".join(line[1:] if line[0] == "\t" else line[2:] for line in lines)
        elif lines[0].startswith("- "):
            yield "list", re.split(r"(?:^|\n)- ", block)[1:]
        else:
            yield "text", block


def prose(comment, pages):
    """A comment as lines of a section."""
    lines = []
    for kind, block in paragraphs(comment):
        if kind == "list":
            for item in block:
                lines += [".IP \\(bu 2", *filled(inline(item, pages))]
            continue
        lines += [".PP"] if lines else []
        if kind == "code":
            lines += [".RS 4", *code(block), ".RE"]
        else:
            lines += filled(inline(block, pages))
    return lines


def prototype(function):
    """A declaration: its words in bold, its arguments in italics, as many as fit on a line."""
    star = "" if function.returns.endswith("*") else " "
    head = f"{function.returns}{star}{function.name}("
    line, width, lines = f"\\fB{head}\\fP", len(head), []
    for number, parameter in enumerate(function.parameters):
        end = ");" if number == len(function.parameters) - 1 else ", "
        if number and width + len(parameter) + 2 > CODE_COLUMNS:
            lines.append(line.rstrip())
            line, width = " " * 8, 8
        kind, name, rest = re.fullmatch(r"(.*?)(\w+)(\[.*\])?", parameter).groups()
        if not kind:
            kind, name = name, ""
        line += f"\\fB{kind}\\fP" + (f"\\fI{name}\\fP" if name else "")
        line += f"\\fB{rest or ''}{end}\\fP"
        width += len(parameter) + len(end)
    return [*lines, line]
