"""Tests tracing: one payment is one trace from the caller to the webhook, and without tracing there are no spans."""

import base64
import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.cluster import Cluster, program
from harness.commands import pollerctl
from harness.otlp_collector import OTLPCollector, caller
from harness.redis_server import free_port
from harness.waiting import wait_until

# The time from the sandbox's answer to the webhook on a busy machine. An exporter's timeout is 10 s.
PROMPT_S = 8


@pytest.fixture
def collector() -> Iterator[OTLPCollector]:
    made = OTLPCollector()
    yield made
    made.close()


def enqueue(cluster: Cluster, header: str | None, **fields) -> str:
    """Watches a new source in the trace of a `traceparent` header."""
    source = cluster.sandbox.create_source()
    headers = {"traceparent": header} if header else {}
    fields = {"source": source, "policy": "interactive", "notify": [cluster.webhook.url]} | fields
    answer = cluster.api.request("POST", "/v1/watches", json=fields, headers=headers)
    assert answer.status_code == 201, answer.text
    return source


def receipts(cluster: Cluster, source: str, count: int, timeout_s: float = 60) -> list:
    def look() -> list | None:
        found = cluster.webhook.receipts.among([source]).all()
        return found if len(found) >= count else None

    return wait_until(look, timeout_s, f"{count} webhooks of {source}")


def settle(cluster: Cluster, source: str) -> list:
    """Makes the customer pay, and returns the webhooks of the watch."""
    cluster.wait_status(source, "pending")
    cluster.authorise(source)
    return receipts(cluster, source, len(cluster.api.events(source)))


def stored(cluster: Cluster, source: str) -> str | None:
    """Returns the trace stored in the record of a watch."""
    with cluster.redis.client() as client:
        for key in client.scan_iter("poller:w{*}*"):
            s, trace = client.hmget(key, "s", "T")
            if s == source:
                return trace
    raise AssertionError(f"no record of {source}")


def lines(process, message: str) -> list[dict]:
    parsed = [json.loads(line) for line in process.stderr().splitlines() if line.startswith("{")]
    return [line for line in parsed if line["message"] == message]


def test_one_trace_from_the_caller_to_the_webhook(chaos, collector: OTLPCollector):
    cluster: Cluster = chaos(env={"POLLER_OTLP_ENDPOINT": collector.url})
    trace, span, header = caller()
    source = enqueue(cluster, header)
    told = settle(cluster, source)
    events = {event["id"]: event for event in cluster.api.events(source)}

    (entry,) = collector.wait(1, "enqueue", poller_source=source)
    assert (entry.trace, entry.parent, entry.kind, entry.error) == (trace, span, "server", None)
    assert entry.attributes["http.route"] == "/v1/watches" and entry.attributes["http.response.status_code"] == 201
    assert entry.resource["service.name"] == "pollerd-api" and entry.resource["service.version"]

    # Two polls found changes. The events that one poll recorded together form one change. A poll that fails on a busy
    # machine is another span.
    changes = collector.wait(2, "change", poller_source=source)
    answered = collector.wait(2, "poll", poller_source=source, poller_result="observed")
    polls = {(poll.trace, poll.id): poll for poll in answered}
    assert len(changes) == len(polls) == 2
    for change in changes:
        assert (change.trace, change.parent, change.kind) == (trace, entry.id, "internal")
        (link,) = change.links
        poll = polls[link]
        assert poll.trace != trace and poll.parent == "" and poll.links == [(trace, entry.id)]
        assert poll.kind == "client" and poll.attributes["poller.result"] == "observed"
        assert poll.began_ns <= poll.ended_ns < time.time_ns()
        assert change.resource["service.name"] == "pollerd-worker"

    sent = {span.id: span for span in collector.wait(len(told), "delivery", poller_source=source)}
    assert len(sent) == len(told) == len(events)
    assert {span.resource["service.name"] for span in sent.values()} == {"pollerd-notifier"}
    assert len({span.resource["service.instance.id"] for span in sent.values()}) == 1
    for receipt in told:
        version, told_trace, told_span, flags = receipt.headers["traceparent"].split("-")
        delivery = sent[told_span]
        assert (version, told_trace, flags) == ("00", trace, "01")
        assert (delivery.trace, delivery.kind, delivery.error) == (trace, "client", None)
        assert delivery.attributes["http.response.status_code"] == 200
        assert delivery.attributes["poller.event.id"] == receipt.event
        assert delivery.parent in {change.id for change in changes}
        # The recorded event names the change, and each channel sends the recorded event.
        assert events[receipt.event]["traceparent"] == f"00-{trace}-{delivery.parent}-01"
    for channel in (cluster.stream, cluster.pubsub):
        wait_until(lambda: len(channel.receipts.among([source]).all()) >= len(events), 60, "all delivered")
        for receipt in channel.receipts.among([source]).all():
            assert receipt.body["traceparent"] == events[receipt.event]["traceparent"]

    # `poller_spans_exported_total` counts the spans that the collector has confirmed.
    wait_until(
        lambda: cluster.notifiers[0].metric("poller_spans_exported_total") >= len(told), 60, "the spans are confirmed"
    )
    assert cluster.notifiers[0].metric("poller_spans_dropped_total") == 0
    observed = [line for worker in cluster.workers for line in lines(worker, "change observed")]
    assert {(line["trace_id"], line["span_id"]) for line in observed if line["source"] == source} == {
        (trace, change.id) for change in changes
    }

    def deliveries() -> list[dict] | None:
        found = [line for line in lines(cluster.notifiers[0], "delivered") if line["source"] == source]
        return found if len(found) >= len(sent) else None

    delivered = wait_until(deliveries, 60, "each delivery is logged")
    assert {line["span_id"] for line in delivered} == set(sent) and {line["trace_id"] for line in delivered} == {trace}


