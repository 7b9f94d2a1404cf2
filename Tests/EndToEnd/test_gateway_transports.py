"""Tests that WebSocket, event stream and long poll share one cursor, on real processes."""

import json

import websockets.sync.client
from harness.cluster import Cluster
from harness.stream_client import EventStream


def over_websocket(cluster: Cluster, place: str, sources: list[str]) -> tuple[list[dict], str]:
    """Returns the events after a cursor until the stream has caught up, and the new cursor."""
    url = cluster.gateway().replace("http://", "ws://") + "/v1/stream"
    with websockets.sync.client.connect(
        url, subprotocols=["poller.v1.json"], proxy=None, open_timeout=60
    ) as socket:
        socket.send(json.dumps({"op": "subscribe", "ref": 1, "sources": sources, "from": place}))
        events = []
        while True:
            frame = json.loads(socket.recv(timeout=60))
            if frame["op"] == "subscribed":
                assert frame["recovered"], frame
            if frame["op"] == "event":
                events.append(frame["event"])
            if frame["op"] == "caught_up":
                return events, frame["cursor"]


def over_event_stream(cluster: Cluster, place: str, sources: list[str]) -> tuple[list[dict], str]:
    path = f"/v1/events/stream?source={','.join(sources)}&since={place}"
    with EventStream(cluster.gateway(), path) as stream:
        told = stream.until("ready")
    assert all(message["event"] in ("message", "ready") for message in told)
    return [message["data"] for message in told[:-1]], told[-1]["id"]


def over_long_polls(cluster: Cluster, place: str, sources: list[str]) -> tuple[list[dict], str]:
    events = []
    while True:
        page = cluster.api.get(
            f"/v1/events?cursor={place}&source={','.join(sources)}&wait=200ms"
        )
        assert not page["gap"]
        events += page["data"]
        place = page["next"]
        if not page["data"] and not page["has_more"]:
            return events, place


def test_a_reader_that_changes_transports_misses_and_repeats_no_event(calm: Cluster):
    sources = calm.sandbox.create_sources(6)
    place = calm.api.get("/v1/events?from=now&limit=1")["next"]
    ways = [over_websocket, over_event_stream, over_long_polls, over_event_stream, over_websocket, over_long_polls]
    told: list[dict] = []
    for source, way in zip(sources, ways):
        calm.follow(source)
        calm.set_status(source, "failed")
        events, place = way(calm, place, sources)
        types = ["source.pending", "payment.failed", "source.failed"]
        assert [event["type"] for event in events] == types, way.__name__
        told += events
    recorded = [event for source in sources for event in calm.api.events(source)]
    assert told == recorded


def test_a_stream_resumes_from_the_seq_of_a_long_poll(calm: Cluster):
    source = calm.follow_new()
    watch = calm.api.get(f"/v1/watches/{source}?after_seq=0&wait=5s")
    calm.sandbox.set_status(source, "failed")
    with EventStream(
        calm.gateway(), f"/v1/sources/{source}/events?after_seq={watch['seq']}"
    ) as stream:
        told = stream.until("done")
    rest = [m["data"] for m in told if m["event"] == "message"]
    assert [event["type"] for event in rest] == ["payment.failed", "source.failed"]
    assert [event["seq"] for event in rest] == [watch["seq"] + 1, watch["seq"] + 2]
