"""Tests refunds that need a bank account from the payer: the request, the form and the answer to Stripe."""

import os
import re
from pathlib import Path

import pytest
import requests
from harness.accessibility import violations
from harness.browser import Browser, chromium
from harness.cluster import Cluster
from harness.redis_server import free_port
from harness.shop import with_webhooks
from harness.waiting import wait_until

IBAN = "PT50000201231234567890154"
TYPED = "pt50 0002 0123 1234 5678 9015 4"
NAME = "Jenny Rosenstern"


@pytest.fixture(scope="module")
def hinted():
    """Starts a cluster with a public address that receives the sandbox's webhooks."""
    bind = f"127.0.0.1:{free_port()}"
    env = {"POLLER_STRIPE_SWEEP": "off", "POLLER_API_BIND": bind, "POLLER_PUBLIC_URL": f"http://{bind}"}
    with Cluster(workers=1, env=env) as cluster:
        yield with_webhooks(cluster)


@pytest.fixture(scope="module")
def browser():
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture
def page(browser: Browser):
    browser.forget()
    browser.allow_scripts(True)
    browser.width(360)
    browser.languages("en")
    browser.complaints.clear()
    yield browser
    assert not browser.complaints, browser.complaints


def step(cluster: Cluster, source: str) -> str:
    return (cluster.api.watch(source).get("next_step") or {"type": "none"})["type"]


def pay(cluster: Cluster, source: str, amount: int) -> None:
    cluster.sandbox._call("POST", f"/_sandbox/sources/{source}/payments", json={"amount": amount})


def awaiting_account(cluster: Cluster, type: str = "multibanco", **fields) -> str:
    """Returns a source that was paid after it had ended, so that Stripe asks for a refund account."""
    form = {"type": type, "owner[email]": "jenny@example.com"}
    if type == "multibanco":
        form |= {"amount": 1099, "currency": "eur", "redirect[return_url]": "https://shop.example.com/thanks"}
    else:
        form |= {"currency": "usd"}
    source = cluster.sandbox._stripe("POST", "/v1/sources", form)["id"]
    cluster.follow(source, **fields)
    cluster.set_status(source, "canceled")
    assert cluster.api.watch(source)["closed_reason"] == "settled" and step(cluster, source) == "none"
    # The customer pays nevertheless.
    pay(cluster, source, 1099)
    wait_until(lambda: step(cluster, source) == "give_refund_account", 60, "the payer is asked")
    return source


def form_url(cluster: Cluster, source: str) -> str:
    """Returns the URL of the refund form, which only the payer's email contains."""

    def written() -> list[str]:
        texts = [mail.get_body(("plain",)).get_content() for mail in mails(cluster, source)]
        return [url for text in texts for url in re.findall(r"http\S+grant=\S+", text)]

    (url, *_) = wait_until(written, 60, "the payer is written to")
    assert url.startswith(f"{cluster.api.url}/r/{source}/continue?grant=")
    told = str(cluster.api.events(source)) + str(cluster.api.watch(source))
    assert "grant=" not in told, "the link allows to set the refund account"
    return url


def mails(cluster: Cluster, source: str) -> list:
    return [mail for mail in cluster.mail.messages if source in mail["To"]]


def fill_in(page: Browser, **values: str) -> None:
    """Types values as a customer does, and presses the button."""
    for name, value in values.items():
        page.evaluate(f"document.querySelector('#form input[name={name}]').value = {value!r}")
    page.press("#form button")


def picture(page: Browser, name: str) -> None:
    if folder := os.environ.get("POLLER_PICTURES"):
        page.picture(Path(folder) / f"{name}.png")


def check_details_are_hidden(cluster: Cluster, source: str, *secrets: str) -> None:
    """Checks that typed bank details are in no event, email, log or store file, because only Stripe may have them."""
    told = str(cluster.api.events(source)) + str(cluster.api.watch(source))
    logs = [path for path in cluster.logs.iterdir() if not path.name.startswith("sandbox")]
    told += "".join(path.read_text(errors="replace") for path in logs)
    told += "".join(str(mail) for mail in cluster.mail.messages)
    kept = b"".join(path.read_bytes() for path in cluster._data.rglob("*") if path.is_file())
    assert kept, "the store has a file"
    for secret in secrets:
        assert secret not in told
        assert secret.encode() not in kept