def test_failed_attempts_and_polls_are_failed_spans(chaos, collector: OTLPCollector):
    cluster: Cluster = chaos(env={"POLLER_OTLP_ENDPOINT": collector.url}, listen=False)
    trace, _, header = caller()
    cluster.webhook.refuse(1)
    source = enqueue(cluster, header)
    receipts(cluster, source, 1)
    first, second = sorted(
        collector.wait(2, "delivery", poller_source=source, poller_seq=1), key=lambda span: span.began_ns
    )
    assert first.error == "answered 503" and first.attributes["error.type"] == "server_error"
    assert (first.attributes["poller.attempt"], second.attributes["poller.attempt"]) == (1, 2)
    assert first.trace == second.trace == trace and first.id != second.id and second.error is None
    cluster.sandbox.fault("status", f"/v1/sources/{source}", status=500)
    failed = collector.wait(1, "poll", poller_source=source, poller_result="unavailable")[0]
    assert failed.error and failed.links[0][0] == trace
    # An invalid request is the caller's error, so the span has no error.
    assert cluster.api.request("POST", "/v1/watches", json={"sorce": "x"}, headers={"traceparent": header}).status_code == 400
    wrong = wait_until(
        lambda: [s for s in collector.spans("enqueue") if s.attributes["http.response.status_code"] == 400],
        60, "the rejected request is a span",
    )
    assert wrong[0].trace == trace and wrong[0].error is None


def test_an_unsampled_trace_is_propagated_and_not_recorded(chaos, collector: OTLPCollector):
    cluster: Cluster = chaos(env={"POLLER_OTLP_ENDPOINT": collector.url}, listen=False)
    trace, _, header = caller(flags="00")
    told = settle(cluster, enqueue(cluster, header))
    assert {tuple(receipt.headers["traceparent"].split("-")[1::2]) for receipt in told} == {(trace, "00")}
    # Without a header, a new trace goes from the poll to the webhook and is not stored with the watch.
    bare = enqueue(cluster, None)
    assert stored(cluster, bare) is None
    told = settle(cluster, bare)
    sent = {span.id: span for span in collector.wait(len(told), "delivery", poller_source=bare)}
    assert {receipt.headers["traceparent"].split("-")[2] for receipt in told} == set(sent)
    # Workers and notifiers export separately, so a delivery's span may arrive before the poll's.
    wait_until(
        lambda: {span.trace for span in sent.values()}
        <= {poll.trace for poll in collector.wait(1, "poll", poller_source=bare)},
        60, "each poll is a span",
    )
    assert not [span for span in collector.spans() if span.trace == trace]


def test_the_command_line_propagates_the_trace_of_its_caller(calm: Cluster):
    trace, _, header = caller()
    sources = [calm.sandbox.create_source() for _ in range(2)]
    pollerctl(calm, "enqueue", *sources, "--traceparent", header, "--notify", calm.webhook.url)
    for source in sources:
        assert {receipt.headers["traceparent"].split("-")[1] for receipt in receipts(calm, source, 1)} == {trace}


