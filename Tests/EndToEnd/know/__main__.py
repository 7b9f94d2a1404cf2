"""The command line of `ops/know`."""

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from know.run import HEAD, MODES, Known, KnowRun  # noqa: E402


def measure(mode: str, asked: argparse.Namespace) -> Known:
    """Measures one row of the table on a separate cluster."""
    run = KnowRun(mode, asked.payments, asked.seed, asked.hurry, asked.day, asked.policy, asked.sweep)
    with run.cluster() as cluster:
        try:
            return run.on(cluster)
        except BaseException:
            print(cluster.report(), file=sys.stderr)
            raise


def main() -> int:
    parser = argparse.ArgumentParser(prog="ops/know")
    parser.add_argument("--payments", type=int, default=120)
    parser.add_argument("--mode", action="append", choices=MODES)
    parser.add_argument("--policy")
    parser.add_argument("--sweep", default="5s")
    parser.add_argument("--hurry", type=float, default=1)
    parser.add_argument("--day", type=float, default=20)
    parser.add_argument("--seed", type=int, default=12)
    asked = parser.parse_args()
    modes = asked.mode or MODES
    # All modes run at the same time. They mostly wait, and a disturbance affects all of them equally.
    with ProcessPoolExecutor(len(modes)) as pool:
        rows = list(pool.map(measure, modes, [asked] * len(modes)))
    for known in rows:
        lost = f", {known.dropped} of {known.dropped + known.taken} webhooks dropped" if known.dropped else ""
        told = len(known.waited_s) + len(known.later_s)
        print(f"{known.mode}: {told} changes told in {known.seconds:.0f} s{lost}", file=sys.stderr)
    print(f"{asked.payments} payments, {os.cpu_count()} cores, {time.strftime('%Y-%m-%d')}\n")
    print("\n".join([HEAD, *(known.row() for known in rows)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
