"""Tests Stripe's time limits: an hour to pay, six hours to charge, and two days to finish a payment."""

import pytest
import requests
from harness.cluster import Cluster
from harness.faked_clock import FakedClock
from harness.preloaded import IS_HERE
from harness.shop import HOUR_S, Sale, check_words, mails_of
from harness.waiting import wait_until

# The states of the return page while the outcome is unknown.
OPEN = ("confirming", "waiting", "action")
# The time before a limit at which a test looks: longer than a busy machine needs for it.
LEFT_S = 300


@pytest.fixture(scope="module")
def shop():
    """Starts a cluster whose sweep finds Stripe's own changes, as for a shop without webhooks."""
    with Cluster(workers=1, listen=False, env={"POLLER_STRIPE_SWEEP": "1s"}) as cluster:
        yield cluster


def advance(shop: Cluster, seconds: float) -> None:
    """Advances the clock of the Stripe sandbox."""
    shop.sandbox._call("POST", "/_sandbox/clock/advance", json={"seconds": seconds})


def wording(sale: Sale) -> str:
    return "\n".join(f"{mail['Subject']}\n{mail.get_body(('plain',)).get_content()}" for mail in sale.mails())


def wait_polled(sale: Sale) -> None:
    """Waits for a poll that starts after this call."""
    before = len(sale.cluster.sandbox.polls(sale.id))
    sale.cluster.api.request("POST", f"/v1/watches/{sale.id}/poll")
    wait_until(lambda: len(sale.cluster.sandbox.polls(sale.id)) > before + 1, 60, "polled again")


def test_an_unpaid_source_expires_after_an_hour_on_every_channel(shop: Cluster):
    """10: the customer went to the bank and closed the page. Until the limit the page says that the payment is open."""
    sale = Sale(shop, charge=True, policy="standard", notify=shop.notify).pending()
    # The customer returns without having paid. The return URL claims success.
    assert sale.come_back("succeeded") in OPEN
    advance(shop, HOUR_S - LEFT_S)
    wait_polled(sale)
    assert sale.told() == ["source.pending"] and sale.mails() == []
    assert sale.come_back("succeeded") in OPEN
    advance(shop, LEFT_S + 1)
    end = sale.closed()
    assert (end["status"], end["closed_reason"]) == ("canceled", "settled")
    assert sale.told() == ["source.pending", "source.canceled"] and sale.words() == ["payment.expired"]
    assert sale.charges() == [] and sale.come_back("succeeded") == "expired"
    sale.check_deliveries()
    assert len(sale.mails()) == 1
    said = wording(sale).lower()
    assert "confirmed" not in said and "processed" not in said and "thank you" not in said
    check_words(shop, [sale])


def test_an_unfinished_intent_is_reported_after_48_hours(shop: Cluster):
    """10: `requires_action` for two days, then `requires_payment_method`, and no payment."""
    form = {
        "amount": 2000, "currency": "eur", "payment_method_types[]": "ideal",
        "payment_method_data[type]": "ideal", "confirm": "true", "return_url": f"{shop.api.url}/r",
    }
    intent = shop.sandbox._stripe("POST", "/v1/payment_intents", form)
    shop.enqueue(intent["id"], client_secret=intent["client_secret"], policy="standard")
    shop.wait_status(intent["id"], "requires_action")

    def page() -> str:
        query = {
            "payment_intent": intent["id"], "payment_intent_client_secret": intent["client_secret"],
            "redirect_status": "succeeded",
        }
        with requests.Session() as browser:
            browser.trust_env = False
            return browser.get(f"{shop.api.url}/r", params=query, timeout=30).text

    advance(shop, 48 * HOUR_S - LEFT_S)
    assert 'data-state="confirmed"' not in page().partition("<body")[2]
    assert shop.api.watch(intent["id"])["status"] == "requires_action"
    advance(shop, LEFT_S + 1)
    shop.wait_status(intent["id"], "requires_payment_method")
    events = [event for event in shop.api.events(intent["id"]) if event["type"].startswith("payment_intent.")]
    assert [event["status"] for event in events] == ["requires_action", "requires_payment_method"]
    assert events[-1]["payment"]["state"] == "expired"
    failure = events[-1]["object"]["last_payment_error"]
    assert failure["code"] == "payment_intent_payment_attempt_expired"
    body = page().partition("<body")[2]
    assert not any(f'data-state="{state}"' in body for state in ("confirmed", "authorised", "processing"))
    shop.wait_delivered([intent["id"]])
    told = [mail["Subject"].lower() for mail in mails_of(shop, shop.api.events(intent["id"]))]
    assert told and not any("confirmed" in subject or "processed" in subject for subject in told)


