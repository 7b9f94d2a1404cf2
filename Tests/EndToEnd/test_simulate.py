"""`pollerd simulate`: plans without touching anything, and the plan is what really happens."""

import json
import os
import statistics
import subprocess
import time
from datetime import datetime

import pytest
from harness.cluster import Cluster, program
from harness.waiting import wait_until

# A life short enough to be lived through, and long enough for three looks of the standard policy.
LIFE_S = 6
SOURCES = 40


def simulate(*arguments: str, status: int = 0, **env: str) -> subprocess.CompletedProcess:
    done = subprocess.run(
        [program("pollerd"), "simulate", *arguments],
        # No server of any kind is there, and none is needed.
        env={"PATH": os.environ["PATH"], "POLLER_REDIS_URL": "redis://127.0.0.1:1/0"} | env,
        capture_output=True, text=True, timeout=120,
    )
    assert done.returncode == status, f"{done.returncode} {done.stdout} {done.stderr}"
    return done


def runs(*arguments: str, **env: str) -> list[dict]:
    return json.loads(simulate(*arguments, "--json", **env).stdout)["runs"]


def test_a_table_for_people_and_json_for_programs():
    arguments = ("--lives", "1h", "--sources", "10,100000", "--sample", "300")
    lines = simulate(*arguments).stdout.splitlines()
    assert lines[0].startswith("LIFE") and len(lines) == 7
    found = runs(*arguments)
    assert [(run["sources_per_month"], run["hints"]) for run in found] == [
        (count, hints) for count in (10, 100_000) for hints in ("polling", "sweep", "sweep+webhooks")
    ]
    few, _, _, alone, swept, posted = found
    assert swept["polls_per_source"] < alone["polls_per_source"]
    assert swept["known_p50_s"] < alone["known_p50_s"] / 10
    assert few["sweeps_per_source"] == 0
    # What the configuration says is what is planned.
    slow = runs(*arguments, POLLER_STRIPE_SWEEP="30s")
    assert slow[4]["known_p50_s"] > swept["known_p50_s"] * 4
    assert [run["hints"] for run in runs(*arguments, POLLER_STRIPE_SWEEP="off")] == ["polling"] * 2


@pytest.mark.parametrize("arguments", [
    ("--lives", "soon"), ("--sources", "many"), ("--sources", "0"), ("--policy", "hourly"),
    ("--webhook-loss", "101"), ("--sample", "1"),
])
def test_what_cannot_be_planned_is_refused(arguments):
    assert arguments[0] in simulate(*arguments, status=64).stderr


def test_the_plan_is_what_really_happens(chaos):
    # A source tells in whole seconds when it was made: a second more, or the last look comes too early.
    env = {"POLLER_STRIPE_SWEEP": "off", "POLLER_SOURCE_EXPIRY": f"ideal={LIFE_S + 1}s/6h"}
    cluster: Cluster = chaos(workers=1, notifiers=0, listen=False, env=env)
    sources = cluster.sandbox.create_sources(SOURCES)
    begun = time.monotonic()
    batch = [{"source": source, "policy": "standard"} for source in sources]
    assert cluster.api.request("POST", "/v1/watches/batch", json=batch).ok
    # Spread evenly over their life, they come to their end.
    for number, source in enumerate(sources):
        moment = begun + LIFE_S * (number + 0.5) / SOURCES
        wait_until(lambda: time.monotonic() >= moment, LIFE_S, "the moment comes", pause_s=0.005)
        cluster.sandbox.set_status(source, "failed")
    for source in sources:
        wait_until(lambda: cluster.api.watch(source)["state"] == "closed", 20, f"{source} is closed")
    gets = statistics.mean(len(cluster.sandbox.polls(source)) for source in sources)
    history = cluster.sandbox.history()
    known = []
    for source in sources:
        seen = datetime.fromisoformat(cluster.api.events(source)[-1]["observed"]["polled_at"])
        known.append(seen.timestamp() - history[source][-1]["at_ms"] / 1000)
    (plan,) = runs(
        "--lives", f"{LIFE_S}s", "--sources", "1000", "--policy", "standard", POLLER_STRIPE_SWEEP="off"
    )
    said = f"measured {gets:.2f} GETs, known after {statistics.median(known):.2f} s; planned {plan}"
    print(said)
    assert abs(gets - plan["polls_per_source"]) < 0.15 * plan["polls_per_source"], said
    assert abs(statistics.median(known) - plan["known_p50_s"]) < 1, said
