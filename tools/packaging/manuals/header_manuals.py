#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""header_manuals.py --include DIR --output DIR HEADER=LIBRARY...

Writes manual pages of section 3 from the comments of public headers: one for each comment that
describes functions, under the name of the first one; a link to it for each other name; and one for
each header, with its conventions and types. HEADER is the name in #include, LIBRARY the name for
pkg-config, or "none".

A comment begins with a sentence that says what the call does: its first part is the page's line in
NAME. From the first "-EINVAL: ..." on, a comment is a list of errors.
"""

import argparse
import pathlib
import re
import shutil
import sys

from header_parts import Header
from manual_text import code, escape, filled, inline, minus, prose, prototype

DATE = "2026-11-25" # of the pages' form; a date of the build would make each build differ
SUMMARY_COLUMNS = 90
# Short names that may have a page in librdmacm's manual: a program finds ours by the long name.
FOREIGN = "rdma_"
ERROR = r"-?E[A-Z]{2,}"
ERROR_HEAD = (rf"(?P<names>{ERROR}(?:(?:,| and|, and for a daemon that hangs) {ERROR})*)"
              r"(?P<also>,? also)?[:.](?= |$) ?")
ERROR_TEXT = r"(?=Errors |Other errors |In these cases )"
ERROR_START = re.compile(rf"(?:^|(?<=[.;:] ))(?:{ERROR_HEAD}|{ERROR_TEXT})")


class ManualError(Exception):
    pass


class Manual:
    """All headers, and who has a page: the names of functions, long and short, and of headers."""

    def __init__(self, include, headers):
        self.headers = {name: Header(include / name) for name, _ in headers}
        self.libraries = dict(headers)
        self.pages, self.types = {}, {}
        for name, header in self.headers.items():
            for part in header.types:
                self.types.update({type_name: part for type_name in part.types})
            for family in header.families:
                for function in family.functions:
                    self.pages[function.name] = family.functions[0].name
            for name, short in header.short_names.items():
                if name in self.pages and not short.startswith(FOREIGN):
                    self.pages[short] = self.pages[name]


def header_page(header_name):
    return header_name.replace("/", "_")


def summary(comment, what):
    """The first part of the comment's first sentence, for NAME."""
    parts = re.split(r"((?<=[\w)`\]])[.:;](?:\s|$)| \()", " ".join(comment.split()))
    text = parts[0]
    if parts[1:] and parts[1] == ": " and len(parts[0] + parts[2]) < SUMMARY_COLUMNS - 2:
        text = f"{parts[0]}: {parts[2]}"
    while len(text) > SUMMARY_COLUMNS and ", " in text:
        text = text.rpartition(", ")[0]
    if not text or re.match(ERROR, text) or len(text) > SUMMARY_COLUMNS:
        raise ManualError(f"{what}: no short sentence says what it is: {text}")
    first = text.split()[0]
    text = text if first != "A" and first.upper() == first else text[0].lower() + text[1:]
    return escape(text.replace("`", ""))


def page_head(name, names, what, source):
    return ['.\\" SPDX-License-Identifier: MIT',
            f'.\\" header_manuals.py made this from <{source}>.',
            f'.TH {minus(name.upper())} 3 {DATE} rnicd "Library Functions"', ".SH NAME",
            f"{', '.join(minus(each) for each in names)} \\- {what}"]


def library_lines(library):
    if library == "none":
        return []
    return [".SH LIBRARY", f".BR lib{minus(library)} ,",
            f".B pkg\\-config \\-\\-cflags \\-\\-libs {minus(library)}"]


def see_also(own, pages):
    """`pages` are pairs of name and section."""
    entries = sorted(set(pages) - {(own, 3)}, key=lambda page: (page[1], page[0]))
    lines = [f".BR {minus(name)} ({section})," for name, section in entries]
    return [".SH SEE ALSO", *lines[:-1], lines[-1].rstrip(",")]


def split_errors(comment):
    """What the call does, and its errors: pairs of the names and what they mean. A sentence about
    several errors has no names."""
    described, errors = [], []
    for block in re.split(r"\n\n", comment):
        is_text = not re.match(r"\t|  |- ", block)
        text = " ".join(block.split()) if is_text else ""
        starts = list(ERROR_START.finditer(text))
        if not starts:
            described.append(block)
            continue
        before = text[:starts[0].start()].rstrip(" ;:")
        if before:
            described.append(before if before.endswith(".") else before + ".")
        for start, end in zip(starts, [*(match.start() for match in starts[1:]), len(text)]):
            meaning = text[start.end():end].rstrip(" ;")
            errors.append((re.findall(ERROR, start["names"] or ""), bool(start["also"]), meaning))
    return "\n\n".join(described), errors


