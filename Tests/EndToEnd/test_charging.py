"""Tests that each source is charged exactly once, even if workers crash or answers are lost."""

import time

import requests
from harness.cluster import LEASE_S, SHORT_LEASE, Cluster
from harness.history_checker import is_beside
from harness.sandbox import Sandbox
from harness.waiting import wait_until


def charges_of(cluster: Cluster, source: str) -> list[dict]:
    """Returns the sandbox's charges of a source."""
    found: list[dict] = []
    path = "/v1/charges?limit=100"
    while True:
        page = cluster.sandbox._stripe("GET", path)
        found += page["data"]
        if not page["has_more"]:
            break
        path = f"/v1/charges?limit=100&starting_after={page['data'][-1]['id']}"
    return [charge for charge in found if (charge.get("source") or {}).get("id") == source]


def a_second_after(charge: dict) -> None:
    """Waits until the second of a charge has passed, because Stripe's timestamps have whole seconds."""
    wait_until(lambda: time.time() >= charge["created"] + 1, 60, "the next second")


def posts(cluster: Cluster) -> list[dict]:
    """Returns the charge attempts in the sandbox's request log."""
    seen = cluster.sandbox._call("GET", "/_sandbox/requests?path=/v1/charges")["data"]
    return [request for request in seen if request["method"] == "POST"]


def events_of_charge(cluster: Cluster, source: str) -> list[dict]:
    """Returns the events about a source and its charge."""
    return [event for event in cluster.api.events(source) if not is_beside(event)]


def types(cluster: Cluster, source: str) -> list[str]:
    return [event["type"] for event in events_of_charge(cluster, source)]


def payment_events(cluster: Cluster, source: str) -> list[str]:
    """Returns the types of the payment events, in order."""
    events = cluster.api.events(source)
    return [event["type"] for event in events if event["type"].startswith("payment.")]


def create(cluster: Cluster, **form) -> str:
    form = {"amount": 1099, "currency": "eur", "redirect[return_url]": "http://127.0.0.1/r"} | form
    form = {name: value for name, value in form.items() if value is not None}
    return cluster.sandbox._stripe("POST", "/v1/sources", form)["id"]


def watch(cluster: Cluster, source: str, charge=True) -> None:
    answer = cluster.api.enqueue(source, charge=charge, policy="interactive")
    assert answer.status_code in (200, 201), answer.text


def closed(cluster: Cluster, source: str, timeout_s: float = 60) -> dict:
    def look():
        found = cluster.api.watch(source)
        return found["state"] == "closed" and found

    return wait_until(look, timeout_s, f"{source} is closed")


def test_a_chargeable_source_is_charged_once_and_watched_until_it_is_final(calm: Cluster):
    source = create(calm, type="ideal")
    order = {"amount": 999, "description": "Order 4711", "metadata": {"order": "4711"}}
    watch(calm, source, order)
    calm.wait_status(source, "pending")
    calm.sandbox.authorise(source)
    end = closed(calm, source)
    assert types(calm, source) == [
        "source.pending", "source.chargeable", "charge.succeeded", "source.consumed",
    ]
    assert payment_events(calm, source) == ["payment.authorised", "payment.paid"]
    events = events_of_charge(calm, source)
    assert events[-1]["payment"]["amount"] == events[-1]["payment"]["amount_received"] == 999
    assert [event["final"] for event in events] == [False, False, False, True]
    (charge,) = charges_of(calm, source)
    assert charge["amount"] == 999 and charge["description"] == "Order 4711"
    assert charge["metadata"] == {"order": "4711", "poller_source": source}
    assert events[2]["object"]["id"] == charge["id"]
    assert end["charge"] == {"state": "succeeded", "id": charge["id"]}
    assert end["closed_reason"] == "settled"


