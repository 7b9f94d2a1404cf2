"""Tests `ops/plan`: it compares the planned resources for a load with the measured ones of a cluster."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from harness.cluster import program
from plan.fit import PARTS, counted, fitted, ratios

HERE = Path(__file__).parent


# The test measures time.
@pytest.mark.alone
def test_a_plan_is_compared_with_a_cluster_under_the_same_load():
    few = ("--payments", "15", "--life", "6", "--seconds", "8", "--rounds", "1", "--deliveries", "2", "--processes", "2")
    done = subprocess.run(
        [sys.executable, "-m", "plan", *few, "--json"], cwd=HERE, capture_output=True, text=True, timeout=180,
        env=os.environ | {"POLLER_BIN_DIR": str(Path(program("pollerd")).parent)},
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert {"polls", "webhooks", "memory of Redis", "cores of Redis", "cores of gateways", "cores in all"} < set(rows)
    assert all(row["planned"] > 0 and row["measured"] > 0 for row in rows.values()), rows
    # These figures do not depend on the load of the machine, as long as it keeps up.
    memory, webhooks = rows["memory of Redis"], rows["webhooks"]
    assert 0.5 < webhooks["planned"] / webhooks["measured"] < 2, rows
    assert 0.7 < memory["planned"] / memory["measured"] < 1.4, rows


def test_known_costs_are_recovered_from_their_sums():
    known = {
        role: {name: (0.002 if name == "up" else 0.0001 * (place + 1)) for place, name in enumerate(names)}
        for role, names in PARTS.items()
    }
    runs = []
    for number in range(1, 15):
        # The rates vary as independently of each other as possible.
        rates = {
            "payments": 3 * number, "polls": 7 * (number * 5 % 13) + 1, "events": 11 * (number * 3 % 7) + 1,
            "deliveries": 5 * (number * 4 % 9), "frames": 13 * (number * 2 % 5), "arrivals": 2 * (number * 7 % 11),
        }
        processes = 1 + number % 3
        cores = {}
        for role, costs in known.items():
            units, _ = counted(role, processes, rates, dict.fromkeys(PARTS, 1.0), 250)
            cores[role] = sum(cost * units[name] for name, cost in costs.items())
        runs.append((processes, rates, cores))
    most, found = fitted(runs)
    assert most == 250
    for role, costs in found.items():
        assert all(abs(ratio - 1) < 0.02 for ratio in ratios(costs, [counted(role, *run, most) for run in runs])), role
        assert abs(costs["wakes"] / known[role]["wakes"] - 1) < 0.2, (role, costs)