def test_late_money_is_refunded_to_the_submitted_account(hinted: Cluster):
    source = awaiting_account(hinted)
    api = f"/v1/watches/{source}/refund_attributes"
    wrong = hinted.api.request("POST", api, json={"holder": NAME, "iban": IBAN[:-1] + "5"})
    assert wrong.status_code == 422 and wrong.json()["field"] == "iban" and IBAN[:-1] not in wrong.text, wrong.text
    american = {"holder": NAME, "account_number": "000123456789", "routing_number": "110000000"}
    other = hinted.api.request("POST", api, json=american)
    assert other.status_code == 409 and other.json()["code"] == "nothing_asked", other.text

    def taken() -> bool:
        answer = hinted.api.request("POST", api, json={"holder": NAME, "iban": IBAN})
        assert answer.status_code in (202, 429), answer.text
        return answer.status_code == 202

    wait_until(taken, 60, "the account is accepted", pause_s=0.5)
    wait_until(lambda: step(hinted, source) == "none", 60, "no account is requested any more")
    known = hinted.sandbox.source(source)
    assert known["receiver"]["refund_attributes_status"] == "available"
    assert known["multibanco"]["refund_iban"] == IBAN
    assert known["multibanco"]["refund_account_holder_name"] == NAME
    events = hinted.api.events(source)
    steps = [event.get("next_step") for event in events if event["type"] == "next_step.changed"]
    assert [(said or {"type": "none"})["type"] for said in steps][-2:] == ["give_refund_account", "none"], steps
    assert events[-1]["object"]["receiver"]["refund_attributes_status"] == "available"
    check_details_are_hidden(hinted, source, IBAN, NAME)


@pytest.mark.skipif(not chromium(), reason="no chromium on this machine")
@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("width", [360, 1280])
def test_the_payer_submits_an_account_on_the_return_page(hinted: Cluster, page: Browser, width: int, language: str):
    source = awaiting_account(hinted)
    page.width(width)
    page.languages(language)
    words = {
        "en": ("Where should we send your money?", "not a valid IBAN", "send your money to this account"),
        "de": ("Wohin sollen wir Ihr Geld überweisen?", "Diese IBAN ist ungültig", "das Geld auf dieses Konto"),
    }[language]
    page.open(form_url(hinted, source))
    page.wait_state("action")
    # The redirect removes the grant from the address. The page shows the form itself, so it needs no link to it.
    assert page.address == f"{hinted.api.url}/r/{source}"
    assert words[0] in page.text and not page.evaluate("document.querySelector('#links')")
    fill_in(page, holder=NAME, iban=TYPED[:-1] + "5")
    wait_until(lambda: words[1] in (page.text or ""), 60, "a mistake is shown at once")
    # The form keeps the typed values for correction.
    assert page.evaluate("document.querySelector('#form input[name=holder]').value") == NAME
    assert page.evaluate("document.querySelector('#form input[name=iban]').value") == TYPED[:-1] + "5"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    picture(page, f"refund-account-{language}-{width}")
    if (width, language) == (1280, "en"):
        assert violations(page) == [], "the form with an error"
    fill_in(page, iban=TYPED)
    wait_until(lambda: words[2] in (page.text or ""), 60, "the account is accepted")
    page.wait_state("expired")
    assert not page.evaluate("document.querySelector('#form')")
    assert hinted.sandbox.source(source)["multibanco"]["refund_iban"] == IBAN
    wait_until(lambda: step(hinted, source) == "none", 60, "no account is requested any more")
    page.open(f"{hinted.api.url}/r/{source}")
    page.wait_state("expired")
    assert not page.evaluate("document.querySelector('#form')")
    check_details_are_hidden(hinted, source, IBAN, TYPED, NAME)


