"""Draws the growth of a poll's cost from the figures of `pollerd bench --only growth`.

usage: python3 ops/chart.py FILE SVG    (the JSON of `pollerd bench --only growth --save FILE`)

Each of the four panels has a logarithmic horizontal axis. The CPU time of Redis is stacked on that of the workers, and
the label of each point is the sum. The colours suit light and dark pages.
"""

import json
import math
import sys
from pathlib import Path

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


def main() -> None:
    report = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    target = Path(sys.argv[2])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(chart(report["growth"]), encoding="utf-8")
    print(f"drawn into {target}")


if __name__ == "__main__":
    main()
