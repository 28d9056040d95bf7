# SPDX-License-Identifier: MIT
"""No two files of the product include each other in a circle; x.c and x.h count as one."""

import re

# The circles that exist, each with its reason. A file that is in no circle any more leaves the
# list.
CIRCLES = []


def unit_of(tree, path):
    return tree.name(path.with_suffix(""))


def include_graph(tree):
    """unit -> the units that it includes. Names of files are unique in the tree."""
    sources = {path.name: path for path in tree.product_sources()}
    graph = {unit_of(tree, path): set() for path in sources.values()}
    for path in sources.values():
        text = path.read_text(errors="replace")
        for target in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M):
            included = sources.get(target.rsplit("/", 1)[-1])
            if included is not None and unit_of(tree, included) != unit_of(tree, path):
                graph[unit_of(tree, path)].add(unit_of(tree, included))
    return graph


def reachable(graph, start):
    seen, todo = set(), list(graph[start])
    while todo:
        unit = todo.pop()
        if unit not in seen:
            seen.add(unit)
            todo.extend(graph[unit])
    return seen


def find_circles(graph):
    """Sets of units that all reach each other."""
    reach = {unit: reachable(graph, unit) for unit in graph}
    circles = []
    for unit in sorted(graph):
        if unit in reach[unit] and not any(unit in circle for circle in circles):
            circles.append({other for other in reach[unit] if unit in reach[other]})
    return circles


def check_circles(tree, exceptions=None):
    exceptions = CIRCLES if exceptions is None else exceptions
    circles = find_circles(include_graph(tree))
    for circle in circles:
        if not any(circle <= set(units) for _, units in exceptions):
            tree.complaints.append(f"{len(circle)} files include each other in a circle: "
                                   f"{' '.join(sorted(circle))}")
    for _, units in exceptions:
        for unit in units:
            if not any(unit in circle for circle in circles):
                tree.complaints.append(f"include_circles.py: {unit} is in no circle any more: "
                                       "take it out of CIRCLES")
