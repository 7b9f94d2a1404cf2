"""The command line of `ops/chaos`."""

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from chaos.faults import WEIGHTS  # noqa: E402
from chaos.long import LongRun  # noqa: E402
from chaos.orders import OrderRun  # noqa: E402
from chaos.run import Plan, Run  # noqa: E402
from harness.cluster import STORES, previous_programs  # noqa: E402


def orders(arguments: list[str]) -> int:
    """Runs `ops/chaos orders`."""
    parser = argparse.ArgumentParser(prog="ops/chaos orders")
    parser.add_argument("--orders", type=int, default=10_000)
    parser.add_argument("--at-once", type=int, default=48)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(arguments)
    run = OrderRun(asked.orders, asked.seed, asked.at_once, say=tell)
    with run.cluster() as cluster:
        try:
            run.on(cluster)
        finally:
            if run.violations:
                print(cluster.report(), file=sys.stderr)
    for violation in run.violations[:50]:
        print(violation, file=sys.stderr)
    print(run.figures.json() if asked.json else run.figures.text())
    return 1 if run.violations else 0


def long(asked: argparse.Namespace) -> int:
    """Runs `ops/chaos --changes N` and `ops/chaos --hours H`."""
    run = LongRun(
        asked.changes, asked.hours, asked.minutes, asked.seed, asked.sources, say=tell
    )
    try:
        run.run()
    finally:
        print(json.dumps(run.as_dict()) if asked.json else run.text())
    return 1 if run.violations else 0


def tell(text: str) -> None:
    print(time.strftime("%H:%M:%S"), text, file=sys.stderr, flush=True)


def main() -> int:
    if sys.argv[1:2] == ["orders"]:
        return orders(sys.argv[2:])
    parser = argparse.ArgumentParser(prog="ops/chaos")
    parser.add_argument("--minutes", type=float, default=2)
    parser.add_argument("--changes", type=int, default=0)
    parser.add_argument("--hours", type=float, default=0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--redis", choices=sorted(STORES), default="standalone")
    parser.add_argument("--sources", type=int, default=400)
    parser.add_argument("--told-of", type=int, default=10)
    parser.add_argument("--wait-replicas", type=int, default=0)
    parser.add_argument("--fsync", choices=("always", "everysec"), default="everysec")
    parser.add_argument("--kinds", default="")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    kinds = frozenset(filter(None, (kind.strip() for kind in asked.kinds.split(","))))
    if unknown := kinds - set(WEIGHTS):
        parser.error(f"--kinds: no such fault: {', '.join(sorted(unknown))}. Use some of: {', '.join(WEIGHTS)}")
    if kinds and (asked.changes or asked.hours):
        parser.error("--kinds is for a single run: leave out --changes and --hours")
    if asked.changes or asked.hours:
        return long(asked)
    plan = Plan(
        store=asked.redis,
        seed=asked.seed,
        seconds=asked.minutes * 60,
        sources=asked.sources,
        told_of=asked.told_of,
        is_long=True,
        fsync=asked.fsync,
        wait_replicas=asked.wait_replicas,
        previous=previous_programs(),
        kinds=kinds or None,
    )
    run = Run(plan, say=tell)
    run.alone()
    for violation in run.violations[:50]:
        print(violation, file=sys.stderr)
    print(run.figures.json() if asked.json else run.figures.text())
    return 1 if run.violations else 0


if __name__ == "__main__":
    sys.exit(main())