def error_lines(errors, convention, pages):
    lines = []
    for names, is_also, meaning in errors:
        meaning = ("also: " if is_also else "") + meaning
        if names:
            lines += [".TP", ".BR " + ' ", " '.join(minus(name) for name in names)]
        else:
            lines += [".PP"]
        lines += filled(inline(meaning or "as of any call.", pages))
    if lines and not errors[0][0]:
        lines = lines[1:]
    return [".SH ERRORS", *lines, *([".PP"] if lines else []),
            f"\\fB{minus(convention)}\\fR(3) has the errors of any call."]


def types_of(manual, family):
    """The types that a program needs for these calls: those of the prototypes and of the text."""
    text = " ".join(" ".join(function.parameters + [function.returns])
                    for function in family.functions)
    names = re.findall(r"(?:struct|enum) (\w+)", text + " " + " ".join(family.comment.split()))
    names += re.findall(r"\b\w+(?= \*)|(?<=\[)\w+(?=\])", text)
    found = []
    while names:
        part = manual.types.get(names.pop(0))
        if part and part not in found:
            found.append(part)
            names += re.findall(r"struct (\w+)", part.code)
    return found


def type_lines(parts):
    lines = [".SH TYPES"] if parts else []
    for number, part in enumerate(parts):
        lines += [".PP"] if number else []
        lines += [*filled(inline(part.comment, {})), ".PP"] if part.comment else []
        lines += code(part.code)
    return lines


def return_sentence(header):
    """The header's own sentence on what its functions return."""
    sentences = re.split(r"(?<=[.:])\s+(?=[A-Z0-9\n-])", header.top)
    found = [" ".join(sentence.split()) for sentence in sentences if "errno" in sentence]
    return found[0].rstrip(":.") + "." if found else ""


def function_page(manual, header_name, family):
    header, name = manual.headers[header_name], family.functions[0].name
    short = header.short_names
    names = [each for function in family.functions
             for each in (function.name, short.get(function.name)) if each]
    lines = page_head(name, names, summary(family.comment, name), header_name)
    lines += library_lines(manual.libraries[header_name])
    lines += [".SH SYNOPSIS", ".nf", f".B #include <{header_name}>", ".PP"]
    for function in family.functions:
        lines += prototype(function)
    if short:
        lines += [".PP", *(f".B #define {short[function.name]} {function.name}"
                           for function in family.functions if function.name in short)]
    described, errors = split_errors(family.comment)
    lines += [".fi", ".SH DESCRIPTION", *prose(described, manual.pages)]
    if any(function.returns == "int" for function in family.functions) and return_sentence(header):
        lines += [".SH RETURN VALUE", *filled(inline(return_sentence(header), manual.pages))]
    if errors:
        lines += error_lines(errors, header_page(header_name), manual.pages)
    lines += type_lines(types_of(manual, family))
    long_names = {short: name for name, short in header.short_names.items()}
    called = [long_names.get(each, each) for each in re.findall(r"\b(\w+)\(\)", family.comment)]
    pages = [(manual.pages[each], 3) for each in called if each in manual.pages]
    return lines + see_also(name, [*pages, (header_page(header_name), 3), ("rnic", 7)])


def conventions_page(manual, header_name):
    header, name = manual.headers[header_name], header_page(header_name)
    lines = page_head(name, [name], summary(header.top, name), header_name)
    lines += library_lines(manual.libraries[header_name])
    lines += [".SH SYNOPSIS", f".B #include <{header_name}>", ".SH DESCRIPTION"]
    lines += prose(header.top, manual.pages)
    section = None
    for family in header.families:
        if section is None:
            lines.append(".SH FUNCTIONS")
        if family.section != section and family.section:
            title = family.section[0].upper() + family.section[1:]
            lines.append(f".SS {inline(title, manual.pages)}")
        section = family.section
        heads = [f"\\fB{function.name}\\fR(3)" for function in family.functions]
        lines += [".TP", ", ".join(heads), summary(family.comment, heads[0])]
    lines += type_lines(header.types)
    others = [(header_page(other), 3) for other in manual.headers
              if other in header.top or manual.libraries[other] == manual.libraries[header_name]]
    return lines + see_also(name, [*others, ("rnic", 7)])


def write_page(folder, name, lines):
    (folder / f"{name}.3").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_pages(manual, folder):
    for header_name, header in manual.headers.items():
        write_page(folder, header_page(header_name), conventions_page(manual, header_name))
        for family in header.families:
            write_page(folder, family.functions[0].name,
                       function_page(manual, header_name, family))
    for name, page in manual.pages.items():
        if name != page:
            (folder / f"{name}.3").symlink_to(f"{page}.3")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--include", required=True, type=pathlib.Path)
    parser.add_argument("--output", required=True, type=pathlib.Path)
    parser.add_argument("headers", nargs="+")
    arguments = parser.parse_args()
    manual = Manual(arguments.include, [header.split("=") for header in arguments.headers])
    shutil.rmtree(arguments.output, ignore_errors=True)
    arguments.output.mkdir(parents=True)
    try:
        write_pages(manual, arguments.output)
    except ManualError as error:
        sys.exit(f"header_manuals.py: {error}")


if __name__ == "__main__":
    main()
