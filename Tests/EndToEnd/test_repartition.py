"""Tests adding partitions to a store in use while processes are killed."""

import os
import re
import subprocess
from collections import Counter

import pytest
from chaos.run import Plan, Run
from harness.cluster import Cluster, program
from harness.poller_api import PollerAPI
from harness.waiting import wait_until

# The number of watches to move when the duration is measured, and how many of them are closed.
MOVED = int(os.environ.get("POLLER_MOVED", "2000"))
ENDED = int(os.environ.get("POLLER_ENDED", "500"))
KILLED = frozenset({"worker killed", "worker frozen", "notifier frozen", "api killed", "redis killed"})


def repartition(cluster: Cluster, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [program("pollerd"), "repartition", *words], env=cluster.env, capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(Plan(seed=31, seconds=30, kinds=KILLED, partitions=2, split_to=64), marks=pytest.mark.long),
        Plan("cluster", seed=32, seconds=15, sources=60, kinds=frozenset({"worker killed"}), partitions=4, split_to=32),
    ],
    ids=lambda plan: plan.store,
)
def test_no_event_is_lost_repeated_or_reordered_while_partitions_are_added(chaos, plan: Plan):
    run = Run(plan)
    run.on(run.cluster(chaos))
    print(run.figures.text(), run.figures.splits)
    run.verdict()
    assert run.figures.recorded > 2 * run.figures.sources
    assert run.figures.splits["items"] > run.figures.sources / 2, "hardly anything has moved"


def test_items_from_before_a_split_are_found_in_their_new_partition(chaos):
    cluster: Cluster = chaos(env={"POLLER_PARTITIONS": "1"}, workers=1, listen=False)
    sources = cluster.sandbox.create_sources(30)
    ended, open_ones = sources[:20], sources[20:]
    for source in sources:
        cluster.enqueue(source, notify=[cluster.webhook.url], metadata={"order": f"A-{source}"})
    for source in ended:
        cluster.sandbox.set_status(source, "failed")
    for source in ended:
        cluster.wait_status(source, "failed")
    for source in open_ones:
        cluster.wait_status(source, "pending")
    cluster.wait_delivered(sources, mail=False)
    api = cluster.api
    before = {source: story(api, source) for source in sources}
    deliveries = api.get("/v1/deliveries?limit=100")["data"]
    place = api.get("/v1/events?from=oldest&limit=5")["next"]
    rest = events_after(api, place)
    of_one = f"/v1/deliveries?endpoint={deliveries[0]['endpoint']}"
    names = [each["source"] for each in api.get(f"{of_one}&limit=100")["data"]]
    begun = api.get(f"{of_one}&limit=7")
    assert len(rest) == len(events_after(api, api.get("/v1/events?from=oldest&limit=1")["next"])) - 4

    behind = repartition(cluster, "8", "--wait", "0s")
    assert behind.returncode == 78 and "run pollerd repartition 8 again" in behind.stderr, behind
    assert "is growing from 1 to 8 partitions" in repartition(cluster).stdout
    for role in [*cluster.apis, *cluster.workers, *cluster.notifiers]:
        assert role.terminate() == 0
        role.start().wait_ready()
    done = repartition(cluster, "8")
    assert done.returncode == 0 and "the store has 8 partitions" in done.stdout, done
    with cluster.redis.client() as client:
        assert client.hgetall("poller:layout").items() >= {"partitions": "8", "base": "1"}.items()
        left = sum(1 for _ in client.scan_iter("poller:w{0}*", count=1000))
        assert left == 0, "all is where it was"

    api = PollerAPI(wait_until(lambda: cluster.apis[0].address("api"), 60, "an API"))
    assert {source: story(api, source) for source in sources} == before
    assert api.get("/v1/watches?metadata.order=A-" + sources[0])["data"][0]["source"] == sources[0]
    # Cursors and IDs from before are still valid.
    assert events_after(api, place) == rest
    for delivery in deliveries:
        assert api.get(f"/v1/deliveries/{delivery['id']}")["source"] == delivery["source"]
    others = api.get(f"{of_one}&limit=100&cursor={begun['next']}")["data"]
    assert [each["source"] for each in begun["data"] + others] == names
    # Open watches continue.
    for source in open_ones:
        cluster.sandbox.set_status(source, "failed")
    wait_until(
        lambda: all(api.watch(source)["status"] == "failed" for source in open_ones), 60, "the open ones end"
    )
    last = {api.events(source)[-1]["id"] for source in sources}
    wait_until(lambda: last <= cluster.webhook.receipts.ids(), 60, "all is delivered")
    assert cluster.fsck().returncode == 0, cluster.fsck().stdout


def test_a_partition_is_frozen_only_while_its_own_items_are_copied(chaos):
    # Without workers nothing is polled, so moving the watches is the only work.
    cluster: Cluster = chaos(env={"POLLER_PARTITIONS": "1", "POLLER_INCIDENT_HOLD": "1h"}, workers=0, listen=False)
    for first in range(0, MOVED, 1000):
        watches = [
            {
                "source": f"src_{number}",
                "account": f"acct_{number % 50}",
                "metadata": {"order": f"A-{number}", "customer": f"c-{number // 500}" if number < ENDED else "open"},
            }
            for number in range(first, min(first + 1000, MOVED))
        ]
        done = cluster.api.request("POST", "/v1/watches/batch", json=watches)
        assert done.ok, done.text
    for part in range((ENDED + 499) // 500):
        selection, count = {"q": f"customer=c-{part}"}, 0
        while selection:
            done = cluster.api.request("POST", "/v1/watches/batch/cancel", json=selection)
            assert done.ok, done.text
            count += done.json()["done"]
            selection = done.json().get("next") and selection | {"cursor": done.json()["next"]}
        assert count == min(500, ENDED - 500 * part)
    assert repartition(cluster, "16", "--wait", "0s").returncode == 78
    for role in [*cluster.apis, *cluster.notifiers]:
        assert role.terminate() == 0
        role.start().wait_ready()
    done = repartition(cluster, "16")
    assert done.returncode == 0, done
    told = re.search(r"watches 1/1: (\d+) items .* nothing written for (\S+)", done.stdout)
    print(f"\n{told[1]} of {MOVED} watches moved, {ENDED} of which had ended; nothing written for {told[2]}")
    with cluster.redis.client() as client:
        homes = Counter(key.split("}")[0] for key in client.scan_iter("poller:w{*", count=1000))
    assert sum(homes.values()) == MOVED and MOVED - homes["poller:w{0"] == int(told[1])
    assert cluster.fsck().returncode == 0


def test_an_invalid_number_changes_nothing(chaos):
    cluster: Cluster = chaos(env={"POLLER_PARTITIONS": "16"}, workers=1, listen=False)
    for wrong in ("8", "24", "2048"):
        done = repartition(cluster, wrong)
        assert done.returncode == 78 and "a multiple of them" in done.stderr, done
    with cluster.redis.client() as client:
        assert client.hget("poller:layout", "partitions") == "16"
        assert not client.hexists("poller:layout", "former")


def story(api: PollerAPI, source: str) -> dict:
    watch = api.watch(source)
    return {name: watch.get(name) for name in ("status", "closed_reason", "seq", "run")} | {
        "events": api.events(source)
    }


def events_after(api: PollerAPI, place: str) -> list[str]:
    found: list[str] = []
    while True:
        page = api.get(f"/v1/events?cursor={place}&limit=100")
        found += [event["id"] for event in page["data"]]
        place = page["next"]
        if not page["has_more"]:
            return found
