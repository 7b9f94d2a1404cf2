"""Compares the figures of `pollerd bench` with those of other programs.

usage: python3 ops/peers.py FILE    (the JSON of `pollerd bench --save FILE`)

wrk, h2load and asynq (ops/peers/asynq) are measured in the same run as Poller, if `ops/bench` found them. For asynq
the published figures are printed otherwise. Their ratio is that of the run in which they were measured, because the
CPU times of two machines cannot be divided.
"""

import json
import sys
from dataclasses import dataclass

ASYNQ = "asynq 0.26"


@dataclass(frozen=True)
class Run:
    """The run in which published figures were measured."""

    date: str
    source: str


# CPU times are those of worker and Redis. asynq took the cheapest way: one queue, and the response is not parsed.
PUBLISHED = Run(
    "2026-11",
    "Poller at 9772b649 and the other program, with the same nginx, a source of 1.4 KB, and Redis with an append-only "
    "file synced every second, on two cores",
)
# Mercure's figure is the resident memory of its hub per idle connection.
FIRST = Run("2026-11-21", "Poller at 5852738 and the other program, with a source of 1.4 KB, on two cores")


@dataclass(frozen=True)
class Published:
    """A published comparison: the members whose sum is Poller's figure, the other figure, and Poller's share of it."""

    title: str
    members: tuple[str, ...]
    name: str
    figure: str
    ratio: str
    run: Run
    unit: str = "µs"
    # The load of asynq in the report, if it can be measured in the same run.
    load: str | None = None


def poll(load: str, of: str = "real") -> tuple[str, str]:
    return f"{of}.{load}.worker_cpu_us", f"{of}.{load}.redis_cpu_us"


TABLE = [
    Published("CPU of a poll, HTTP, saturated", poll("http"), ASYNQ, "286", "0.44–0.46", PUBLISHED, load="http"),
    Published("CPU of a poll, TLS, saturated", poll("tls"), ASYNQ, "275", "0.39–0.45", PUBLISHED, load="tls"),
    Published(
        "CPU of a change, HTTP, saturated", poll("changes"), f"{ASYNQ}, no change", "286", "1.2–1.7", PUBLISHED, load="http"
    ),
    Published(
        "CPU of a change, TLS, saturated", poll("changes_tls"), f"{ASYNQ}, no change", "275", "1.7", PUBLISHED, load="tls"
    ),
    Published("CPU of a poll, 1,000/s", poll("paced_1000"), ASYNQ, "320–365", "0.72–0.86", PUBLISHED, load="paced_1000"),
    Published("CPU of a poll, 100/s", poll("paced_100"), ASYNQ, "449–544", "1.4–1.5", PUBLISHED, load="paced_100"),
    Published(
        "CPU of a webhook", ("deliver.notifier.notifier_cpu_us", "deliver.notifier.redis_cpu_us"),
        "a signed POST in Go, no queue", "33–39", "10", PUBLISHED,
    ),
    Published("our client alone, a GET", ("floor.own.cpu_us",), "Go's net/http", "52", "–", FIRST),
    Published("idle WebSocket", ("live.idle_kib_per_connection",), "Mercure", "25", "–", FIRST, "KiB"),
]

# CPU of a GET by wrk in the run PUBLISHED.
WRK_PUBLISHED = 9.6

# The figures that are measured in the same run: Poller's and the other program's.
BESIDE = [
    ("our client alone, a GET", "floor.own.cpu_us", "floor.wrk.cpu_us", "a GET of wrk"),
    ("our client alone, a GET, TLS", "floor.own_tls.cpu_us", "floor.wrk_tls.cpu_us", "a GET of wrk, TLS"),
    ("worker's share, HTTP, saturated", "real.http.worker_cpu_us", "floor.own.cpu_us", "our client alone"),
    ("worker's share, HTTP, saturated", "real.http.worker_cpu_us", "floor.wrk.cpu_us", "a GET of wrk"),
    ("worker's share, TLS, saturated", "real.tls.worker_cpu_us", "floor.wrk_tls.cpu_us", "a GET of wrk, TLS"),
    ("worker's share, TLS, saturated", "real.tls.worker_cpu_us", "floor.h2load.cpu_us", "a GET of h2load, HTTP/2"),
]


def find(report: dict, path: str) -> float | None:
    """Returns the member at a path, or `None` if it was not measured."""
    for name in path.split("."):
        if not isinstance(report, dict) or name not in report:
            return None
        report = report[name]
    return report


def total(report: dict, members: tuple[str, ...]) -> float | None:
    """Returns the sum of the members, or `None` if one was not measured."""
    found = [find(report, member) for member in members]
    return None if None in found else sum(found)


def rows(report: dict) -> tuple[list[tuple[str, str, str, str]], list[Run]]:
    """Returns the comparisons as (title, Poller's figure, the other figure, ratio), and the published runs among them."""
    found, runs = [], []
    for peer in TABLE:
        ours = total(report, peer.members)
        if ours is None:
            continue
        theirs = total(report, poll(peer.load, "real.asynq")) if peer.load else None
        if theirs:
            other, ratio = f"{theirs:.4g} {peer.unit}  {peer.name}, this run", f"{ours / theirs:.2f}"
        else:
            other = f"{peer.figure} {peer.unit}  {peer.name}, {peer.run.date}"
            ratio = peer.ratio if peer.ratio == "–" else f"{peer.ratio} then"
            runs.append(peer.run)
        found.append((peer.title, f"{ours:.4g} {peer.unit}", other, ratio))
    for title, ours_path, theirs_path, name in BESIDE:
        ours, theirs = find(report, ours_path), find(report, theirs_path)
        if ours is not None and theirs:
            found.append((title, f"{ours:.4g} µs", f"{theirs:.4g} µs  {name}, this run", f"{ours / theirs:.2f}"))
    return found, list(dict.fromkeys(runs))


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        report = json.load(file)
    table, runs = rows(report)
    if not table:
        return
    print("\nbeside others (ours, theirs, ratio)")
    widths = [max(len(row[column]) for row in table) for column in range(3)]
    for row in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)) + f"  {row[3]}")
    for run in runs:
        print(f"{run.date}: {run.source}")
    wrk = find(report, "floor.wrk.cpu_us")
    if wrk and not find(report, "real.asynq"):
        print(f"a GET of wrk takes {wrk:.3g} µs here, and took {WRK_PUBLISHED} µs in the run of {PUBLISHED.date}")
    warning = find(report, "machine.warning")
    if warning:
        print(f"WARNING: {warning}")


if __name__ == "__main__":
    main()
