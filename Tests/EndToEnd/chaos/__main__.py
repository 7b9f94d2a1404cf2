"""The command line of `ops/chaos`."""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from chaos.run import Plan, Run  # noqa: E402
from harness.cluster import STORES  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(prog="ops/chaos")
    parser.add_argument("--minutes", type=float, default=2)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--redis", choices=sorted(STORES), default="standalone")
    parser.add_argument("--sources", type=int, default=400)
    parser.add_argument("--told-of", type=int, default=10)
    parser.add_argument("--wait-replicas", type=int, default=0)
    parser.add_argument("--fsync", choices=("always", "everysec"), default="everysec")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    plan = Plan(
        store=asked.redis,
        seed=asked.seed,
        seconds=asked.minutes * 60,
        sources=asked.sources,
        told_of=asked.told_of,
        is_long=True,
        fsync=asked.fsync,
        wait_replicas=asked.wait_replicas,
    )
    run = Run(plan, say=lambda text: print(text, file=sys.stderr, flush=True))
    with run.cluster() as cluster:
        try:
            run.on(cluster)
        except BaseException:
            print(cluster.report(), file=sys.stderr)
            raise
        if run.violations:
            print(cluster.report(), file=sys.stderr)
    for violation in run.violations[:50]:
        print(violation, file=sys.stderr)
    print(run.figures.json() if asked.json else run.figures.text())
    return 1 if run.violations else 0


if __name__ == "__main__":
    sys.exit(main())
