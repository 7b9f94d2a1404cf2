"""Tests `pollerd simulate`: it contacts no server, and its plan matches a real run."""

import binascii
import json
import os
import statistics
import subprocess
import time
from collections import Counter
from datetime import datetime

import pytest
from harness.cluster import Cluster, program
from harness.waiting import wait_until

# Short enough to wait for, and long enough for three polls of the standard policy.
LIFE_S = 6
SOURCES = 40


def simulate(*arguments: str, status: int = 0, **env: str) -> subprocess.CompletedProcess:
    done = subprocess.run(
        [program("pollerd"), "simulate", *arguments],
        # No server is running, and none is needed.
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
    # Six rows for the account and six for its cluster.
    assert lines[0].startswith("LIFE") and lines[7] == "" and len(lines) == 15
    assert lines[8].split()[:4] == ["LIFE", "WHO", "TELLS", "PAYMENTS/s"]
    found = runs(*arguments)
    assert [(run["sources_per_month"], run["hints"]) for run in found] == [
        (count, hints) for count in (10, 100_000) for hints in ("polling", "sweep", "sweep+webhooks")
    ]
    few, _, _, alone, swept, posted = found
    assert swept["polls_per_source"] < alone["polls_per_source"]
    assert swept["known_p50_s"] < alone["known_p50_s"] / 10
    assert few["sweeps_per_source"] == 0
    # The plan follows the configuration.
    slow = runs(*arguments, POLLER_STRIPE_SWEEP="30s")
    assert slow[4]["known_p50_s"] > swept["known_p50_s"] * 4
    assert [run["hints"] for run in runs(*arguments, POLLER_STRIPE_SWEEP="off")] == ["polling"] * 2


@pytest.mark.parametrize("arguments", [
    ("--lives", "soon"), ("--sources", "many"), ("--sources", "0"), ("--policy", "hourly"),
    ("--webhook-loss", "101"), ("--sample", "1"), ("--payments", "0"), ("--payments", "1", "--sources", "1"),
    ("--deliveries", "-1"), ("--age", "old"), ("--returnable", "101"), ("--processes", "0"), ("--accounts", "0"),
])
def test_invalid_plan_options_are_rejected(arguments):
    assert arguments[0] in simulate(*arguments, status=64).stderr


def cluster(*arguments: str, **env: str) -> dict:
    """Returns the cluster part of one plan."""
    few = ("--lives", "1h", "--sample", "100", *arguments)
    return runs(*few, **({"POLLER_STRIPE_SWEEP": "off", "POLLER_SEARCH": "order,customer"} | env))[0]["cluster"]


def test_the_planned_cluster_follows_configuration_and_traffic():
    plain = cluster("--payments", "10")
    assert abs(plain["payments_per_s"] - 10) < 0.01 and abs(plain["deliveries_per_s"] - 50) < 0.1
    assert plain["gateway"]["processes"] == 0 and plain["worker"]["processes"] >= 2
    # Shorter retention, fewer indexed fields and no recipients reduce the plan.
    assert cluster("--payments", "10", POLLER_CLOSED_RETENTION="10d")["redis_bytes"] < plain["redis_bytes"] * 0.6
    fewer = cluster("--payments", "10", "--deliveries", "0", POLLER_SEARCH="order")
    assert fewer["deliveries_per_s"] == 0 and fewer["bytes"]["closed"] < plain["bytes"]["closed"]
    assert fewer["bytes"]["closed"] < cluster("--payments", "10", "--deliveries", "0")["bytes"]["closed"]
    # Ten accounts spread the same payments over ten lanes, and none of them is full.
    assert cluster("--payments", "10", "--accounts", "10")["polls_per_s"] > plain["polls_per_s"]
    crowd = cluster("--payments", "10", "--listeners", "200000", "--heard", "3")
    assert crowd["gateway"]["processes"] == 9 and abs(crowd["frames_per_s"] - 150) < 1


def test_an_impossible_load_is_reported_as_impossible():
    traffic = ("--payments", "500", "--accounts", "100")
    plan = cluster(*traffic)
    # There are 2,500 events a second, and each notifier reads them all.
    assert plan["notifier"].pop("cores") > 2
    assert plan["notifier"] == {"processes": None, "problem": "not possible with processes of one core"}
    assert set(plan["api"]) == {"cores", "processes"} and plan["api"]["processes"] >= 2
    lines = simulate("--lives", "1h", "--sample", "100", *traffic, POLLER_STRIPE_SWEEP="off").stdout.splitlines()
    assert "not possible" in lines[-3] and lines[-2] == ""
    assert lines[-1].startswith("not possible with processes of one core: each process reads every event")


def test_planned_partitions_are_enough_for_the_fullest_master():
    """Checks the plan independently, with the CRC16 of each partition's number and equal shares of the slots."""
    for payments in ("30", "100"):
        plan = cluster("--payments", payments, "--accounts", "10")
        masters, partitions = plan["masters"], plan["partitions"]

        def fullest(partitions: int) -> float:
            slots = [binascii.crc_hqx(str(one).encode(), 0) % 16_384 for one in range(partitions)]
            return max(Counter(slot * masters // 16_384 for slot in slots).values()) * masters / partitions

        def fits(partitions: int) -> bool:
            return fullest(partitions) <= 1.3 and plan["redis_bytes"] * fullest(partitions) <= masters * 24e9 * 1.001

        assert masters > 2 and fits(partitions), plan
        assert not any(fits(fewer) for fewer in (16, 64, 256) if fewer < partitions), plan


def test_every_cost_is_printed_with_its_source():
    told = json.loads(simulate("--costs", "--json").stdout)
    assert {"closed.payment", "worker.polls", "redis.deliveries"} < set(told)
    assert all(set(cost) == {"value", "unit", "source"} for cost in told.values())
    lines = simulate("--costs").stdout.splitlines()
    assert lines[0].split() == ["COST", "VALUE", "UNIT", "SOURCE"] and len(lines) == len(told) + 1


# The load of other tests would delay the polls that the plan is compared with.
@pytest.mark.alone
def test_the_plan_matches_a_real_run(chaos):
    # A source's creation time is in whole seconds. One second more keeps the last poll from coming too early.
    env = {"POLLER_STRIPE_SWEEP": "off", "POLLER_SOURCE_EXPIRY": f"ideal={LIFE_S + 1}s/6h"}
    cluster: Cluster = chaos(workers=1, notifiers=0, listen=False, env=env)
    sources = cluster.sandbox.create_sources(SOURCES)
    begun = time.monotonic()
    batch = [{"source": source, "policy": "standard"} for source in sources]
    assert cluster.api.request("POST", "/v1/watches/batch", json=batch).ok
    # The sources end at evenly spread times of their life.
    for number, source in enumerate(sources):
        moment = begun + LIFE_S * (number + 0.5) / SOURCES
        wait_until(lambda: time.monotonic() >= moment, LIFE_S, "the moment comes", pause_s=0.005)
        cluster.sandbox.set_status(source, "failed")
    for source in sources:
        wait_until(lambda: cluster.api.watch(source)["state"] == "closed", 60, f"{source} is closed")
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
