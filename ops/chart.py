"""Draws the CPU time of a poll from the figures of `pollerd bench`.

usage: python3 ops/chart.py FILE SVG
       python3 ops/chart.py --beside [FILE] SVG

The first form draws its growth, from `pollerd bench --only growth --save FILE`. Each of the four panels has a
logarithmic horizontal axis. The CPU time of Redis is stacked on that of the workers, and the label of each point is the
sum.

The second form draws it beside that of asynq and of a bare GET, from `pollerd bench --only real --save FILE`. Bars that
were not measured come from the published run, and so do all bars without a FILE. The footer names the source.

The colours suit light and dark pages.
"""

import datetime
import json
import math
import sys
from pathlib import Path

from peers import ASYNQ, PUBLISHED, find, poll

# The size of a panel, and the margins of its axes.
WIDTH, HEIGHT = 460, 260
LEFT, RIGHT, TOP, BOTTOM = 46, 22, 34, 40

PANELS = [
    ("polls_per_s", "polls a second"),
    ("accounts", "accounts"),
    ("workers", "worker processes"),
    ("pending", "watches that wait"),
]

STYLE = """
text { font: 12px system-ui, sans-serif; fill: #333 }
.title { font-weight: 600 }
.tick { font-size: 11px; fill: #666 }
.grid { stroke: #ddd; stroke-width: 1 }
.worker { fill: #4c8bf5; fill-opacity: .75 }
.redis { fill: #e8833a; fill-opacity: .8 }
.dot { fill: #333 }
.sum { fill: #a58a9b }
.get { fill: #888 }
@media (prefers-color-scheme: dark) {
  text { fill: #eee }
  .tick { fill: #aaa }
  .grid { stroke: #444 }
  .dot { fill: #eee }
}
"""