@pytest.mark.skipif(not chromium(), reason="no chromium on this machine")
def test_the_answer_to_a_form_is_shown_even_if_its_effect_is_recorded_before(hinted: Cluster, page: Browser):
    source = awaiting_account(hinted)
    page.open(form_url(hinted, source))
    page.wait_state("action")
    # A webhook of Stripe can arrive before the response to the request.
    hinted.sandbox.fault("delay", match=f"/v1/sources/{source}", method="POST", times=1, after=True, delay_ms=3000)
    fill_in(page, holder=NAME, iban=TYPED)
    wait_until(lambda: hinted.sandbox.source(source)["multibanco"]["refund_iban"] == IBAN, 60, "Stripe has it")
    polled = hinted.api.request("POST", f"/v1/watches/{source}/poll")
    assert polled.ok, polled.text
    wait_until(lambda: step(hinted, source) == "none", 60, "the account is recorded")
    wait_until(lambda: "send your money to this account" in page.text, 60, "the payer is thanked")


@pytest.mark.skipif(not chromium(), reason="no chromium on this machine")
def test_an_american_account_is_submitted_without_scripts(hinted: Cluster, page: Browser):
    source = awaiting_account(hinted, "ach_credit_transfer")
    page.allow_scripts(False)
    page.open(form_url(hinted, source))
    page.wait_state("action")
    fill_in(page, holder=NAME, routing_number="11000000", account_number="000-123 456789")
    wait_until(lambda: "not a valid account number" in page.text, 60, "the page shows the mistake")
    page.evaluate("document.querySelector('#form input[name=company]').checked = true")
    fill_in(page, routing_number="110000000")
    page.wait_state("expired")
    known = hinted.sandbox.source(source)["ach_credit_transfer"]
    assert known["refund_routing_number"] == "110000000" and known["refund_account_holder_type"] == "company"
    check_details_are_hidden(hinted, source, "000123456789", NAME)


def test_the_payer_gets_a_mail_with_a_link_to_the_form(hinted: Cluster):
    source = awaiting_account(hinted, metadata={"order": "A77"})
    (mail,) = wait_until(
        lambda: [mail for mail in mails(hinted, source) if "Where should we send your money?" in mail["Subject"]], 60,
        "the payer is written to",
    )
    assert "Order A77" in mail["Subject"]
    text = mail.get_body(("plain",)).get_content()
    found = re.search(rf"{hinted.api.url}/r/{source}/continue\S+", text)
    assert found and found.group() == form_url(hinted, source), text
    # A truncated link does not open the page.
    for wrong in (found.group()[:-2], found.group().split("?")[0]):
        assert requests.get(wrong, allow_redirects=False, timeout=30).status_code == 404
    led = requests.get(found.group(), allow_redirects=False, timeout=30)
    assert led.status_code == 303 and led.headers["Location"] == f"/r/{source}"


def test_only_the_payer_can_submit_an_account(hinted: Cluster):
    source = awaiting_account(hinted)
    form = {"holder": "Mallory", "iban": "DE89370400440532013000"}
    address = f"{hinted.api.url}/r/{source}/refund_account"
    answer = requests.post(address, data=form, timeout=30)
    assert answer.status_code == 404 and source not in answer.text
    # The cookie of another payment does not help either.
    session = requests.Session()
    session.get(form_url(hinted, awaiting_account(hinted)), timeout=30)
    answer = session.post(address, data=form, timeout=30)
    assert answer.status_code == 404 and source not in answer.text
    assert hinted.sandbox.source(source)["receiver"]["refund_attributes_status"] == "requested"
    # Without a request for an account, the form redirects to the page and sends nothing to Stripe.
    paid = hinted.sandbox._stripe("POST", "/v1/sources", {
        "type": "multibanco", "amount": 1099, "currency": "eur", "owner[email]": "jenny@example.com",
        "redirect[return_url]": "https://shop.example.com/thanks",
    })
    hinted.enqueue(paid["id"])
    hinted.wait_status(paid["id"], "pending")
    session.get(f"{hinted.api.url}/r?source={paid['id']}&client_secret={paid['client_secret']}", timeout=30)
    answer = session.post(
        f"{hinted.api.url}/r/{paid['id']}/refund_account", data=form, timeout=30, allow_redirects=False
    )
    assert answer.status_code == 303, answer.text
    assert hinted.sandbox.source(paid["id"])["receiver"]["refund_attributes_status"] == "missing"
