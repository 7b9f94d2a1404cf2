#!/usr/bin/env python3
"""usage: board.py [--check]

Generates `board.json`, the Grafana dashboard, from the metrics guide: a row for each section and a panel
for each metric, with the guide's text as description. With --check it writes nothing, and exits with 1 if
the dashboard differs from the generated one.

Cluster gauges are drawn as the maximum, because every process reports the same value. Counters are drawn
as the sum over processes, and histograms as percentiles over all processes.
"""

import json
import re
import sys
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
BOARD = HERE / "board.json"
REFERENCE = HERE.parents[1] / "Sources/Poller/Poller.docc/Guides/Metrics.md"

SOURCE = {"type": "prometheus", "uid": "${datasource}"}
# Grafana's grid has 24 columns.
PANEL = {"w": 8, "h": 7}
STAT = {"w": 4, "h": 4}


class Metric(NamedTuple):
    name: str
    kind: str
    labels: list[str]
    help: str


def sections() -> list[tuple[str, list[Metric]]]:
    """Returns the metrics of each section of the guide, in its order."""
    found: list[tuple[str, list[Metric]]] = []
    for line in REFERENCE.read_text().splitlines():
        if line.startswith("### "):
            found.append((line[4:], []))
        row = re.match(r"\| `(poller_\w+)` \| (\w+) \| ([^|]*) \| (.+) \|$", line)
        if row:
            found[-1][1].append(Metric(row[1], row[2], re.findall(r"`(\w+)`", row[3]), row[4]))
    return found


def aggregate(how: str, labels: list[str], query: str) -> str:
    return f"{how} by ({', '.join(labels)}) ({query})" if labels else f"{how}({query})"


def queries(metric: Metric) -> list[tuple[str, str]]:
    """Returns the queries of a metric with their legends."""
    of = f'{metric.name}{{cluster=~"$cluster"}}'
    legend = " ".join(f"{{{{{label}}}}}" for label in metric.labels)
    if metric.name == "poller_build_info":
        return [(aggregate("count", metric.labels, of), legend)]
    if metric.kind == "gauge":
        return [(aggregate("max", metric.labels, of), legend or metric.name)]
    if metric.kind == "counter":
        return [(aggregate("sum", metric.labels, f"rate({of}[$__rate_interval])"), legend or "all")]
    buckets = f'rate({metric.name}_bucket{{cluster=~"$cluster"}}[$__rate_interval])'
    # For each label one percentile is enough.
    parts = [0.99] if metric.labels else [0.5, 0.99]
    summed = aggregate("sum", ["le", *metric.labels], buckets)
    return [(f"histogram_quantile({part:g}, {summed})", f"p{part * 100:.0f} {legend}".strip()) for part in parts]


def unit(metric: Metric) -> str:
    if metric.kind == "counter":
        return "ops"
    return "s" if metric.name.endswith("_seconds") else "short"


def targets(found: list[tuple[str, str]]) -> list[dict]:
    return [
        {"refId": chr(ord("A") + number), "datasource": SOURCE, "expr": expr, "legendFormat": legend}
        for number, (expr, legend) in enumerate(found)
    ]