def test_without_an_order_nothing_is_charged(calm: Cluster):
    source = create(calm, type="ideal")
    calm.follow(source)
    calm.authorise(source)
    calm.api.request("POST", f"/v1/watches/{source}/poll")
    wait_until(lambda: len(calm.sandbox.polls(source)) >= 3, 60, "polled again")
    assert charges_of(calm, source) == []
    assert "charge" not in calm.api.watch(source)


def test_a_slow_bank_decision_is_awaited(calm: Cluster):
    sofort = {"type": "sofort", "sofort[country]": "DE"}
    for method, name, last in (
        (sofort, "succeeding_charge", "charge.succeeded"), (sofort, "failing_charge", "charge.failed"),
        # Even with a method that normally settles immediately, a bank may take time.
        ({"type": "ideal"}, "failing_charge", "charge.failed"),
    ):
        source = create(calm, **method, **{"owner[name]": name})
        watch(calm, source)
        calm.wait_status(source, "pending")
        calm.sandbox.authorise(source)
        closed(calm, source)
        told = types(calm, source)
        assert told[:3] == ["source.pending", "source.chargeable", "charge.pending"], told
        # If the bank decides before the next poll, its decision may be reported first.
        assert sorted(told[3:]) == sorted(["source.consumed", last]), told
        word = "payment.paid" if last == "charge.succeeded" else "payment.failed"
        assert payment_events(calm, source) == ["payment.authorised", "payment.processing", word]
        events = events_of_charge(calm, source)
        assert [event["final"] for event in events] == [False] * 4 + [True]
        assert events[-1]["status"] == "consumed"
        assert len(charges_of(calm, source)) == 1


def test_a_bank_decision_after_the_deadline_is_reported(calm: Cluster):
    source = create(calm, type="sofort", **{"sofort[country]": "DE", "owner[name]": "pending_charge"})
    # Approved before, because the watch lasts only four seconds.
    calm.sandbox.authorise(source)
    answer = calm.api.enqueue(source, charge=True, policy="interactive", timeout="4s")
    assert answer.status_code in (200, 201), answer.text
    calm.wait_status(source, "consumed")
    (charge,) = charges_of(calm, source)
    # The payment time is over, plus half as much again. The payer has paid, and the bank is still processing.
    wait_until(lambda: len(charge_polls(calm, charge["id"])) >= 2, 60, "its charge is polled")
    assert calm.api.watch(source)["state"] == "open"
    calm.sandbox._call("POST", f"/_sandbox/charges/{charge['id']}/status", json={"status": "succeeded"})
    closed(calm, source)
    assert types(calm, source)[-2:] == ["source.consumed", "charge.succeeded"]
    last = calm.api.events(source)[-1]
    assert last["final"] and last["charge"] == {"state": "succeeded", "id": charge["id"]}


def charge_polls(cluster: Cluster, charge: str) -> list[dict]:
    """Returns the GET requests for a charge after its watch's deadline of four seconds."""
    listed = cluster.sandbox._call("GET", f"/_sandbox/requests?path=/v1/charges/{charge}")["data"]
    return [request for request in listed if request["at_ms"] > listed[0]["at_ms"] + 6000]


def test_a_decline_is_reported_and_ends_charging_but_not_the_watch(calm: Cluster):
    source = create(
        calm, type="card", amount=500,
        **{
            "redirect[return_url]": None, "card[number]": "4000000000000341",
            "card[exp_month]": 12, "card[exp_year]": 2034, "card[cvc]": 123,
        },
    )
    watch(calm, source)
    closed(calm, source)
    assert types(calm, source) == ["source.chargeable", "charge.failed", "source.chargeable"]
    assert payment_events(calm, source) == ["payment.authorised", "payment.failed"]
    failure = events_of_charge(calm, source)[1]
    assert failure["object"]["code"] == "card_declined" and not failure["final"]
    assert failure["object"]["decline_code"] == "generic_decline"
    assert len(charges_of(calm, source)) == 1 and charges_of(calm, source)[0]["status"] == "failed"


