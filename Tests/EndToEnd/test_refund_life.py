"""Tests the life of a refund: the reported events and the customer's emails."""

import re

import pytest
import requests
from harness.cluster import Cluster
from harness.commands import ctl
from harness.shop import with_webhooks
from harness.waiting import wait_until


@pytest.fixture(scope="module")
def shop():
    """Starts a cluster without an event sweep, so webhooks are the only hints."""
    with Cluster(workers=1, listen=False, env={"POLLER_STRIPE_SWEEP": "off"}) as cluster:
        yield with_webhooks(cluster)


class Payment:
    """An intent paid by card, with its events and emails."""

    def __init__(self, shop: Cluster, amount: int = 1099, currency: str = "eur", shown: tuple | None = None):
        self.shop = shop
        form = {
            "amount": amount, "currency": currency, "payment_method_types[]": "card",
            "payment_method_data[type]": "card", "payment_method_data[card][number]": "4242424242424242",
        }
        self.id = shop.sandbox._stripe("POST", "/v1/payment_intents", form)["id"]
        if shown:
            body = {"amount": shown[0], "currency": shown[1]}
            shop.sandbox._call("POST", f"/_sandbox/payment_intents/{self.id}/presentment", json=body)
        self.address = f"customer+{self.id}@example.com"
        shop.enqueue(self.id, policy="interactive", notify=[f"mailto:{self.address}"])
        shop.sandbox._stripe("POST", f"/v1/payment_intents/{self.id}/confirm", {"return_url": "http://127.0.0.1/r"})
        self.wait("payment.paid")

    @property
    def types(self) -> list[str]:
        """Returns the payment and refund events, in order."""
        events = self.shop.api.events(self.id)
        return [event["type"] for event in events if event["type"].startswith(("payment.", "refund."))]

    @property
    def state(self) -> dict:
        return self.shop.api.watch(self.id)["payment"]

    @property
    def mails(self) -> list:
        return [mail for mail in self.shop.mail.messages if mail["To"] == self.address]

    def wait(self, last: str) -> None:
        wait_until(lambda: (self.types or [""])[-1] == last, 60, f"{last} is reported, not {self.types}")

    def mailed(self, count: int) -> str:
        """Returns the subject of the last email once `count` emails have arrived."""
        wait_until(lambda: len(self.mails) >= count, 60, f"{count} mails, not {[m['Subject'] for m in self.mails]}")
        assert len(self.mails) == count, [mail["Subject"] for mail in self.mails]
        return self.mails[-1]["Subject"]

    def refund(self, begins: str | None = None, **form) -> str:
        if begins:
            body = {"status": begins, "pending_reason": "insufficient_funds"}
            self.shop.sandbox._call("POST", "/_sandbox/refunds/next/status", json=body)
        return self.shop.sandbox._stripe("POST", "/v1/refunds", {"payment_intent": self.id} | form)["id"]

    def move(self, refund: str, status: str, **more) -> None:
        self.shop.sandbox._call("POST", f"/_sandbox/refunds/{refund}/status", json={"status": status} | more)


def test_a_refund_that_the_balance_does_not_cover_is_pending_until_it_is_sent(shop: Cluster):
    sale = Payment(shop)
    assert sale.mailed(1) == "Payment confirmed – €10.99 (card)"
    refund = sale.refund("pending")
    charge = shop.sandbox._stripe("GET", f"/v1/refunds/{refund}")["charge"]
    assert shop.sandbox._stripe("GET", f"/v1/charges/{charge}")["amount_refunded"] == 1099, "Stripe counts it at once"
    sale.wait("refund.pending")
    assert sale.state["state"] == "paid" and "amount_returned" not in sale.state
    assert sale.state["refund"] == {"status": "pending", "amount": 1099}
    assert "refund of 10.99 eur pending" in ctl(shop, "get", sale.id)
    assert sale.mailed(2) == "Your refund of €10.99 is being processed (card)"
    for mail in sale.mails:
        assert not re.search(r"refunded|5 to 10 days", mail["Subject"] + mail.get_body(("plain",)).get_content())
    sale.move(refund, "succeeded")
    sale.wait("payment.refunded")
    assert sale.state["amount_returned"] == 1099 and "refund" not in sale.state
    assert sale.mailed(3) == "€10.99 refunded (card)"
    assert sale.types == ["payment.paid", "refund.pending", "payment.refunded"]