def series(title: str, description: str, unit: str, found: list[tuple[str, str]]) -> dict:
    custom = {"lineWidth": 1, "fillOpacity": 8, "showPoints": "never"}
    return {
        "type": "timeseries",
        "title": title,
        "description": description,
        "datasource": SOURCE,
        "fieldConfig": {"defaults": {"unit": unit, "min": 0, "custom": custom}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi", "sort": "desc"}},
        "targets": targets(found),
        "size": PANEL,
    }


def stat(title: str, expr: str, bad: float | None = None, low: float | None = None, unit: str = "short") -> dict:
    """A panel with one value, which is red from `bad` on, or below `low`."""
    steps = [{"color": "green", "value": None}]
    if bad is not None:
        steps.append({"color": "red", "value": bad})
    if low is not None:
        steps = [{"color": "red", "value": None}, {"color": "green", "value": low}]
    thresholds = {"mode": "absolute", "steps": steps}
    return {
        "type": "stat",
        "title": title,
        "datasource": SOURCE,
        "fieldConfig": {"defaults": {"unit": unit, "thresholds": thresholds}, "overrides": []},
        "options": {"reduceOptions": {"calcs": ["lastNotNull"]}, "colorMode": "background", "graphMode": "area"},
        "targets": targets([(expr, "")]),
        "size": STAT,
    }


def cluster(metric: str, more: str = "") -> str:
    return f'max({metric}{{cluster=~"$cluster"{more}}})'


def glance() -> list[dict]:
    """The first row, for operators on call, in the order of the runbook's first checks."""
    lanes = 'sum(max by (state) (poller_lanes{cluster=~"$cluster", state=~"open|probing"}))'
    recorded = '{cluster=~"$cluster"}'
    return [
        stat("Alerts", 'count(ALERTS{alertname=~"Poller.+", alertstate="firing"}) or vector(0)', bad=1),
        stat("Redis", cluster("poller_store_up"), low=1),
        stat("Workers", cluster("poller_members", ', role="worker"'), low=1),
        stat("Workers wanted", cluster("poller_workers_wanted")),
        stat("Notifiers", cluster("poller_members", ', role="notifier"'), low=1),
        stat("Longest overdue", cluster("poller_watches_oldest_overdue_seconds"), bad=300, unit="s"),
        stat("Lanes stopped", lanes, bad=1),
        stat("In quarantine", cluster("poller_watches_quarantined"), bad=1),
        stat("Events to mark", cluster("poller_outbox_undelivered"), bad=1000),
        stat("Dead letters", cluster("poller_deliveries_dead"), bad=1),
        stat("Endpoints down", cluster("poller_endpoints_down"), bad=1),
        stat("Requests failing", f"max(cluster:poller_http_requests_failed:ratio5m{recorded})", bad=0.05, unit="percentunit"),
        series(
            "Polls", "Polls per second of all workers.", "ops",
            [(f"sum(cluster:poller_polls:rate5m{recorded})", "polls")],
        ),
        series(
            "Lag", "The delay of due polls, and the time from recording an event to its delivery.", "s",
            [
                (f"max(cluster:poller_due_lag_seconds:p99_5m{recorded})", "polls p99"),
                (f"max(cluster:poller_delivery_lag_seconds:p99_5m{recorded})", "deliveries p99"),
            ],
        ),
        series(
            "Failed polls", "The share of polls without a response, or with an unusable one.",
            "percentunit", [(f"max(cluster:poller_polls_failed:ratio5m{recorded})", "share")],
        ),
    ]


def processes() -> list[dict]:
    """The process metrics of every exporter."""
    of = '{job="poller", cluster=~"$cluster"}'
    return [
        series("CPU", "Busy cores of each process.", "short", [(f"rate(process_cpu_seconds_total{of}[$__rate_interval])", "{{instance}}")]),
        series("Memory", "Resident memory of each process.", "bytes", [(f"process_resident_memory_bytes{of}", "{{instance}}")]),
        series("Open files", "The share of its file descriptor limit that each process uses.", "percentunit",
               [(f"process_open_fds{of} / process_max_fds{of}", "{{instance}}")]),
    ]


def panels() -> list[dict]:
    rows = [("At a glance", glance())]
    for title, metrics in sections():
        drawn = [
            series(metric.name.removeprefix("poller_"), metric.help, unit(metric), queries(metric))
            for metric in metrics
        ]
        rows.append((title, drawn))
    rows.append(("Processes", processes()))
    placed: list[dict] = []
    y = 0
    for title, drawn in rows:
        placed.append({"type": "row", "title": title, "collapsed": False, "panels": [], "gridPos": {"x": 0, "y": y, "w": 24, "h": 1}})
        y += 1
        x = height = 0
        for panel in drawn:
            size = panel.pop("size")
            if x + size["w"] > 24 or (height and size["h"] != height):
                x, y = 0, y + height
            height = size["h"]
            placed.append(panel | {"gridPos": {"x": x, "y": y, **size}})
            x += size["w"]
        y += height
    return [{"id": number, **panel} for number, panel in enumerate(placed, 1)]


def variable(name: str, **more) -> dict:
    return {"name": name, "label": name, "hide": 0, "refresh": 1, **more}


def board() -> str:
    """Returns the dashboard as JSON, with one line per panel so that diffs are small."""
    frame = {
        "uid": "poller",
        "title": "Poller",
        "description": "Generated by ops/observability/board.py from the metrics guide. Edit the guide, not this file.",
        "tags": ["poller"],
        "schemaVersion": 38,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "browser",
        "templating": {
            "list": [
                variable("datasource", type="datasource", query="prometheus"),
                variable(
                    "cluster", type="query", datasource=SOURCE, includeAll=True, allValue=".*",
                    current={"text": "All", "value": "$__all"},
                    query={"query": "label_values(poller_build_info, cluster)", "refId": "cluster"},
                ),
            ]
        },
        "annotations": {
            "list": [
                {
                    "name": "Alerts", "enable": True, "datasource": SOURCE, "iconColor": "red",
                    "expr": 'ALERTS{alertname=~"Poller.+", alertstate="firing"}', "titleFormat": "{{alertname}}",
                }
            ]
        },
    }
    head = json.dumps(frame, indent=2)[:-2]
    lines = ",\n".join("    " + json.dumps(panel) for panel in panels())
    return f'{head},\n  "panels": [\n{lines}\n  ]\n}}\n'


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        sys.stderr.write(__doc__ or "")
        return 64
    made = board()
    if arguments:
        if not BOARD.exists() or BOARD.read_text() != made:
            print(f"{BOARD.name} is outdated: run {Path(__file__).name}")
            return 1
        return 0
    BOARD.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
