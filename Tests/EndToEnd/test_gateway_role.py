"""Tests a stand-alone gateway together with a notifier that has none."""

import json

import requests
from harness.cluster import Cluster
from harness.commands import run
from harness.prometheus import check_metrics
from harness.stream_client import StreamClient
from harness.waiting import wait_until


def test_a_separate_gateway_sends_listeners_the_events_of_a_notifier(chaos):
    cluster: Cluster = chaos(workers=1, notifiers=0, listen=False)
    gateway = cluster.role("gateway", "gateway").start().wait_ready()
    notifier = cluster.role("notifier", "notifier", {"POLLER_GATEWAY_BIND": "off"}).start().wait_ready()
    assert "gateway listening" not in notifier.stdout()
    assert "api listening" not in gateway.stdout()

    listener = StreamClient(gateway.address("gateway"))
    try:
        source = cluster.enqueue_new(notify=[cluster.webhook.url + "/SOURCE"])
        cluster.sandbox.authorise(source)
        wait_until(
            lambda: [frame for frame in listener.frames if "source.chargeable" in json.dumps(frame)],
            60, "the listener has the event",
        )
        wait_until(lambda: cluster.webhook.receipts.all(), 60, "the shop has the event")
    finally:
        listener.close()

    workers = requests.get(cluster.api_process.address("api") + "/v1/workers", timeout=60).json()["data"]
    assert sorted(one["roles"] for one in workers) == [["api"], ["gateway"], ["notifier"], ["worker"]]
    # The gateway has neither polled nor delivered.
    assert gateway.metric("poller_deliveries_total") == 0
    check_metrics(gateway)
    assert gateway.terminate() == 0


def test_a_disabled_gateway_is_rejected_with_advice():
    # The configuration is rejected before the store, which is unreachable here, is contacted.
    done = run("pollerd", "gateway", env={"POLLER_GATEWAY_BIND": "off"})
    assert done.returncode == 78
    assert "set it to HOST:PORT" in done.stderr


def test_standard_output_is_json_if_the_log_format_is_json(chaos):
    cluster: Cluster = chaos(workers=0, notifiers=0, listen=False)
    role = cluster.role("gateway", "gateway", {"POLLER_LOG_FORMAT": "json"}).start()
    role.line('"message":"pollerd ready"')
    lines = [json.loads(line) for line in role.stdout().splitlines()]
    assert {line["listener"] for line in lines if "listener" in line} == {"gateway", "admin"}
    assert all(line["time"] and line["level"] == "notice" for line in lines)
    assert all(json.loads(line) for line in role.stderr().splitlines())
