"""Tests how changes at Stripe arrive: thin events, organisations, late lists, refused webhooks and wrong IDs."""

import json
import re
import time

import pytest
import requests
from harness.cluster import Cluster
from harness.commands import run
from harness.redis_server import free_port
from harness.signed_webhook import signed_webhook
from harness.waiting import wait_until
from test_stripe_hints import metric

SECRET = "whsec_doors"
# Charges sources that were not enqueued but arrive by webhook.
CONFIG = """
accounts:
  default:
    connected: all
    charge: {description: Acme}
"""


def post(api, event: dict, secret: str = SECRET, age_s: int = 0) -> requests.Response:
    """Posts an event as Stripe would, signed over its raw bytes."""
    body = json.dumps(event).encode()
    headers = signed_webhook(body, secret, age_s)
    return requests.post(f"{api.address('api')}/v1/stripe/webhook", data=body, headers=headers, timeout=20)


def event(type: str, object: dict, id: str, **more) -> dict:
    return {"id": id, "object": "event", "type": type, "livemode": False, "data": {"object": object}} | more


def ctl(cluster: Cluster, *arguments: str):
    return run("pollerctl", *arguments, env={"POLLER_URL": cluster.api.url, "NO_COLOR": "1"})


def is_known(cluster: Cluster, source: str) -> bool:
    return cluster.api.http.get(f"{cluster.api.url}/v1/watches/{source}", timeout=30).status_code == 200


def status_is(cluster: Cluster, source: str, status: str) -> bool:
    answer = cluster.api.http.get(f"{cluster.api.url}/v1/watches/{source}", timeout=30)
    return answer.status_code == 200 and answer.json()["status"] == status


@pytest.fixture(scope="module")
def door(tmp_path_factory):
    """Starts a cluster that watches and charges sources from webhooks, and has no other hints."""
    path = tmp_path_factory.mktemp("doors") / "poller.yaml"
    path.write_text(CONFIG)
    env = {
        "POLLER_CONFIG_FILE": str(path),
        "POLLER_STRIPE_SWEEP": "off",
        "POLLER_STRIPE_ENQUEUE_UNKNOWN": "true",
        "STRIPE_WEBHOOK_SECRET": SECRET,
        "POLLER_INCIDENT_HOLD": "1s",
    }
    with Cluster(workers=1, listen=False, env=env) as cluster:
        yield cluster


def test_thin_events_of_a_destination_are_accepted_like_full_ones():
    env = {"POLLER_STRIPE_SWEEP": "off", "POLLER_STRIPE_ENQUEUE_UNKNOWN": "true"}
    with Cluster(workers=1, listen=False, env=env) as cluster:
        port = free_port()
        hook = f"http://127.0.0.1:{port}/v1/stripe/webhook"
        made = cluster.sandbox._call("POST", "/_sandbox/webhooks/destinations", json={"url": hook})
        more = {"POLLER_API_BIND": f"127.0.0.1:{port}", "STRIPE_WEBHOOK_SECRET": made["secret"]}
        taker = cluster.role("taker", "api", more).start().wait_ready()
        source = cluster.sandbox.create_source()
        intent = cluster.sandbox.create_intent()
        cluster.sandbox.authorise(source)
        wait_until(lambda: status_is(cluster, source, "chargeable"), 60, "the source is watched from its event on")
        cluster.sandbox.charge(source)
        wait_until(lambda: status_is(cluster, source, "consumed"), 60, "its charge is looked up")
        wait_until(lambda: is_known(cluster, intent), 60, "so is the intent")
        v2 = {"id": "evt_test_65x", "object": "v2.core.event", "type": "v2.core.account[requirements].updated",
              "livemode": False, "created": "2026-11-27T00:00:00.000Z", "context": None,
              "related_object": {"id": "acct_1", "type": "v2.core.account", "url": "/v2/core/accounts/acct_1"}}
        answer = post(taker, v2, made["secret"])
        assert (answer.status_code, answer.json()["result"]) == (200, "ignored")
        attempts = cluster.sandbox._call("GET", "/_sandbox/webhooks/attempts")["data"]
        assert attempts and all(attempt["status"] == 200 for attempt in attempts)
        assert metric(taker, "poller_stripe_signatures_total", result="good") >= len(attempts)


