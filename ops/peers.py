"""Compares the figures of `pollerd bench` with those of other programs.

usage: python3 ops/peers.py FILE    (the JSON of `pollerd bench --save FILE`)

The programs in PEERS were measured once, together with Poller at commit 5852738, on one machine with two cores. All
used the same nginx with the same source of 1.4 KB, and Redis 7.0 with an append-only file synced every second. The CPU
times are those that the system reports for all processes. The CPU time of a GET by wrk, 6 µs on that machine, shows how
fast another machine is in comparison.

Installed programs (wrk, h2load) are measured in the same run as Poller. asynq is only in the table, because it needs a
Go toolchain and modules, which this script does not fetch.
"""

import json
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Peer:
    """The figure of another program, and the members of Poller's report whose sum is compared with it."""

    title: str
    members: tuple[str, ...]
    name: str
    figure: float
    unit: str = "µs"


def poll(load: str) -> tuple[str, str]:
    return f"real.{load}.worker_cpu_us", f"real.{load}.redis_cpu_us"


# asynq 0.26: a task that makes the GET with Go's net/http and enqueues itself again. The figure is worker + Redis.
# Mercure: the hub's resident memory per idle connection.
PEERS = [
    Peer("CPU of a poll, HTTP, saturated", poll("http"), "asynq 0.26", 160 + 80),
    Peer("CPU of a poll, TLS, saturated", poll("tls"), "asynq 0.26", 175 + 80),
    Peer("CPU of a poll, 1,000/s", poll("paced_1000"), "asynq 0.26", 196 + 92),
    Peer("our client alone, a GET", ("floor.own.cpu_us",), "Go's net/http", 52),
    Peer("idle WebSocket", ("live.idle_kib_per_connection",), "Mercure", 25, "KiB"),
]

# The CPU time of a GET by wrk on the machine where PEERS were measured.
WRK_THERE = 6

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


def rows(report: dict) -> list[tuple[str, str, str, str]]:
    """Returns the measured comparisons as (title, Poller's figure, the other figure, ratio)."""
    found = []
    for peer in PEERS:
        ours = [find(report, member) for member in peer.members]
        if None not in ours:
            found.append((peer.title, sum(ours), peer.name, peer.figure, peer.unit))
    for title, ours, theirs, name in BESIDE:
        here, there = find(report, ours), find(report, theirs)
        if here is not None and there:
            found.append((title, here, f"{name}, this run", there, "µs"))
    return [
        (title, f"{ours:.4g} {unit}", f"{figure:.4g} {unit}  {name}", f"{ours / figure:.2f}")
        for title, ours, name, figure, unit in found
    ]


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        report = json.load(file)
    table = rows(report)
    if not table:
        return
    print("\nbeside others (ours, theirs, ratio)")
    widths = [max(len(row[column]) for row in table) for column in range(3)]
    for row in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)) + f"  {row[3]}")
    wrk = find(report, "floor.wrk.cpu_us")
    if wrk:
        print(f"a GET of wrk takes {wrk:.3g} µs here, and took {WRK_THERE} µs where the others were measured")


if __name__ == "__main__":
    main()