def test_an_invalid_order_to_charge_is_rejected(calm: Cluster):
    source = create(calm, type="ideal")
    for charge, field in (
        ({"amount": 0}, "amount"),
        ({"amount": "12"}, "amount"),
        ({"sum": 12}, "charge.sum"),
        ("yes", "charge"),
        ({"currency": "EUR"}, "charge.currency"),
        ({"statement_descriptor": "x" * 36}, "charge.statement_descriptor"),
    ):
        answer = calm.api.enqueue(source, charge=charge)
        assert answer.status_code == 422 or answer.status_code == 400, answer.text
        assert answer.json()["field"].endswith(field), answer.text
    answer = calm.api.enqueue("pi_1", charge=True)
    assert answer.json()["field"] == "charge", answer.text


def test_a_lost_response_leads_to_no_second_charge(calm: Cluster):
    # The charge takes effect, but its answer is lost. The same idempotency key returns it again.
    source = create(calm, type="ideal")
    fault = calm.sandbox.fault("reset", match="/v1/charges", method="POST", times=1, after=True)
    watch(calm, source)
    calm.wait_status(source, "pending")
    calm.sandbox.authorise(source)
    closed(calm, source)
    assert types(calm, source)[1:] == ["source.chargeable", "charge.succeeded", "source.consumed"]
    assert len(charges_of(calm, source)) == 1
    assert fault


def test_a_reusable_source_is_charged_once_despite_a_lost_response(calm: Cluster):
    # The source stays chargeable after its charge, so only the idempotency key and a check protect it.
    card = create(
        calm, type="card", amount=None, currency=None,
        **{
            "redirect[return_url]": None, "card[number]": "4242424242424242",
            "card[exp_month]": 12, "card[exp_year]": 2034, "card[cvc]": 123,
        },
    )
    calm.sandbox._stripe("POST", "/v1/customers", {"source": card})
    for order in ({"amount": 700, "currency": "eur"}, True):
        # Without any amount, the source cannot be charged, and the error says so.
        source = card if order is not True else create(
            calm, type="sepa_debit", amount=None,
            **{
                "redirect[return_url]": None, "owner[name]": "Jenny Rosen",
                "sepa_debit[iban]": "DE89370400440532013000",
            },
        )
        if order is not True:
            calm.sandbox.fault("reset", match="/v1/charges", method="POST", times=1, after=True)
        calm.api.enqueue(source, charge=order, policy="interactive")
        if order is True:
            reason = "neither the order nor the source has an amount"
            told = wait_until(
                lambda: reason in ((found := calm.api.watch(source)).get("last_error") or "") and found,
                60, "the reason is shown",
            )
            # An unclear charge instruction is neither a failed charge nor a charge.
            assert told["state"] == "open" and told["charge"]["state"] == "none"
            assert charges_of(calm, source) == []
            calm.api.request("DELETE", f"/v1/watches/{source}")
        else:
            closed(calm, source)
            assert len(charges_of(calm, source)) == 1
            assert types(calm, source).count("charge.succeeded") == 1
            calm.api.enqueue(source, charge=order, policy="interactive")
            wait_until(lambda: calm.api.watch(source)["run"] == 2, 60, "a second run")
            closed(calm, source)
            assert len(charges_of(calm, source)) == 1, "a second run has charged again"
            # Another order leads to another charge, even of the same amount.
            calm.api.enqueue(source, charge=order | {"metadata": {"order": "2"}}, policy="interactive")
            wait_until(lambda: calm.api.watch(source)["run"] == 3, 60, "a third run")
            closed(calm, source)
            assert len(charges_of(calm, source)) == 2, "the second order was not charged"
            assert types(calm, source).count("charge.succeeded") == 3


