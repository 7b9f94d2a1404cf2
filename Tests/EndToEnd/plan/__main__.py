"""The command line of `ops/plan`."""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from plan.fit import counted, fitted, ratios  # noqa: E402
from plan.run import PlanRun, Taken  # noqa: E402
from plan.traffic import Traffic  # noqa: E402

from harness.cluster import program  # noqa: E402

# The traffics to which the costs are fitted. Rates, receivers, subscribers, lifetimes and processes vary separately.
GRID = (
    Traffic(2, 10, "interactive", 1, 2, 0), Traffic(20, 15, "interactive", 0, 2, 0),
    Traffic(20, 15, "interactive", 1, 2, 0), Traffic(20, 15, "interactive", 1, 2, 100),
    Traffic(80, 15, "interactive", 1, 2, 0), Traffic(80, 15, "interactive", 0, 2, 0),
    Traffic(10, 60, "interactive", 1, 2, 0), Traffic(30, 15, "interactive", 4, 2, 0),
    Traffic(30, 15, "interactive", 0, 2, 100), Traffic(20, 15, "interactive", 0, 2, 0, watching=10),
    Traffic(20, 15, "interactive", 1, 2, 50, processes=2), Traffic(5, 15, "interactive", 1, 2, 0, processes=3),
    Traffic(20, 8, "interactive", 0, 2, 0, charged=True), Traffic(40, 8, "interactive", 1, 2, 0, charged=True),
    Traffic(0.5, 120, "interactive", 1, 2, 0, waiting=400), Traffic(0.5, 120, "interactive", 1, 2, 0, waiting=4000),
    Traffic(0.5, 120, "interactive", 1, 2, 0, waiting=15_000),
)


def live(run: PlanRun) -> Taken:
    """Runs the traffic on a new cluster and returns the measured resources."""
    with run.cluster() as cluster:
        try:
            return run.on(cluster)
        except BaseException:
            print(cluster.report(), file=sys.stderr)
            raise


def measure(seconds: float, rounds: int) -> None:
    """Measures the cost of each unit on this machine and prints it next to the table's."""
    runs = []
    for traffic in [traffic for _ in range(rounds) for traffic in GRID]:
        # A short warm-up is enough, because the fit uses counted units and needs no steady state.
        taken = live(PlanRun(traffic, seconds, warm_up_s=20))
        runs.append((traffic.processes, taken.rates, taken.cores))
        print(json.dumps([vars(traffic), *runs[-1]]), file=sys.stderr)
    show(runs)


def show(runs: list[tuple[int, dict, dict]]) -> None:
    """Prints the best-fitting costs of the runs next to the table's, and the error of the fit."""
    done = subprocess.run([program("pollerd"), "simulate", "--costs", "--json"], capture_output=True, text=True, check=True)
    table = json.loads(done.stdout)
    most, found = fitted(runs)
    print(f"{'cost':24}{'table':>8}{'here':>8}\n{'process.wakes':24}{table['process.wakes']['value']:8.0f}{most:8.0f}")
    for role, units in found.items():
        for name, cores in units.items():
            print(f"{role}.{name:{23 - len(role)}}{table[f'{role}.{name}']['value']:8.0f}{cores * 1e6:8.0f}  µs")
        errors = sorted(ratios(units, [counted(role, *run, most) for run in runs]))
        print(f"  as a multiple of what each run took: {errors[0]:.2f} to {errors[-1]:.2f}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="ops/plan")
    parser.add_argument("--payments", type=float, default=25)
    parser.add_argument("--life", type=int, default=20)
    parser.add_argument("--policy", default="interactive")
    parser.add_argument("--deliveries", type=int, default=2)
    parser.add_argument("--names", type=int, default=2, choices=(0, 1, 2))
    parser.add_argument("--followed", type=float, default=50)
    parser.add_argument("--watching", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measure", action="store_true")
    # A file with the runs that --measure printed on standard error, to be fitted again.
    parser.add_argument("--measured", type=Path)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    if asked.measured:
        runs = [json.loads(line) for line in asked.measured.read_text().splitlines() if line.startswith("[{")]
        show([tuple(run[1:]) for run in runs])
        return 0
    if asked.measure:
        measure(asked.seconds, asked.rounds)
        return 0
    traffic = Traffic(
        asked.payments, asked.life, asked.policy, asked.deliveries, asked.names, asked.followed, asked.processes,
        asked.watching,
    )
    run = PlanRun(traffic, asked.seconds)
    rounds = [run.rows(live(run)) for _ in range(asked.rounds)]
    # The median round of each figure, because other programs use the machine too.
    rows = [sorted(figure, key=lambda row: row[3])[len(rounds) // 2] for figure in zip(*rounds)]
    if asked.json:
        print(json.dumps({name: {"planned": planned, "measured": found} for name, _, planned, found in rows}))
        return 0
    print(f"{traffic.payments_per_s:g} payments a second, {os.cpu_count()} cores, {time.strftime('%Y-%m-%d')}\n")
    print(f"{'':22}{'planned':>12}{'measured':>12}{'ratio':>8}")
    for name, unit, planned, found in rows:
        ratio = f"{planned / found:.2f}" if found else "–"
        print(f"{name:22}{planned:12.3g}{found:12.3g}{ratio:>8}  {unit}".rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(main())
