"""Tests event streams of the real gateway, as browsers and services use them."""

import requests
from harness.cluster import Cluster
from harness.stream_client import EventStream
from harness.waiting import wait_until


# The events of a payment from beginning to end.
WHOLE = ["source.pending", "payment.authorised", "source.chargeable", "payment.paid", "source.consumed"]


def types(messages: list[dict]) -> list[str]:
    return [message["data"]["type"] for message in messages if message["event"] == "message"]


def test_a_source_stream_ends_with_the_source_and_rejects_reconnects(calm: Cluster):
    source = calm.follow_new()
    path = f"/v1/sources/{source}/events"
    with EventStream(calm.gateway(), path) as stream:
        assert stream.response.headers["content-type"] == "text/event-stream"
        assert stream.response.headers["cache-control"] == "no-store"
        assert stream.response.headers["x-accel-buffering"] == "no"
        assert stream.until("snapshot")[-1]["data"]["status"] == "pending"
        calm.authorise(source)
        calm.sandbox.charge(source)
        told = stream.until("done")
    assert types(told) == WHOLE[1:]
    recorded = calm.api.events(source)
    assert [message["data"] for message in told if message["event"] == "message"] == recorded[1:]
    with EventStream(calm.gateway(), path, last_id=told[-1]["id"]) as again:
        assert again.status == 204


def test_regression_8_a_cursor_of_another_cluster_gets_reset_and_a_snapshot(calm: Cluster):
    source = calm.follow_new()
    with EventStream(calm.gateway(), f"/v1/sources/{source}/events", last_id="AgQAAAA") as stream:
        told = stream.until("snapshot")
    assert [message["event"] for message in told] == ["reset", "snapshot"]
    assert told[-1]["data"]["status"] == "pending"


def test_invalid_requests_get_a_problem_response(calm: Cluster):
    for path, status in [
        ("/v1/events/stream?color=blue", 400),
        ("/v1/events/stream?since=snapshot", 400),
        ("/v1/sources/a%20b/events", 400),
        ("/v1/other", 404),
        ("/v1/stream", 426),
    ]:
        answer = requests.get(calm.gateway() + path, timeout=30)
        assert answer.status_code == status, path
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["code"] and answer.json()["detail"]


def test_a_gateway_killed_during_a_stream_loses_and_repeats_no_event(chaos):
    cluster: Cluster = chaos(listen=False)
    source = cluster.follow_new()
    path = f"/v1/sources/{source}/events?after_seq=0"
    with EventStream(cluster.gateway(), path) as stream:
        first = stream.until("ready")
        cluster.notifiers[0].kill9()
    cluster.authorise(source)
    cluster.notifiers[0].start().wait_ready()
    with EventStream(cluster.gateway(), path, last_id=first[-1]["id"]) as stream:
        second = stream.until("ready")
        cluster.sandbox.charge(source)
        third = stream.until("done")
    assert types(first + second + third) == WHOLE


def test_a_drained_gateway_sends_a_retry_delay(chaos):
    cluster: Cluster = chaos(listen=False)
    with EventStream(cluster.gateway(), "/v1/events/stream") as stream:
        stream.until("ready")
        cluster.notifiers[0].signal(15)
        assert stream.until("bye")[-1]["data"]["code"] == 4101
    wait_until(lambda: not cluster.notifiers[0].running, 60, "it ends")
