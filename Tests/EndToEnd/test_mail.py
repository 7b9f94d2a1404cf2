"""Tests the emails that customers receive: rendering in a browser, content, one-click unsubscribe and bounces."""

import json
import os
import re
from pathlib import Path

import pytest
import requests
from harness.accessibility import LANDMARKS, violations
from harness.browser import Browser, chromium
from harness.cluster import Cluster
from harness.redis_server import free_port
from harness.waiting import wait_until

# The source status that leads to each kind of email.
OCCASIONS = {
    "authorised": "chargeable", "confirmed": "consumed", "failed": "failed", "expired": "canceled",
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """Starts a cluster whose shop has a name, a colour and a public address."""
    bind = f"127.0.0.1:{free_port()}"
    file: Path = tmp_path_factory.mktemp("config") / "poller.yaml"
    file.write_text(
        f"""
public_url: http://{bind}/
accounts:
  default:
    branding:
      name: Käserei Müller & Söhne
      url: https://shop.example/orders
      support: help@shop.example
      colour: "#0b6e4f"
"""
    )
    env = {"POLLER_API_BIND": bind, "POLLER_CONFIG_FILE": str(file)}
    with Cluster(workers=1, listen=False, env=env) as cluster:
        yield cluster


# The recipient of each source. Emails do not contain the source ID.
RECIPIENTS: dict[str, str] = {}


def mails(cluster: Cluster, source: str) -> list:
    return [mail for mail in cluster.mail.messages if mail["To"] == RECIPIENTS[source]]


def mailed(cluster: Cluster, source: str, count: int) -> list:
    return wait_until(
        lambda: len(found := mails(cluster, source)) >= count and found, 60, f"{count} mails"
    )


def enqueue(cluster: Cluster, recipient: str, source: str | None = None, **fields) -> str:
    source = source or cluster.sandbox.create_source()
    RECIPIENTS[source] = recipient
    cluster.follow(source, notify=[f"mailto:{recipient}"], **fields)
    return source


def page(mail) -> str:
    return mail.get_body(("html",)).get_content()


@pytest.mark.skipif(not chromium(), reason="no chromium on this machine")
def test_every_mail_is_rendered_correctly_in_light_and_dark(shop: Cluster, tmp_path: Path):
    browser = Browser()
    try:
        for occasion, status in OCCASIONS.items():
            source = enqueue(shop, f"{occasion}@example.com", metadata={"order": "A77"})
            shop.sandbox.set_status(source, status)
            mail = mailed(shop, source, 1)[0]
            file = tmp_path / f"{occasion}.html"
            file.write_text(page(mail))
            for is_dark in (False, True):
                browser.dark(is_dark)
                browser.open(file.as_uri())
                wait_until(lambda: browser.evaluate("document.querySelector('h1')?.innerText"), 60, "drawn")
                # The page fits a phone's width and needs no script and no external file.
                assert browser.evaluate("document.documentElement.scrollWidth") <= 420
                assert browser.evaluate("document.scripts.length + document.images.length") == 0
                ground, ink = browser.evaluate(
                    "[getComputedStyle(document.querySelector('.card')).backgroundColor,"
                    " getComputedStyle(document.querySelector('h1')).color]"
                )
                assert (ground == "rgb(34, 37, 43)") == is_dark and ground != ink
                if folder := os.environ.get("POLLER_PICTURES"):
                    shade = "dark" if is_dark else "light"
                    browser.picture(Path(folder) / f"mail-{occasion}-{shade}.png")
            assert "Käserei Müller & Söhne" in browser.text
            assert "€10.99" in browser.text and "A77" in browser.text and "iDEAL" in browser.text
            assert "src_" not in browser.text and "src_" not in mail["Subject"]
            assert violations(browser, without=LANDMARKS) == [], occasion
            browser.width(420)
        # The page behind the unsubscribe link asks for confirmation.
        browser.open(mail["List-Unsubscribe"].strip("<>"))
        wait_until(lambda: browser.evaluate("document.querySelector('form button')?.innerText"), 60, "the question")
        assert violations(browser) == [], "the unsubscribe page"
        assert not browser.complaints, browser.complaints
    finally:
        browser.close()


def test_a_mail_names_the_order_in_the_customer_s_language(shop: Cluster):
    for recipient, order, said, subject in [
        ("a77@example.com", "A77", {"metadata": {"order": "A77"}},
         "Käserei Müller & Söhne: Payment failed – Order A77 – €10.99 (iDEAL)"),
        ("a78@example.com", "A78", {"metadata": {"order_id": "A78", "locale": "de-AT"}},
         "Käserei Müller & Söhne: Zahlung fehlgeschlagen – Bestellung A78 – 10,99\xa0€ (iDEAL)"),
        ("a79@example.com", "A79", {"order": "A79", "metadata": {"cart": "7"}},
         "Käserei Müller & Söhne: Payment failed – Order A79 – €10.99 (iDEAL)"),
    ]:
        source = enqueue(shop, recipient, **said)
        shop.sandbox.set_status(source, "failed")
        mail = mailed(shop, source, 1)[0]
        assert mail["Subject"] == subject
        for part in (page(mail), mail.get_body(("plain",)).get_content()):
            assert order in part and source not in part


def test_a_voucher_is_mailed_once_and_events_without_an_action_are_not(shop: Cluster):
    form = {"type": "multibanco", "amount": 1099, "currency": "eur", "owner[email]": "jenny@example.com",
            "redirect[return_url]": "http://127.0.0.1/thanks"}
    source = enqueue(shop, "voucher@example.com", shop.sandbox._stripe("POST", "/v1/sources", form)["id"],
                     metadata={"order": "A79"})
    mail = mailed(shop, source, 1)[0]
    assert "Pay your voucher – Order A79" in mail["Subject"]
    text = mail.get_body(("plain",)).get_content()
    assert "Entity: 12345" in text and "Reference: 123456789" in text
    shop.api.request("DELETE", f"/v1/watches/{source}")
    other = enqueue(shop, "stopped@example.com")
    shop.api.request("DELETE", f"/v1/watches/{other}")
    last = enqueue(shop, "after@example.com")
    shop.sandbox.set_status(last, "failed")
    mailed(shop, last, 1)
    assert len(mails(shop, source)) == 1 and mails(shop, other) == []


def test_one_click_unsubscribes_from_a_shop_and_completes_the_delivery(shop: Cluster):
    recipient = "stop@example.com"
    source = enqueue(shop, recipient)
    shop.sandbox.set_status(source, "chargeable")
    mail = mailed(shop, source, 1)[0]
    assert mail["From"].addresses[0].display_name == "Käserei Müller & Söhne"
    assert mail["Reply-To"] == "help@shop.example"
    assert mail["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    link = re.fullmatch(r"<(http://\S+)>", mail["List-Unsubscribe"]).group(1)
    assert link in page(mail) and link in mail.get_body(("plain",)).get_content()
    assert "stop" not in link and "example.com" not in link, "an address has no place in a log"

    asked = requests.get(link, timeout=30)
    assert asked.status_code == 200
    assert "Käserei Müller &amp; Söhne" in asked.text and "background: #0b6e4f" in asked.text
    assert not shop.api.get(f"/v1/mail/suppressions/{recipient}")["suppressed"]
    # The request of a mail client, RFC 8058 §3.2.
    clicked = requests.post(link, data={"List-Unsubscribe": "One-Click"}, timeout=30)
    assert clicked.status_code == 200
    assert shop.api.get(f"/v1/mail/suppressions/{recipient}")["reason"] == "unsubscribed"

    shop.set_status(source, "consumed")
    other = enqueue(shop, "other@example.com")
    shop.sandbox.set_status(other, "failed")
    mailed(shop, other, 1)
    notifier = shop.notifiers[0]
    wait_until(lambda: "skipped for this recipient" in notifier.stderr(), 60, "the delivery is done with a reason")
    assert len(mails(shop, source)) == 1
    shop.api.request("DELETE", f"/v1/mail/suppressions/{recipient}")
    assert not shop.api.get(f"/v1/mail/suppressions/{recipient}")["suppressed"]


def test_a_payment_that_the_bank_declines_later_was_never_mailed_as_confirmed(shop: Cluster):
    for name, last in (("failing_charge", "failed"), ("succeeding_charge", "confirmed")):
        form = {
            "type": "sofort", "amount": 1099, "currency": "eur", "sofort[country]": "DE",
            "owner[name]": name, "redirect[return_url]": "http://127.0.0.1/r",
        }
        source = shop.sandbox._stripe("POST", "/v1/sources", form)["id"]
        enqueue(shop, f"{name}@example.com", source, charge=True, policy="interactive")
        shop.sandbox.authorise(source)
        wait_until(
            lambda: any(f"Payment {last}" in mail["Subject"] for mail in mails(shop, source)), 60, last
        )
        told = [mail["Subject"].split(" – ")[0] for mail in mails(shop, source)]
        words = ["authorised", "being processed", last]
        assert told == [f"Käserei Müller & Söhne: Payment {word}" for word in words]
        assert "Please don&#39;t pay again" in page(mails(shop, source)[1])


def test_a_reported_bounce_suppresses_further_mails(shop: Cluster):
    recipient = "gone@example.com"
    answer = shop.api.request(
        "POST", "/v1/mail/bounces", json={"recipient": recipient, "type": "hard_bounce"}
    )
    assert answer.status_code == 200 and answer.json()["suppressed"]
    source, other = enqueue(shop, recipient), enqueue(shop, "here@example.com")
    for name in (source, other):
        shop.sandbox.set_status(name, "failed")
    mailed(shop, other, 1)
    wait_until(
        lambda: shop.notifiers[0].stderr().count("skipped for this recipient"), 60, "skipped"
    )
    assert mails(shop, source) == []
    # The attempts and the payment's timeline show the reason afterwards.
    [delivery] = shop.api.get(f"/v1/deliveries?source={source}")["data"]
    # The log line is written before the attempt is recorded.
    attempts = wait_until(
        lambda: shop.api.get(f"/v1/deliveries/{delivery['id']}/attempts")["data"], 60, "the attempt is recorded"
    )
    assert {one["outcome"] for one in attempts} == {"skipped"}, attempts
    assert "hard_bounce" in attempts[0]["reason"]
    timeline = json.dumps(shop.api.get(f"/v1/watches/{source}/timeline"))
    assert "hard_bounce" in timeline, timeline