def short(number: float) -> str:
    """Returns a number with a unit prefix: 1000 as 1k, 1000000 as 1M."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.3g}"


def points(series: dict) -> list[tuple[float, float, float]]:
    """Returns each point as (x, workers' CPU, Redis' CPU), sorted.

    The x of an unlimited rate is the rate reached.
    """
    found = [(float(x) or y["polls_per_s"], y["worker_cpu_us"], y["redis_cpu_us"]) for x, y in series.items()]
    return sorted(found)


def step_above(most: float) -> float:
    """Returns a round distance between grid lines, at least a quarter of the maximum."""
    rough = max(most, 1) / 4
    power = 10 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough)


def panel(title: str, data: list[tuple[float, float, float]]) -> list[str]:
    """Returns the elements of a panel, with its upper left corner at 0, 0."""
    logs = [math.log(x) for x, _, _ in data]
    spread = (max(logs) - min(logs)) or 1
    step = step_above(max(worker + redis for _, worker, redis in data))
    top = step * math.ceil(max(worker + redis for _, worker, redis in data) * 1.05 / step)

    def across(x: float) -> float:
        return LEFT + (math.log(x) - min(logs)) / spread * (WIDTH - LEFT - RIGHT)

    def up(y: float) -> float:
        return HEIGHT - BOTTOM - y / top * (HEIGHT - TOP - BOTTOM)

    def area(kind: str, low: list[float], high: list[float]) -> str:
        there = [f"{across(x):.1f},{up(y):.1f}" for (x, _, _), y in zip(data, high, strict=True)]
        back = [f"{across(x):.1f},{up(y):.1f}" for (x, _, _), y in zip(data, low, strict=True)]
        return f'<polygon class="{kind}" points="{" ".join(there + back[::-1])}"/>'

    workers = [worker for _, worker, _ in data]
    sums = [worker + redis for _, worker, redis in data]
    drawn = [f'<text class="title" x="{LEFT}" y="18">µs of CPU a poll, by {title}</text>']
    for number in range(round(top / step) + 1):
        y = up(number * step)
        drawn.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        drawn.append(f'<text class="tick" text-anchor="end" x="{LEFT - 6}" y="{y + 4:.1f}">{number * step:g}</text>')
    drawn.append(area("worker", [0] * len(data), workers))
    drawn.append(area("redis", workers, sums))
    for (x, _, _), total in zip(data, sums, strict=True):
        drawn.append(f'<circle class="dot" cx="{across(x):.1f}" cy="{up(total):.1f}" r="2.5"/>')
        drawn.append(f'<text class="tick" text-anchor="middle" x="{across(x):.1f}" y="{up(total) - 6:.1f}">{total:.0f}</text>')
        drawn.append(f'<text class="tick" text-anchor="middle" x="{across(x):.1f}" y="{HEIGHT - BOTTOM + 16}">{short(x)}</text>')
    return drawn


def chart(growth: dict) -> str:
    """Returns the whole chart, without panels that were not measured or have only one point."""
    panels = [(title, points(growth[name])) for name, title in PANELS if len(growth.get(name, {})) > 1]
    rows = math.ceil(len(panels) / 2)
    width, height = 2 * WIDTH, rows * HEIGHT + 24
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        "<title>What a poll costs, and what it grows with</title>",
        f"<style>{STYLE}</style>",
    ]
    for number, (title, data) in enumerate(panels):
        drawn.append(f'<g transform="translate({number % 2 * WIDTH},{number // 2 * HEIGHT})">')
        drawn += [*panel(title, data), "</g>"]
    key = height - 12
    for x, kind, name in ((LEFT, "worker", "workers"), (LEFT + 90, "redis", "Redis")):
        drawn.append(f'<rect class="{kind}" x="{x}" y="{key - 10}" width="12" height="12"/>')
        drawn.append(f'<text x="{x + 18}" y="{key}">{name}</text>')
    return "\n".join([*drawn, "</svg>"]) + "\n"


# MARK: - Comparison with others

# The loads of the chart, with the member of a bare GET, and the published CPU of worker and Redis in µs: Poller,
# asynq, a bare GET. A range is given by its middle. Where only the sum is published, it is a single part.
LOADS = [
    ("100 polls/s, 20 accounts", "paced_100", "paced_100", ((540, 167), (497,), None)),
    ("1,000 polls/s, 100 accounts", "paced_1000", "paced_1000", ((194, 68), (343,), None)),
    ("full load", "http", "wrk", ((92, 39), (286,), (9.6,))),
]
BAR, GAP, NAMES_WIDTH, BARS_WIDTH, NUMBER_WIDTH = 16, 14, 150, 420, 190


def bars(report: dict) -> tuple[list[tuple[str, list[tuple[str, tuple[float, ...]]]]], set[bool]]:
    """Returns the bars of each load as (program, parts), and whether bars are cited, measured in this run, or both."""
    groups, origins = [], set()
    for title, load, floor, published in LOADS:
        group = []
        measured = (
            [find(report, member) for member in poll(load)],
            [find(report, member) for member in poll(load, "real.asynq")],
            [find(report, f"floor.{floor}.cpu_us")],
        )
        for name, found, known in zip(("Poller", ASYNQ, "bare GET"), measured, published, strict=True):
            parts = tuple(found) if None not in found else known
            if parts:
                origins.add(None in found)
                group.append((name, parts))
        groups.append((title, group))
    return groups, origins


def source(report: dict, origins: set[bool]) -> str:
    """Returns the footer: when and with what the bars were measured."""
    now = f"{datetime.datetime.now(tz=datetime.UTC):%Y-%m}"
    cores = find(report, "machine.cores")
    here = f"measured {now}" + (f" on {cores:g} cores" if cores else "")
    if origins == {True}:
        text = f"measured {PUBLISHED.date} on two cores, {ASYNQ}"
    elif origins == {True, False}:
        text = f"{here}; other loads and programs: {PUBLISHED.date}, another run"
    else:
        text = f"{here}, one run"
    loaded = " · the machine was loaded" if find(report, "machine.warning") else ""
    return f"{text}; 1.4 KB by nginx, HTTP{loaded}"


def beside(report: dict) -> str:
    """Returns the chart of a poll's CPU beside that of others."""
    groups, origins = bars(report)
    most = max(sum(parts) for _, group in groups for _, parts in group)
    width, y = NAMES_WIDTH + BARS_WIDTH + NUMBER_WIDTH, 26
    drawn = [f'<text class="title" x="0" y="{y - 10}">µs of CPU a poll</text>']
    for title, group in groups:
        y += GAP
        drawn.append(f'<text class="tick" x="0" y="{y + 4}">{title}</text>')
        y += 10
        for name, parts in group:
            kinds = ("get",) if name == "bare GET" else ("worker", "redis") if len(parts) == 2 else ("sum",)
            drawn.append(f'<text text-anchor="end" x="{NAMES_WIDTH - 8}" y="{y + 12}">{name}</text>')
            x = float(NAMES_WIDTH)
            for kind, part in zip(kinds, parts, strict=True):
                wide = part / most * BARS_WIDTH
                drawn.append(f'<rect class="{kind}" x="{x:.1f}" y="{y}" width="{wide:.1f}" height="{BAR - 3}"/>')
                x += wide
            drawn.append(f'<text x="{x + 6:.1f}" y="{y + 12}">{label(parts)}</text>')
            y += BAR
    y += GAP + 8
    key = [("worker", "worker"), ("redis", "Redis"), ("get", "client of a GET")]
    if any(len(parts) == 1 and name != "bare GET" for _, group in groups for name, parts in group):
        key.insert(2, ("sum", "both"))
    for number, (kind, name) in enumerate(key):
        x = NAMES_WIDTH + number * 90
        drawn.append(f'<rect class="{kind}" x="{x}" y="{y - 10}" width="12" height="12"/>')
        drawn.append(f'<text x="{x + 18}" y="{y}">{name}</text>')
    y += 22
    drawn.append(f'<text class="tick" x="{NAMES_WIDTH}" y="{y}">{source(report, origins)}</text>')
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y + 10}" role="img">',
        "<title>What a poll costs beside asynq and a bare GET</title>",
        f"<style>{STYLE}</style>",
    ]
    return "\n".join([*head, *drawn, "</svg>"]) + "\n"


def label(parts: tuple[float, ...]) -> str:
    """Returns the sum of a bar, with its parts."""
    text = f"{sum(parts):.3g}" if sum(parts) < 100 else f"{sum(parts):.0f}"
    return text if len(parts) == 1 else f"{text} = {parts[0]:.0f} + {parts[1]:.0f}"


def main() -> None:
    arguments = sys.argv[1:]
    is_beside = arguments[:1] == ["--beside"]
    *files, target = map(Path, arguments[is_beside:])
    report = json.loads(files[0].read_text(encoding="utf-8")) if files else {}
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(beside(report) if is_beside else chart(report["growth"]), encoding="utf-8")
    print(f"drawn into {target}")


if __name__ == "__main__":
    main()