def test_a_stored_500_is_doubtful_until_the_charge_is_found(calm: Cluster):
    for is_made in (True, False):
        source = create(calm, type="ideal")
        calm.sandbox.fault(
            "status", match="/v1/charges", method="POST", status=500, times=1, after=is_made,
            store=True,
        )
        watch(calm, source)
        calm.wait_status(source, "pending")
        calm.sandbox.authorise(source)
        if is_made:
            closed(calm, source)
            assert types(calm, source)[-2:] == ["charge.succeeded", "source.consumed"]
            assert len(charges_of(calm, source)) == 1
        else:
            # The key returns the same 500 for a day. The charge stays doubtful, and no new key is tried.
            doubt = wait_until(
                lambda: (found := calm.api.watch(source))["charge"]["state"] == "doubtful" and found,
                60, "the doubt is shown",
            )
            assert doubt["last_error"] and doubt["state"] == "open"
            before = len(posts(calm))
            wait_until(lambda: len(posts(calm)) >= before + 2, 60, "the same key is tried again")
            assert charges_of(calm, source) == []
            calm.api.request("DELETE", f"/v1/watches/{source}")


def test_a_partly_funded_source_is_charged_only_once_fully_funded(calm: Cluster):
    # A bank account number that accepts any amount is chargeable after the first payment.
    source = create(
        calm, type="ach_credit_transfer", amount=None, currency="usd",
        **{"redirect[return_url]": None, "owner[email]": "a@example.com"},
    )
    watch(calm, source, {"amount": 1000})
    calm.wait_status(source, "pending")
    pay = f"/_sandbox/sources/{source}/payments"
    calm.sandbox._call("POST", pay, json={"amount": 400})
    calm.wait_status(source, "chargeable")
    wait_until(
        lambda: "400 of 1000" in (calm.api.watch(source).get("last_error") or ""), 60, "the reason is shown"
    )
    assert charges_of(calm, source) == [] and calm.api.watch(source)["charge"]["state"] == "none"
    calm.sandbox._call("POST", pay, json={"amount": 700})
    calm.api.request("POST", f"/v1/watches/{source}/poll")
    closed(calm, source)
    assert "charge.succeeded" in types(calm, source)
    assert [charge["amount"] for charge in charges_of(calm, source)] == [1000]


def test_neither_a_manual_charge_nor_a_restart_causes_a_second_charge(calm: Cluster):
    # The shop has charged the source before it was watched.
    source = create(calm, type="ideal")
    calm.sandbox.authorise(source)
    calm.sandbox.charge(source)
    watch(calm, source)
    closed(calm, source)
    assert types(calm, source) == ["charge.succeeded", "source.consumed"]
    watch(calm, source)
    closed(calm, source)
    assert len(charges_of(calm, source)) == 1


def test_workers_killed_between_charge_and_commit_charge_once(chaos):
    cluster: Cluster = chaos(env=SHORT_LEASE)
    sources = [create(cluster, type="ideal") for _ in range(40)]
    # Each charge takes effect immediately but answers late, so the workers die in between.
    slow = cluster.sandbox.fault("delay", match="/v1/charges", method="POST", delay_ms=900)
    for source in sources:
        watch(cluster, source)
    for source in sources:
        cluster.wait_status(source, "pending")
    for source in sources:
        cluster.sandbox.authorise(source)
    for _ in range(3):
        before = len(made(cluster))
        wait_until(
            lambda: len(made(cluster)) > before or len(made(cluster)) >= len(sources), 60,
            "another charge is made",
        )
        for worker in cluster.workers:
            worker.kill9()
            worker.start().wait_ready()
    cluster.sandbox.clear_fault(slow)
    for source in sources:
        closed(cluster, source, timeout_s=60 + LEASE_S)
    for source in sources:
        assert len(charges_of(cluster, source)) == 1, source
        assert types(cluster, source).count("charge.succeeded") == 1
        assert types(cluster, source)[-1] == "source.consumed"
    assert cluster.fsck().returncode == 0


def made(cluster: Cluster) -> list[str]:
    """Returns the IDs of the charges so far, as the sandbox lists them."""
    answer = requests.get(
        cluster.sandbox.url + "/v1/charges?limit=100", auth=(Sandbox.KEY, ""), timeout=60
    )
    return [charge["id"] for charge in answer.json()["data"]]
