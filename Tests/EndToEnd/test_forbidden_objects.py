"""Tests that objects that the key may not read do not delay other objects in their lane."""

import time

from harness.cluster import Cluster
from harness.waiting import wait_until

FORBIDDEN, GOOD = 20, 50
# The default limits; the suite's higher ones would hide a lane that is held.
USERS_LIMITS = {"POLLER_LANE_RATE": "20", "POLLER_LANE_BURST": "5", "POLLER_LANE_CONCURRENCY": "20"}


def test_forbidden_objects_do_not_block_others_in_their_lane(chaos):
    cluster: Cluster = chaos(env=USERS_LIMITS, listen=False)
    sources = cluster.sandbox.create_sources(FORBIDDEN + GOOD)
    forbidden, good = sources[:FORBIDDEN], sources[FORBIDDEN:]
    for source in forbidden:
        cluster.sandbox.fault("status", f"/v1/sources/{source}", status=403)
    # The forbidden sources come first, so the lane has had no successful answer when they are refused.
    for source in forbidden + good:
        cluster.enqueue(source, policy="standard", notify=[])

    def unseen() -> list[str]:
        return [source for source in good if cluster.api.watch(source)["status"] != "pending"]

    wait_until(lambda: not unseen(), 60, "every good source polled")

    # The other sources are not delayed later either, while the forbidden ones are refused repeatedly.
    changed, refused = good[-5:], sum(len(cluster.sandbox.polls(source)) for source in forbidden)
    for source in changed:
        cluster.sandbox.set_status(source, "chargeable")
    began = time.monotonic()
    for source in changed:
        assert cluster.api.request("POST", f"/v1/watches/{source}/poll").ok
        cluster.wait_status(source, "chargeable", timeout_s=30)
    print(f"{len(changed)} changes seen in {time.monotonic() - began:.1f} s")
    assert refused >= FORBIDDEN

    # No event was recorded about the payments that could not be read.
    for source in forbidden:
        assert cluster.api.events(source) == []
        # On a busy machine the last poll may have ended with its timeout, and the next one follows within a minute.
        wait_until(
            lambda source=source: "credentials refused" in (cluster.api.watch(source).get("last_error") or ""),
            120, "the reason is shown",
        )
    # The lane's circuit stays closed, so only the doctor reports the problem.
    checks = {check["name"]: check for check in cluster.api.get("/v1/doctor")["checks"]}
    assert checks["credentials"]["status"] == "warning", checks["credentials"]
    assert checks["credentials"]["message"].startswith(f"{FORBIDDEN} of "), checks["credentials"]
    assert "payments of default/sources cannot be polled" in checks["credentials"]["message"]


def test_polls_resume_when_a_revoked_key_is_valid_again(chaos):
    cluster: Cluster = chaos(env=USERS_LIMITS, listen=False)
    sources = cluster.sandbox.create_sources(30)
    fault = cluster.sandbox.fault("status", "/v1/sources/", status=401)
    for source in sources:
        cluster.enqueue(source, policy="interactive", notify=[])

    def circuit() -> str:
        lanes = cluster.api.get("/v1/lanes")["data"]
        return lanes[0]["circuit"] if lanes else ""

    wait_until(lambda: circuit() in ("open", "probing"), 60, "the lane's circuit opened")
    # The upstream answers each time, and its reason is reported.
    assert cluster.api.get("/v1/lanes")["data"][0]["failure"] == "revoked"
    cluster.sandbox.clear_fault(fault)
    for source in sources:
        cluster.wait_status(source, "pending", timeout_s=70)
    assert circuit() == "closed"