@pytest.mark.parametrize("mode", ["absent", "hang", "drip", 500, 503, 429])
def test_a_failing_collector_delays_nothing(chaos, mode):
    port = free_port()
    collector = None if mode == "absent" else OTLPCollector(port, mode)
    env = {"POLLER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}"}
    cluster: Cluster = chaos(env=env, listen=False, workers=1)
    try:
        spans = []
        for _ in range(3):
            source = enqueue(cluster, caller()[2])
            receipts(cluster, source, 1)
            began = time.monotonic()
            cluster.authorise(source)
            receipts(cluster, source, len(cluster.api.events(source)))
            spans.append(time.monotonic() - began)
        # A busy machine may delay one of them. To wait for the collector, which times out after 10 s, would delay each.
        assert min(spans) < PROMPT_S, spans
        notifier = cluster.notifiers[0]
        if mode in ("absent", 500):
            wait_until(lambda: lines(notifier, "traces are not exported"), 60, "the outage is logged")
            lost = notifier.metric("poller_spans_dropped_total")
            assert lost > 0
            # A second lost batch is not logged.
            settle(cluster, enqueue(cluster, caller()[2]))
            wait_until(lambda: notifier.metric("poller_spans_dropped_total") > lost, 60, "more is lost")
            assert len(lines(notifier, "traces are not exported")) == 1
            if collector:
                collector.mode = 200
            else:
                collector = OTLPCollector(port)

            def is_told() -> list:
                settle(cluster, enqueue(cluster, caller()[2]))
                return lines(notifier, "traces are exported again")

            assert int(wait_until(is_told, 60, "the recovery is logged", 1)[0]["lost"]) > 0
            assert len(lines(notifier, "traces are not exported")) == 1
            collector.wait(1, "delivery")
        elif mode in (429, 503):
            def tries() -> list[float] | None:
                found = [at for at, service in collector.tries if service == "pollerd-notifier"]
                return found[:4] if len(found) >= 4 else None

            first, *_, fourth = wait_until(tries, 60, "it is asked again, a few times")
            # Retries are one second apart, as requested. Five seconds between dropped batches would add up to fifteen.
            assert 2.9 < fourth - first < 14
        began = time.monotonic()
        assert notifier.terminate() == 0
        # The drain, plus three seconds for a last attempt.
        assert time.monotonic() - began < 9
    finally:
        if collector:
            collector.close()


def test_queued_spans_are_sent_when_a_process_drains(chaos, collector: OTLPCollector):
    cluster: Cluster = chaos(env={"POLLER_OTLP_ENDPOINT": collector.url}, listen=False, workers=1)
    source = enqueue(cluster, caller()[2])
    told = receipts(cluster, source, 1)
    assert cluster.notifiers[0].terminate() == 0
    assert len(collector.spans("delivery", poller_source=source)) == len(told)


def test_a_batch_in_flight_when_a_process_drains_is_sent_once(chaos, collector: OTLPCollector):
    collector.mode = "slow"
    cluster: Cluster = chaos(env={"POLLER_OTLP_ENDPOINT": collector.url}, listen=False, workers=1)
    source = enqueue(cluster, caller()[2])
    receipts(cluster, source, 1)
    # The collector has read the spans, and answers after the notifier has begun to drain.
    collector.wait(1, "delivery", poller_source=source)
    assert cluster.notifiers[0].terminate() == 0
    exported = [span.id for span in collector.spans("delivery", poller_source=source)]
    assert len(exported) == len(set(exported))


def test_without_tracing_a_trace_is_only_propagated(calm: Cluster):
    trace, span, header = caller()
    source = enqueue(calm, header)
    assert base64.urlsafe_b64decode(stored(calm, source) + "==") == bytes.fromhex(trace + span + "01")
    assert {receipt.headers["traceparent"] for receipt in settle(calm, source)} == {header}
    assert {event["traceparent"] for event in calm.api.events(source)} == {header}

    bare = enqueue(calm, "00-" + "0" * 32 + f"-{span}-01")
    assert stored(calm, bare) is None
    told = settle(calm, bare)
    assert not [receipt for receipt in told if "traceparent" in receipt.headers]
    assert not [event for event in calm.api.events(bare) if "traceparent" in event]
    for receipt in calm.stream.receipts.among([bare]).all() + calm.pubsub.receipts.among([bare]).all():
        assert "traceparent" not in receipt.body
    assert not [line for worker in calm.workers for line in lines(worker, "change observed") if
                line["source"] == bare and "trace_id" in line]


def test_standard_otel_variables_work_and_secrets_stay_hidden(chaos, collector: OTLPCollector, tmp_path: Path):
    secret = tmp_path / "headers"
    secret.write_text("authorization=Bearer%20canary-of-the-collector\n")
    secret.chmod(0o600)
    env = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url + "/", "POLLER_OTLP_HEADERS_FILE": str(secret),
        "OTEL_SERVICE_NAME": "payments",
    }
    cluster: Cluster = chaos(env=env, listen=False, workers=1)
    enqueue(cluster, None)
    assert collector.wait(1, "enqueue")[0].resource["service.name"] == "payments"
    assert collector.headers[0]["authorization"] == "Bearer canary-of-the-collector"
    checked = subprocess.run(
        [program("pollerd"), "check-config"], env=cluster.env, capture_output=True, text=True, timeout=30
    )
    assert checked.returncode == 0 and collector.url in checked.stdout
    assert "canary" not in checked.stdout + checked.stderr + cluster.report()