def test_a_source_not_charged_in_time_is_reported_as_expired(shop: Cluster):
    """5: the shop does not charge within six hours. The customer, who had agreed, learns that the payment expired."""
    sale = Sale(shop, policy="standard", notify=shop.notify).pending()
    shop.sandbox.authorise(sale.id)
    shop.wait_status(sale.id, "chargeable")
    assert sale.come_back() == "authorised"
    advance(shop, 6 * HOUR_S - LEFT_S)
    wait_polled(sale)
    assert sale.told() == ["source.pending", "source.chargeable"]
    advance(shop, LEFT_S + 1)
    assert sale.closed()["status"] == "canceled"
    assert sale.told() == ["source.pending", "source.chargeable", "source.canceled"]
    assert sale.words() == ["payment.authorised", "payment.expired"]
    assert sale.events()[-1]["payment"]["reason"] == "not_charged_in_time"
    assert sale.come_back() == "expired"
    sale.check_deliveries()
    assert len(sale.mails()) == 2, "authorised, and then that it was not charged"
    assert "confirmed" not in wording(sale).lower()
    check_words(shop, [sale])


@pytest.mark.skipif(not IS_HERE, reason="needs a C compiler on Linux")
def test_after_a_downtime_expired_sources_are_reported_and_others_charged(chaos, tmp_path):
    """5: all workers and notifiers are down for seven hours. Chargeable sources are charged once, the rest expire."""
    clock = FakedClock(tmp_path / "clock")
    shop: Cluster = chaos(workers=2, listen=False, redis_env=clock.env, env={"POLLER_STRIPE_SWEEP": "off"})
    multibanco = {"owner[email]": "jenny@example.com"}
    fields = {"charge": True, "policy": "standard", "notify": shop.notify}
    missed = [Sale(shop, **fields).pending() for _ in range(3)]
    unpaid = Sale(shop, **fields).pending()
    saved = [Sale(shop, "multibanco", form=multibanco, **fields).pending() for _ in range(3)]
    # A notifier killed during an email would send it again, so the emails are delivered first.
    shop.wait_done([sale.id for sale in [*missed, unpaid, *saved]])
    everybody = [*shop.workers, *shop.notifiers]
    for role in everybody:
        role.kill9()
    # The customers continue while the cluster is down.
    for sale in missed:
        shop.sandbox.authorise(sale.id)
    advance(shop, 4 * HOUR_S)
    for sale in saved:
        shop.sandbox._call("POST", f"/_sandbox/sources/{sale.id}/payments", json={"amount": 1099})
    advance(shop, 3 * HOUR_S)
    clock.set(7 * HOUR_S)
    assert [shop.sandbox.source(sale.id)["status"] for sale in missed] == ["canceled"] * 3
    assert [shop.sandbox.source(sale.id)["status"] for sale in saved] == ["chargeable"] * 3
    for role in everybody:
        role.start()
    for role in everybody:
        role.wait_ready()
    for sale in saved:
        sale.closed(timeout_s=60)
        assert sale.told() == ["source.pending", "source.chargeable", "charge.succeeded", "source.consumed"]
        assert sale.words() == ["payment.authorised", "payment.paid"]
        assert len(sale.charges()) == 1 and sale.come_back() == "confirmed"
    for sale in [*missed, unpaid]:
        assert sale.closed(timeout_s=60)["status"] == "canceled"
        assert sale.told() == ["source.pending", "source.canceled"]
        assert sale.words() == ["payment.expired"]
        assert sale.charges() == [] and sale.come_back() == "expired"
    for sale in [*missed, *saved, unpaid]:
        sale.check_deliveries()
    check_words(shop, [*missed, *saved, unpaid], by_time=False)
    assert shop.fsck().returncode == 0
