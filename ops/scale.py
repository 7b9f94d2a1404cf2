"""Draws the cost of each store operation by the size of the store, from `pollerd bench --only scale`.

usage: python3 ops/scale.py FILE SVG    (the JSON of `pollerd bench --only scale --save FILE`)

Each operation of each series has a small panel with Redis' CPU time in µs, by the number of watches, lanes or
processes. The horizontal axis is logarithmic. The vertical axis starts at 0, so that a constant cost is a flat line.
The same figures are printed as Markdown tables.
"""

import json
import math
import sys
from pathlib import Path

from chart import STYLE, short

WIDTH, HEIGHT, ACROSS = 230, 118, 4
LEFT, RIGHT, TOP, BOTTOM = 10, 34, 40, 26

SERIES = {
    "watches": "watches, in 16 partitions and 100 lanes",
    "lanes": "lanes, all in one partition",
    "processes": "processes",
}
NAMES = {
    "memory": "memory of a watch, bytes",
    "enqueue": "enqueue",
    "claim": "claim, each of those due",
    "exchange": "commit and claim the next",
    "claim_in_vain": "claim in vain",
    "hint": "hint",
    "cancel": "cancel",
    "read": "read a watch",
    "explain": "explain a watch",
    "events": "events of a watch",
    "stats": "count 500 lanes",
    "list": "page of 50 watches",
    "list_closed": "page of 50 that have ended",
    "lanes": "page of 50 lanes",
    "accounts": "page of 50 accounts",
    "search_order": "search for an order",
    "search_source": "search for a source alone",
    "outbox": "outbox: read and acknowledged",
    "bounds": "outbox: its ends",
    "mark": "event to one of many endpoints",
    "deliveries": "page of 50 deliveries",
    "fallback": "fallbacks of an endpoint",
    "claim_delivery": "claim and release a delivery",
    "start": "start: an endpoint read",
    "audit_lanes": "fsck: 500 lanes",
    "audit_items": "fsck: a watch",
    "acknowledged": "outbox: acknowledged position",
    "compact": "retention: compact a payment",
    "reduce": "retention: reduce a payment",
    "trim": "retention: trim an entry",
    "purge": "retention: purge a payment",
    "beat": "heartbeat",
}


def number(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}"


def cost(figures: dict) -> float:
    return figures.get("bytes", figures.get("us", 0))


def panel(title: str, data: list[tuple[float, float]]) -> list[str]:
    """Returns the elements of a panel for (size, value) pairs, with its upper left corner at 0, 0."""
    logs = [math.log(x) for x, _ in data]
    spread = (logs[-1] - logs[0]) or 1
    top = max(y for _, y in data) * 1.15 or 1

    def place(x: float, y: float) -> tuple[float, float]:
        across = LEFT + (math.log(x) - logs[0]) / spread * (WIDTH - LEFT - RIGHT)
        return across, HEIGHT - BOTTOM - y / top * (HEIGHT - TOP - BOTTOM)

    points = [place(x, y) for x, y in data]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    base = HEIGHT - BOTTOM
    drawn = [
        f'<text x="{LEFT}" y="16">{title}</text>',
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{base}" y2="{base}"/>',
        f'<polygon class="redis" points="{LEFT},{base} {line} {points[-1][0]:.1f},{base}"/>',
    ]
    for (x, y), (size, value) in zip(points, data, strict=True):
        drawn.append(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="2"/>')
        # The first label is aligned at its start, because it has no room on its left.
        middle = f'class="tick" text-anchor="{"start" if x == LEFT else "middle"}" x="{x:.1f}"'
        drawn.append(f'<text {middle} y="{y - 5:.1f}">{number(value)}</text>')
        drawn.append(f'<text {middle} y="{base + 14}">{short(size)}</text>')
    return drawn


def series_of(scale: dict) -> list[tuple[str, list[tuple[str, list[tuple[float, dict]]]]]]:
    """Returns the measured series by title.

    Each operation has its figures by ascending size.
    """
    found = []
    for name, title in SERIES.items():
        points = sorted((int(size), figures) for size, figures in scale.get(name, {}).items())
        if points:
            operations = points[0][1]
            found.append((title, [(o, [(size, figures[o]) for size, figures in points]) for o in operations]))
    return found


def chart(scale: dict) -> str:
    drawn, down = [], 0
    for title, operations in series_of(scale):
        drawn.append(f'<text class="title" x="{LEFT}" y="{down + 20}">By {title}: µs of Redis</text>')
        down += 28
        for place, (name, points) in enumerate(operations):
            across = place % ACROSS * WIDTH
            drawn.append(f'<g transform="translate({across},{down + place // ACROSS * HEIGHT})">')
            drawn += [*panel(NAMES.get(name, name), [(size, cost(figures)) for size, figures in points]), "</g>"]
        down += math.ceil(len(operations) / ACROSS) * HEIGHT + 12
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {ACROSS * WIDTH} {down}" role="img">',
        "<title>What each operation costs Redis, and what it grows with</title>",
        f"<style>{STYLE}</style>",
    ]
    return "\n".join([*head, *drawn, "</svg>"]) + "\n"


def table(operations: list[tuple[str, list[tuple[float, dict]]]]) -> str:
    """Returns a Markdown table of the µs at each size, with the commands at the smallest and the largest size."""
    sizes = [f"{size:,}" for size, _ in operations[0][1]]
    rows = [f"| | {' | '.join(sizes)} | commands |", "|---" * (len(sizes) + 2) + "|"]
    for name, points in operations:
        costs = " | ".join(number(cost(figures)) for _, figures in points)
        first, last = points[0][1], points[-1][1]
        counts = f"{number(first['commands'])} – {number(last['commands'])}" if "commands" in first else ""
        rows.append(f"| {NAMES.get(name, name)} | {costs} | {counts} |")
    return "\n".join(rows)


def main() -> None:
    scale = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["scale"]
    target = Path(sys.argv[2])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(chart(scale), encoding="utf-8")
    for title, operations in series_of(scale):
        print(f"By {title}:\n\n{table(operations)}\n")
    print(f"drawn into {target}")


if __name__ == "__main__":
    main()