def test_an_organisations_key_polls_the_accounts_that_events_name():
    env = {"STRIPE_API_KEY": "sk_org_test_1", "POLLER_STRIPE_SWEEP": "1s", "POLLER_LOG_LEVEL": "info"}
    with Cluster(workers=1, listen=False, env=env) as cluster:
        source = cluster.sandbox.create_source(account="acct_5")
        refused = cluster.api.enqueue(source, policy="interactive")
        assert refused.status_code == 422 and "organisation" in refused.text
        cluster.enqueue(source, account="acct_5", notify=[])

        def watch() -> dict:
            return cluster.api.get(f"/v1/watches/{source}?account=acct_5")

        wait_until(lambda: watch()["status"] == "pending", 60, "it is polled")
        cluster.sandbox.authorise(source)
        assert cluster.api.request("POST", f"/v1/watches/{source}/poll?account=acct_5").status_code == 202
        wait_until(lambda: watch()["status"] == "chargeable", 60, "its change is seen")
        doctor = ctl(cluster, "doctor")
        assert "organisation" in doctor.stdout
        assert "events cannot be read" not in cluster.report()


def test_a_dispute_that_is_listed_late_is_reported_although_its_webhook_is_lost():
    with Cluster(workers=1, listen=False, env={"POLLER_STRIPE_SWEEP": "1s"}) as cluster:
        charges = []
        for _ in range(2):
            source = cluster.enqueue_new(policy="patient", notify=[])
            cluster.sandbox.authorise(source)
            charges.append((source, cluster.sandbox.charge(source)["id"]))
        for source, _ in charges:
            wait_until(lambda source=source: cluster.api.watch(source)["state"] == "closed", 60, "it is paid")
        (late, charge), (_, other) = charges
        begun = time.monotonic()
        fault = {"mode": "drop", "list_delay_ms": 20_000, "match": "charge.dispute.*", "times": 9}
        fault = cluster.sandbox._call("POST", "/_sandbox/webhooks/faults", json=fault)["id"]
        cluster.sandbox._call("POST", f"/_sandbox/charges/{charge}/disputes", json={})
        cluster.sandbox._call("DELETE", f"/_sandbox/webhooks/faults/{fault}")
        # This event is newer and listed at once, so the sweep's cursor has passed the dispute before it is listed.
        cluster.sandbox._stripe("POST", "/v1/refunds", {"charge": other, "amount": 1})

        def told(source: str) -> list[str]:
            return [event["type"] for event in cluster.api.events(source)]

        wait_until(lambda: any("refunded" in type for type in told(charges[1][0])), 60, "the refund is seen")
        assert "payment.disputed" not in told(late) or time.monotonic() - begun > 20
        wait_until(lambda: "payment.disputed" in told(late), 90, "the dispute is seen")
        assert told(late).count("payment.disputed") == 1


@pytest.mark.parametrize(
    "type, object",
    [
        ("checkout.session.completed", {"id": "cs_1", "object": "checkout.session", "payment_intent": "PI"}),
        ("charge.succeeded", {"id": "ch_1", "object": "charge", "payment_intent": {"id": "PI"}}),
        ("invoice.paid", {"id": "in_1", "object": "invoice", "payment_intent": "PI"}),
    ],
)
def test_an_intent_named_by_an_event_is_watched(door: Cluster, type: str, object: dict):
    intent = door.sandbox.create_intent()
    object = json.loads(json.dumps(object).replace("PI", intent))
    answer = post(door.api_process, event(type, object, f"evt_{intent}"))
    assert (answer.status_code, answer.json().get("enqueued")) == (200, 1), answer.text
    wait_until(lambda: status_is(door, intent, "requires_action"), 60, "it is polled")
    again = post(door.api_process, event(type, object, f"evt_{intent}_2"))
    assert again.json().get("enqueued", 0) == 0


def test_a_charge_rule_charges_sources_from_webhooks_with_their_amount(door: Cluster):
    source = door.sandbox.create_source(amount=4711)
    door.sandbox.authorise(source)
    object = {"id": source, "object": "source", "status": "chargeable"}
    for number in range(3):
        assert post(door.api_process, event("source.chargeable", object, f"evt_{source}_{number}")).status_code == 200
    wait_until(lambda: status_is(door, source, "consumed"), 60, "it is charged")
    charges = [c for c in door.sandbox._stripe("GET", "/v1/charges")["data"] if c["source"]["id"] == source]
    assert [(c["amount"], c["description"]) for c in charges] == [(4711, "Acme")]


