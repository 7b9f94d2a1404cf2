"""Tests pre-debit notices: the customer of a mandate is notified of each announced debit, once and in time."""

import json

import pytest
import requests
from harness.cluster import Cluster
from harness.shop import with_webhooks
from harness.signed_webhook import signed_webhook
from harness.waiting import wait_until

CREDITOR, REFERENCE = "TEST42ZZZ0000424242", "NXDSYREGC9PSMKWY"


def reported_by_webhook() -> Cluster:
    cluster = Cluster(workers=1, env={"POLLER_STRIPE_SWEEP": "off"})
    cluster.__enter__()
    return with_webhooks(cluster)


@pytest.fixture(scope="module", params=["webhook", "sweep"])
def hinted(request):
    """Starts a cluster that receives Stripe's events only by webhook, or only by its own sweep."""
    if request.param == "webhook":
        cluster = reported_by_webhook()
    else:
        cluster = Cluster(workers=1, env={"POLLER_STRIPE_SWEEP": "1s"})
        cluster.__enter__()
    yield cluster
    cluster.close()


def debit(cluster: Cluster, notification: str = "manual") -> dict:
    form = {"type": "sepa_debit", "currency": "eur", "sepa_debit[iban]": "DE89370400440532013000",
            "owner[name]": "Jenny Rosen", "mandate[notification_method]": notification}
    source = cluster.sandbox._stripe("POST", "/v1/sources", form)
    # A reusable source is debited through a customer.
    customer = cluster.sandbox._stripe("POST", "/v1/customers", {"source": source["id"]})
    return source | {"customer": customer["id"]}


def charge(cluster: Cluster, source: dict, amount: int) -> dict:
    form = {"amount": amount, "currency": "eur", "source": source["id"], "customer": source["customer"]}
    return cluster.sandbox._stripe("POST", "/v1/charges", form)


def notices(cluster: Cluster, source: str) -> list[dict]:
    return [event for event in cluster.api.events(source) if event["type"] == "mandate.notification"]


def mails(cluster: Cluster, source: str) -> list:
    return [mail for mail in cluster.mail.messages if source in mail["To"] and "debited" in mail["Subject"]]


def test_the_customer_is_notified_of_each_debit_once(hinted: Cluster):
    created = debit(hinted)
    source = created["id"]
    hinted.enqueue(source, metadata={"order": "A77"}, client_secret=created["client_secret"])
    hinted.wait_status(source, "chargeable")
    watch = hinted.api.watch(source)
    page = created["sepa_debit"]["mandate_url"]
    assert created["client_secret"] in page, "as Stripe's are"
    assert watch["mandate"] == {"reference": REFERENCE, "url": page}
    charge(hinted, created, 1099)
    (notice,) = wait_until(lambda: notices(hinted, source), 60, "the debit is announced")
    said = notice["mandate"]
    assert said["amount"] == 1099 and said["currency"] == "eur" and said["reason"] == "debit_initiated"
    assert (said["reference"], said["creditor"], said["last4"]) == (REFERENCE, CREDITOR, "3000")
    assert said["id"].startswith("srcmn_") and notice["metadata"] == {"order": "A77"}
    # The watch's object is still the source or charge, not the notice.
    assert hinted.api.watch(source)["object"]["object"] in ("source", "charge")
    (mail,) = wait_until(lambda: mails(hinted, source), 60, "the customer is written to")
    text = mail.get_body(("plain",)).get_content()
    assert "10.99" in mail["Subject"] and "Order A77" in mail["Subject"]
    for fact in (REFERENCE, CREDITOR, "3000", page):
        assert fact in text, text
    # The payment's client secret belongs to the customer, so no event contains it.
    assert created["client_secret"] not in str(hinted.api.events(source))
    # A second debit of the same mandate produces another notice.
    charge(hinted, created, 500)
    wait_until(lambda: len(notices(hinted, source)) == 2, 60, "the second is announced, too")
    wait_until(lambda: len(mails(hinted, source)) == 2, 60, "and written of")
    assert len({event["id"] for event in notices(hinted, source)}) == 2


def test_a_debit_after_the_watch_has_closed_is_announced_only_on_request(hinted: Cluster):
    debits = [debit(hinted, "stripe_email"), debit(hinted)]
    silent, source = (each["id"] for each in debits)
    for each in (source, silent):
        # A reusable source is settled once it is chargeable.
        hinted.enqueue(each)
        wait_until(lambda: hinted.api.watch(each)["state"] == "closed", 60, "it has ended")
    for each in debits:
        charge(hinted, each, 1099)
    (notice,) = wait_until(lambda: notices(hinted, source), 60, "the debit is announced")
    # A hint about the charge may have reopened the watch for a poll that is still pending.
    assert notice["closed_reason"] in ("settled", None) and notice["status"] == "chargeable"
    wait_until(lambda: mails(hinted, source), 60, "the customer is written to")
    assert not notices(hinted, silent) and not mails(hinted, silent)
    wait_until(lambda: hinted.api.watch(source)["state"] == "closed", 60, "the poll is over")
    told = [event["type"] for event in hinted.api.events(source)]
    assert told.count("source.chargeable") == 1, told


def test_a_repeated_webhook_is_one_notice():
    cluster = reported_by_webhook()
    try:
        created = debit(cluster)
        source = created["id"]
        cluster.enqueue(source)
        cluster.wait_status(source, "chargeable")
        charge(cluster, created, 1099)
        (notice,) = wait_until(lambda: notices(cluster, source), 60, "the debit is announced")
        event = cluster.sandbox._stripe("GET", "/v1/events?type=source.mandate_notification&limit=1")["data"][0]
        taker = cluster.processes[-1].address("api")
        for number in range(3):
            # Another event about the same notice, as a second webhook endpoint would send.
            again = event | {"id": f"evt_again_{number}"}
            body = json.dumps(again).encode()
            # Without the marks of handled events, only the notice itself shows that it was sent before.
            with cluster.redis.client() as store:
                for mark in store.scan_iter("*c:*"):
                    store.delete(mark)
            answer = requests.post(f"{taker}/v1/stripe/webhook", data=body, timeout=30,
                                   headers=signed_webhook(body, cluster.secret))
            assert answer.status_code == 200, answer.text
        assert [event["id"] for event in notices(cluster, source)] == [notice["id"]]
    finally:
        cluster.close()
