# SPDX-License-Identifier: MIT
"""A public header, cut into its parts: the comment on top, sections, types, families of functions.

A part is what stands between two empty lines at the top level: a comment and the declarations right
below it. A function without a comment belongs to the comment before it.
"""

import pathlib
import re

SECTION = re.compile(r"^/\* ---- (.*?) ---- \*/$")
SHORT_NAME = re.compile(r"^#define\s+(\w+)\s+(rnic_\w+)$", re.MULTILINE)
PROTOTYPE = re.compile(r"([\w *]+?[ *])(\w+)\(([^;{}]*)\)(?:;| ?\{)")
CONSTANT = re.compile(r"^#define (?!RNIC_API)([A-Z]\w+)[ \t]+\S", re.MULTILINE)
NAMED_TYPE = re.compile(r"^(?:struct|enum) (\w+) \{|^typedef [\w *]+?(\w+)(?:\(.*\))?;", re.DOTALL)


class Function:
    def __init__(self, returns, name, parameters):
        self.returns, self.name = returns.strip(), name
        self.parameters = [" ".join(word.split()) for word in parameters.split(",")]


class Part:
    """A comment, without its frame, and the code below it."""

    def __init__(self, lines, section):
        text = "\n".join(lines)
        match = re.match(r"\s*/\*(.*?)\*/\n?", text, re.DOTALL)
        self.comment = strip_frame(match[1]) if match else ""
        self.code = text[match.end():] if match else text
        self.section = section
        self.functions = [Function(*found) for found in PROTOTYPE.findall(flat(self.code))]
        named = NAMED_TYPE.match(self.code.lstrip())
        self.types = [named[1] or named[2]] if named else CONSTANT.findall(self.code)
        if self.types:
            self.functions = []


class Header:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        text = self.path.read_text(encoding="utf-8")
        self.short_names = {name: short for short, name in SHORT_NAME.findall(text)}
        text = re.sub(r"#ifdef __cplusplus.*?#endif\n", "", text, flags=re.DOTALL)
        text = text.split("*/\n", 1)[1] # the licence
        self.top, self.families, self.types = "", [], []
        section = ""
        for lines in cut("".join(line for line in text.splitlines(keepends=True)
                                 if line[0] != "#" or CONSTANT.match(line))):
            mark = SECTION.match(lines[0])
            if mark:
                section = mark[1]
                continue
            part = Part(lines, section)
            if not self.top:
                self.top = part.comment
            elif part.types:
                self.types.append(part)
            elif part.functions and part.comment:
                self.families.append(part)
            elif part.functions:
                self.families[-1].functions += part.functions


def strip_frame(comment):
    lines = [re.sub(r"^\s*\* ?", "", line) for line in comment.strip().splitlines()]
    return "\n".join(line.rstrip() for line in lines).strip()


def flat(code):
    """Code in one line, without comments, bodies and what a program need not know."""
    code = re.sub(r"/\*.*?\*/", "", code, flags=re.DOTALL)
    code = re.sub(r"^\{$.*?^\}$", "{", code, flags=re.DOTALL | re.MULTILINE)
    return " ".join(re.sub(r"RNIC_API|static inline", "", code).split())


def cut(text):
    """Lists of lines that stand together: empty lines within braces and comments do not part."""
    part, depth, in_comment = [], 0, False
    for line in text.splitlines():
        if line.strip() == "" and depth == 0 and not in_comment:
            if part:
                yield part
            part = []
            continue
        part.append(line)
        for mark in re.findall(r"/\*|\*/|[{}]", line):
            if mark in "/**/":
                in_comment = mark == "/*"
            elif not in_comment:
                depth += 1 if mark == "{" else -1
    if part:
        yield part