def test_a_charge_rule_ignores_a_source_charged_by_the_shop(door: Cluster):
    source = door.sandbox.create_source(amount=815)
    door.sandbox.authorise(source)
    charge = door.sandbox.charge(source, amount=815)
    object = {"id": charge["id"], "object": "charge", "payment_intent": None, "source": {"id": source}}
    answer = post(door.api_process, event("charge.succeeded", object, f"evt_{source}"))
    assert answer.json().get("enqueued", 0) == 0
    assert not is_known(door, source)


@pytest.mark.parametrize("kib", [100, 300, 900, 3500])
def test_a_genuine_event_may_be_large(door: Cluster, kib: int):
    intent = door.sandbox.create_intent()
    object = {"id": intent, "object": "payment_intent", "charges": ["x" * 1024] * kib}
    answer = post(door.api_process, event("payment_intent.processing", object, f"evt_{kib}"))
    assert (answer.status_code, answer.json()["result"]) == (200, "accepted"), answer.text[:300]


def test_rejected_webhooks_are_reported_with_their_cause_until_one_is_accepted(door: Cluster):
    api = door.api_process

    def doctor() -> str:
        return next(line for line in ctl(door, "doctor").stdout.splitlines() if "stripe webhooks" in line)

    def incidents() -> list[dict]:
        data = door.api.get("/v1/incidents")["data"]
        return [one for one in data if one["kind"] == "webhooks_refused" and one["status"] == "open"]

    ping = {"type": "customer.created", "object": {"id": "cus_1"}}
    assert post(api, event(**ping, id="evt_good")).status_code == 200
    assert "none was refused" in doctor()
    refused = post(api, event(**ping, id="evt_old"), age_s=600)
    assert refused.status_code == 400
    assert re.search(r"\b6[0-5]\d s ago", doctor())
    (incident,) = wait_until(incidents, 60, "the incident is reported")
    assert incident["subject"] == "default" and "NTP" in incident["action"]
    wait_until(lambda: metric(api, "poller_webhooks_refused", account="default") >= 1, 60, "the gauge shows it")
    assert metric(api, "poller_stripe_signatures_total", result="clock") == 1
    assert post(api, event(**ping, id="evt_good_2")).status_code == 200
    assert "none was refused" in doctor()
    wait_until(lambda: not incidents(), 60, "the end of the incident is reported")

    # One wrong signature may come from a stranger. Three indicate a wrong secret.
    for number in range(3):
        assert post(api, event(**ping, id=f"evt_{number}"), secret="whsec_other").status_code == 400
        time.sleep(1.1)
    assert "no signature matches" in doctor()
    (incident,) = wait_until(incidents, 60, "the incident is reported")
    assert "STRIPE_WEBHOOK_SECRET" in incident["action"]
    assert post(api, event(**ping, id="evt_good_3")).status_code == 200


def test_a_secret_given_as_an_id_is_rejected_with_advice_and_not_stored(door: Cluster):
    canary = "canaryk3y"
    for secret in [f"pi_3QaB_secret_{canary}", f"sk_test_{canary}", f"rk_live_{canary}", f"whsec_{canary}"]:
        answers = [
            door.api.enqueue(secret),
            *(
                door.api.http.get(f"{door.api.url}{path}", timeout=30)
                for path in (f"/v1/watches/{secret}", f"/v1/watches/{secret}/events", f"/v1/watches?q={secret}")
            ),
        ]
        for answer in answers:
            assert answer.status_code in (400, 422) and canary not in answer.text, answer.text
        for command in ("enqueue", "get", "poll", "events", "follow", "wait"):
            said = ctl(door, command, secret)
            assert said.returncode == 64 and canary not in said.stdout + said.stderr, said
        assert "not an id" in said.stderr
        stripe = {"POLLER_STRIPE_API_BASE": door.sandbox.url, "STRIPE_API_KEY": "sk_test_1"}
        said = run("pollerctl", "intent", "get", secret, env=stripe)
        assert said.returncode == 64 and canary not in said.stdout + said.stderr, said
        asked = str(door.sandbox._call("GET", "/_sandbox/requests")["data"])
        assert canary not in asked and "pi_3QaB" not in asked
    assert "give pi_3QaB" in door.api.enqueue(f"pi_3QaB_secret_{canary}").text
    for log in door.logs.iterdir():
        assert canary not in log.read_text(errors="replace"), log
    with door.redis.client() as client:
        for key in client.scan_iter(count=1000):
            assert canary not in str(key)
            kind = client.type(key)
            if kind in ("hash", b"hash"):
                assert canary not in str(client.hgetall(key))
