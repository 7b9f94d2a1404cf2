"""Tests the number of workers that a cluster reports it could use, with a real worker that has too few slots."""

from harness.cluster import Cluster
from harness.commands import run
from harness.poller_api import PollerAPI
from harness.waiting import wait_until

PLACES = 4
WATCHES = 60
# Polls at one per second: longer than a lane may wait before another worker is wanted for it.
POLLS = 4


def test_the_wanted_number_of_workers_follows_lane_limits_not_the_queue(chaos):
    env = {"POLLER_WORKER_CONCURRENCY": str(PLACES)}
    cluster: Cluster = chaos(workers=1, notifiers=0, apis=2, listen=False, env=env)
    # Each poll occupies its slot for a while.
    cluster.sandbox.fault("delay", "/v1/sources", delay_ms=1000)

    def stats() -> dict:
        return cluster.api.get("/v1/stats")

    wait_until(lambda: stats()["workers"] == 1, 60, "the worker is listed")
    assert stats()["workers_wanted"] == 1, "an idle cluster needs one worker"
    for source in cluster.sandbox.create_sources(WATCHES):
        cluster.enqueue(source, policy="interactive", notify=[])
    wanted = wait_until(lambda: (w := stats()["workers_wanted"]) > 5 and w, 60, "more are wanted")
    assert wanted <= 1 + WATCHES / PLACES, "no more than there are polls"
    shown = run("pollerctl", "stats", env={"POLLER_URL": cluster.api.url})
    assert "workers wanted" in shown.stdout
    other = PollerAPI(cluster.apis[1].address("api"))
    wait_until(lambda: other.get("/v1/stats")["workers_wanted"] > 5, 60, "every process reports it")

    # One worker reaches this rate with a slot to spare. The queue grows, but no further worker is wanted.
    lane = "/v1/lanes/default%2Fsources"
    limit = {"rate": 1, "burst": 1, "concurrency": 20}
    assert cluster.api.request("POST", f"{lane}/limit", json=limit).ok
    wait_until(lambda: stats()["workers_wanted"] == 1, 60, "one is enough")
    polled = cluster.workers[0].metric("poller_polls_total")

    def is_served() -> bool:
        now = stats()
        # A late claim may briefly want a second worker, but not one for every four waiting items.
        assert now["watches"]["overdue"] > WATCHES / 2 and now["workers_wanted"] <= 2, now
        return cluster.workers[0].metric("poller_polls_total") >= polled + POLLS

    wait_until(is_served, 60, "the lane continues at its rate", pause_s=0.1)

    assert cluster.api.request("POST", f"{lane}/limit", json={"default": True}).ok
    wait_until(lambda: stats()["workers_wanted"] > 5, 60, "more again")
    assert cluster.api.request("POST", f"{lane}/pause").ok
    wait_until(lambda: stats()["workers_wanted"] == 1, 60, "no worker for a paused lane")