def test_a_refund_that_requires_the_customer_and_its_failure_are_reported(shop: Cluster):
    sale = Payment(shop)
    refund = sale.refund("requires_action", amount=500, instructions_email="payer@example.com")
    sale.wait("refund.requires_action")
    assert sale.mailed(2) == "Where should we send your refund of €5.00? (card)"
    sale.move(refund, "pending")
    sale.wait("refund.pending")
    sale.move(refund, "failed", failure_reason="declined")
    sale.wait("refund.failed")
    assert sale.state["state"] == "paid" and sale.state["refund"] == {"status": "failed", "amount": 500}
    assert sale.mailed(4) == "Your refund of €5.00 did not go through (card)"
    sale.refund(amount=500)
    sale.wait("payment.partially_refunded")
    assert sale.state["amount_returned"] == 500 and "refund" not in sale.state
    assert sale.mailed(5) == "€5.00 refunded (card)"


def test_a_refund_that_was_sent_and_returned_is_reported_once(shop: Cluster):
    sale = Payment(shop)
    refund = sale.refund()
    sale.wait("payment.refunded")
    assert sale.mailed(2) == "€10.99 refunded (card)"
    sale.move(refund, "failed", failure_reason="expired_or_canceled_card")
    sale.wait("refund.failed")
    assert sale.types == ["payment.paid", "payment.refunded", "payment.paid", "refund.failed"]
    assert sale.mailed(3) == "Your refund of €10.99 did not go through (card)"


def test_a_cancelled_refund_is_reported(shop: Cluster):
    sale = Payment(shop)
    refund = sale.refund("requires_action")
    sale.wait("refund.requires_action")
    shop.sandbox._stripe("POST", f"/v1/refunds/{refund}/cancel")
    sale.wait("refund.canceled")
    assert sale.mailed(3) == "Your refund of €10.99 was cancelled (card)"


def test_a_customer_sees_the_presented_amount_and_the_shop_its_own(shop: Cluster):
    sale = Payment(shop, currency="usd", shown=(1634, "jpy"))
    assert sale.mailed(1) == "Payment confirmed – JP¥1,634 (card)"
    text = sale.mails[0].get_body(("plain",)).get_content()
    assert "your payment of JP¥1,634" in text and "10.99" not in text
    secret = shop.sandbox._stripe("GET", f"/v1/payment_intents/{sale.id}")["client_secret"]
    query = {"payment_intent": sale.id, "payment_intent_client_secret": secret}
    page = requests.get(f"{shop.api.url}/r/{sale.id}", params=query, timeout=30).text
    assert "JP¥1,634" in page and "10.99" not in page
    told = sale.state
    assert (told["amount"], told["amount_received"], told["currency"]) == (1099, 1099, "usd")
    assert told["presentment"] == {"amount": 1634, "currency": "jpy"}
    assert "10.99 usd, 1634 jpy to the customer" in ctl(shop, "get", sale.id)
    sale.refund(amount=500)
    sale.wait("payment.partially_refunded")
    assert sale.state["presentment"]["amount_returned"] == 743
    assert sale.mailed(2) == "JP¥743 refunded (card)"


@pytest.mark.parametrize(
    "amount, currency, mail, line",
    [
        (999_999_999_999, "idr", "IDR 9,999,999,999.99", "9999999999.99 idr"),
        (500_000, "ugx", "UGX 5,000", "5000 ugx"), (500_000, "isk", "ISK 5,000", "5000 isk"),
        (500_000, "huf", "HUF 5,000.00", "5000.00 huf"), (5_000, "jpy", "JP¥5,000", "5000 jpy"),
        (5_000, "kwd", "KWD 5.000", "5.000 kwd"),
    ],
)
def test_amounts_have_the_decimals_of_their_currency_everywhere(shop: Cluster, amount: int, currency: str, mail: str, line: str):
    sale = Payment(shop, amount, currency)
    assert (sale.state["amount"], sale.state["amount_received"]) == (amount, amount)
    assert sale.mailed(1).replace("\u00a0", " ") == f"Payment confirmed – {mail} (card)"
    assert re.search(rf"^money +{re.escape(line)}, card$", ctl(shop, "get", sale.id), re.M)
