"""Tests the timeline of a payment: its entries, their order and authors, and the access to it."""

import json
import uuid

import requests
from harness.cluster import Cluster
from harness.commands import ctl
from harness.redis_server import free_port
from harness.waiting import wait_until


def timeline(cluster: Cluster, source: str) -> list[dict]:
    return cluster.api.get(f"/v1/watches/{source}/timeline")["data"]


def kinds(entries: list[dict]) -> list[str]:
    return [entry["kind"] for entry in entries]


def test_all_entries_are_in_order(calm: Cluster):
    order = f"T-{uuid.uuid4().hex[:8]}"
    source = calm.follow_new(order=order, notify=[calm.webhook.url + "/told"])
    ctl(calm, "poll", source)
    calm.authorise(source)
    calm.sandbox.charge(source)
    wait_until(lambda: "“Paid” was delivered to" in str(timeline(calm, source)) and kinds(timeline(calm, source)).count("delivery") >= 3,
               60, "the payment was delivered")
    calm.wait_status(source, "consumed")
    calm.wait_done([source], mail=False)
    entries = timeline(calm, source)
    assert [entry["at"] for entry in entries] == sorted(entry["at"] for entry in entries)
    texts = [entry["text"] for entry in entries]
    assert texts[0] == "The shop started watching this payment."
    assert "open requested a poll." in texts
    place = calm.webhook.url.removeprefix("http://") + "/told"
    waits, approved, paid = (
        next(at for at, text in enumerate(texts) if text.startswith(beginning))
        for beginning in ("Waiting for the customer to pay €10.99 by iDEAL.", "The customer has approved €10.99",
                          "Paid: €10.99 has arrived by iDEAL.")
    )
    assert waits < approved < paid
    assert entries[paid]["tone"] == "good"
    assert any(text == f"“Paid” was delivered to {place}." for text in texts), texts
    deed = next(entry for entry in entries if entry["kind"] == "deed")
    assert deed["by"] == "open"

    def is_printed() -> bool:
        entries = timeline(calm, source)
        texts = [entry["text"] for entry in entries]
        return (
            [line.split("\t")[2] for line in ctl(calm, "timeline", source).splitlines()] == texts
            and [json.loads(line) for line in ctl(calm, "timeline", source, "--json").splitlines()] == entries
            and [line.split("\t")[2] for line in ctl(calm, "timeline", "--order", order).splitlines()] == texts
        )

    # An entry about a hint may be added between two reads.
    wait_until(is_printed, 60, "the command prints the same entries")


def test_an_archive_has_each_payment_with_events_and_timeline(calm: Cluster):
    order = f"X-{uuid.uuid4().hex[:8]}"
    sources = calm.sandbox.create_sources(2)
    for source in sources:
        calm.enqueue(source, order=order, metadata={"basket": "7"}, notify=[])
    for source in sources:
        calm.wait_status(source, "pending")
    assert ctl(calm, "export", f"order={order}") == "", "neither has ended"
    for source in sources:
        calm.sandbox.set_status(source, "failed")
    for source in sources:
        calm.wait_status(source, "failed")

    def export() -> list[dict]:
        return [json.loads(line) for line in ctl(calm, "export", f"order={order}").splitlines()]

    lines = export()
    assert sorted(line["watch"]["source"] for line in lines) == sorted(sources)
    for line in lines:
        source = line["watch"]["source"]
        assert line["events"] == calm.api.events(source) and line["events"][-1]["metadata"] == {"basket": "7"}
    # An entry about a hint may be added between two reads.
    wait_until(
        lambda: all(line["timeline"] == timeline(calm, line["watch"]["source"]) for line in export()),
        60, "the archive has the timelines",
    )


def test_failed_attempts_are_one_entry_with_each_result(calm: Cluster):
    source, nowhere = calm.sandbox.create_source(), f"http://127.0.0.1:{free_port()}/hook?secret=1"
    calm.enqueue(source, notify=[nowhere])

    def failures() -> list[dict]:
        return [entry for entry in timeline(calm, source) if len(entry.get("attempts", [])) > 1]

    wait_until(failures, 60, "two attempts have failed")
    [failed] = failures()
    place = nowhere.removeprefix("http://").removesuffix("?secret=1")
    assert failed["text"] == f"Delivery of “Waiting” to {place} failed ({len(failed['attempts'])} attempts)."
    assert failed["tone"] == "careful" and failed["kind"] == "delivery"
    assert failed["at"] == failed["attempts"][0]["at"] and failed["until"] == failed["attempts"][-1]["at"]
    assert {attempt["class"] for attempt in failed["attempts"]} == {"connect"}
    assert "secret" not in str(timeline(calm, source))


def test_webhooks_and_customer_actions_are_in_the_timeline(chaos):
    cluster = chaos(workers=1, listen=False, env={"POLLER_STRIPE_SWEEP": "1s"})
    source = cluster.sandbox.create_source()
    secret = cluster.sandbox.source(source)["client_secret"]
    cluster.follow(source, policy="patient", client_secret=secret, notify=[])
    with requests.Session() as payer:
        for _ in range(3):
            page = payer.get(f"{cluster.api.url}/r", params={"source": source, "client_secret": secret})
            assert page.ok and source in page.url, page.url
    cluster.sandbox.authorise(source)
    wait_until(lambda: "hint" in kinds(timeline(cluster, source)), 60, "the hint is in the timeline")
    entries = timeline(cluster, source)
    hint = next(entry for entry in entries if entry["kind"] == "hint")
    assert hint["text"] == "The upstream event “source.chargeable” triggered a poll."
    assert hint["detail"] == "found in the upstream's event list"
    # Three page loads within a minute are one visit.
    assert [entry["text"] for entry in entries if entry["kind"] == "visit"] == ["The customer opened the return page."]


def test_an_unwatched_source_has_no_timeline(calm: Cluster):
    refused = calm.api.request("GET", "/v1/watches/src_nobody_watches/timeline")
    assert refused.status_code == 404 and refused.json()["code"] == "watch_not_found"
