#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_metrics.py PROMETHEUS OPENMETRICS COUNTERS DASHBOARD

The two pages of rnicctl metrics have the same samples, and each counter of rnicctl show counters
(JSON) is among them; the Python client reads OpenMetrics; and the dashboard asks for metrics and
labels that exist.
"""

import itertools
import json
import pathlib
import re
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_prometheus

TABLE = pathlib.Path(__file__).resolve().parents[3] / "tools/rnicctl/metric_table.def"
# They count what asking for them does.
BUSY = re.compile(r"rnic_(loop|udp_receive_calls)")


def samples_of(families):
    return {(sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in families for sample in family.samples}


def check_counters(samples, counters):
    names = dict(re.findall(r'COUNTER_METRIC\("(\w+)", "(\w+)"', TABLE.read_text()))
    values = {name: value for (name, _), value in samples.items()}
    for counter, value in counters.items():
        rule = counter.removeprefix("fault ")
        name = f"rnic_{names.get(counter, 'fault_actions')}_total"
        if rule == counter and counter not in names:
            yield f"metric_table.def lacks the counter {counter}"
        elif rule != counter and not any(dict(labels).get("rule") == rule
                                         for _, labels in samples):
            yield f"no sample has the rule {rule}"
        elif rule == counter and not BUSY.match(name) and values.get(name) != value:
            yield f"{counter} is {value}, and {name} is {values.get(name)}"
    for name in names.keys() - counters.keys():
        yield f"metric_table.def has {name}, which is no counter of rnicd"


def texts_of(node):
    """All expressions of a dashboard, those of its variables included."""
    if isinstance(node, dict):
        yield from (value for key, value in node.items()
                    if key in ("expr", "query") and isinstance(value, str))
    if isinstance(node, (dict, list)):
        for child in node.values() if isinstance(node, dict) else node:
            yield from texts_of(child)


def overlap(one, other):
    return (one["x"] < other["x"] + other["w"] and other["x"] < one["x"] + one["w"] and
            one["y"] < other["y"] + other["h"] and other["y"] < one["y"] + one["h"])


def check_dashboard(samples, dashboard):
    names = {name for name, _ in samples}
    labels = {label for _, pairs in samples for label, _ in pairs}
    variables = {variable["name"] for variable in dashboard["templating"]["list"]}
    asked = list(texts_of(dashboard))
    for text in asked:
        for name in re.findall(r"\brnic_\w+", text):
            if name not in names:
                yield f"the dashboard asks for {name}, which does not exist"
        for label in re.findall(r"[{,]\s*(\w+)\s*=~?", text) + re.findall(r", (\w+)\)$", text):
            if label not in labels:
                yield f"the dashboard asks for the label {label}, which no sample has"
        for variable in re.findall(r"\$(?!__)(\w+)", text):
            if variable not in variables:
                yield f"the dashboard has no variable {variable}"
    if len(asked) < 20:
        yield f"the dashboard asks for {len(asked)} things"
    panels = dashboard["panels"]
    if len({panel["id"] for panel in panels}) != len(panels):
        yield "two panels of the dashboard have one number"
    for one, other in itertools.combinations(panels, 2):
        if overlap(one["gridPos"], other["gridPos"]):
            yield f"the panels {one['title']} and {other['title']} overlap"


def main():
    prometheus, openmetrics, counters, dashboard = (pathlib.Path(name).read_text()
                                                    for name in sys.argv[1:])
    samples = samples_of(read_prometheus(prometheus))
    opened = samples_of(read_openmetrics(openmetrics))
    complaints = [f"only one page has {key}" for key in samples.keys() ^ opened.keys()]
    complaints += [f"{key}: {value} and {opened[key]}" for key, value in samples.items()
                   if key in opened and opened[key] != value and not BUSY.match(key[0])]
    complaints += check_counters(samples, json.loads(counters)["counters"])
    complaints += check_dashboard(samples, json.loads(dashboard))
    print("\n".join(complaints) or f"{len(samples)} samples")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
