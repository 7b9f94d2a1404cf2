"""Tests the return page in a real browser, as customers see it after the bank's page."""

import json
import os
from pathlib import Path

import pytest
import requests
from harness.accessibility import violations
from harness.browser import Browser, chromium
from harness.cluster import Cluster
from harness.waiting import wait_until

pytestmark = pytest.mark.skipif(not chromium(), reason="no chromium on this machine")


@pytest.fixture(scope="module")
def browser():
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture
def page(browser: Browser, calm: Cluster, request):
    browser.forget()
    browser.allow_scripts(True)
    browser.dark(False)
    browser.width(420)
    browser.languages("en")
    browser.complaints.clear()
    browser.requests.clear()
    yield browser
    # For every test: the page obeys its content security policy and loads nothing from other hosts.
    assert not browser.complaints, browser.complaints
    hosts = {url.split("/")[2] for url in browser.requests if url.startswith("http")}
    assert hosts <= {calm.api.url.split("/")[2], calm.sandbox.url.split("/")[2]}
    if folder := os.environ.get("POLLER_PICTURES"):
        browser.picture(Path(folder) / f"{request.node.name}.png")


def create(cluster: Cluster, type: str = "ideal", form: dict | None = None, **fields) -> dict:
    """Creates a source that redirects to our return page, and watches it with its client secret."""
    form = {
        "type": type, "amount": 1099, "currency": "eur",
        "redirect[return_url]": f"{cluster.api.url}/r",
    } | (form or {})
    source = cluster.sandbox._stripe("POST", "/v1/sources", form)
    answer = cluster.api.enqueue(
        source["id"], policy="interactive", client_secret=source["client_secret"], **fields
    )
    assert answer.status_code == 201, answer.text
    cluster.wait_status(source["id"], "pending")
    return source


def landing(cluster: Cluster, source: dict, status: str = "succeeded") -> str:
    """Returns the URL to which Stripe redirects the customer."""
    return (
        f"{cluster.api.url}/r?source={source['id']}&client_secret={source['client_secret']}"
        f"&livemode=false&redirect_status={status}"
    )


def test_the_return_from_the_bank_shows_the_confirmed_payment(page: Browser, calm: Cluster):
    source = create(calm, charge=True)
    page.open(source["redirect"]["url"])
    wait_until(lambda: "form" in (page.evaluate("document.body?.innerHTML") or ""), 60, "the bank's page")
    # The customer presses the bank's button, and the bank redirects the browser.
    page.evaluate("document.querySelector('form[action*=authorize]').submit()")
    wait_until(lambda: page.address.startswith(calm.api.url), 60, "the return page is open")
    page.wait_state("confirmed")
    assert "Payment confirmed" in page.text and "Test mode" in page.text
    assert page.address == f"{calm.api.url}/r/{source['id']}"
    # Neither the page's HTML nor its scripts can read the secret.
    assert source["client_secret"] not in page.evaluate("document.documentElement.outerHTML")
    assert page.cookies_by_script() == ""
    assert page.evaluate("document.referrer") == ""


def test_a_false_redirect_result_is_ignored_and_the_page_stays_live(page: Browser, calm: Cluster):
    source = create(calm)
    page.open(landing(calm, source, "succeeded"))
    page.wait_state("confirming")
    polls = len(calm.sandbox.polls(source["id"]))
    wait_until(lambda: len(calm.sandbox.polls(source["id"])) > polls, 60, "a visit is a hint")
    calm.sandbox.set_status(source["id"], "chargeable")
    page.wait_state("authorised")
    assert "authorised" in page.text and "confirmed" not in page.text and violations(page) == []
    calm.sandbox.charge(source["id"])
    page.wait_state("confirmed")
    assert violations(page) == []


def test_a_customer_is_not_left_with_a_spinner(page: Browser, calm: Cluster):
    source = create(calm)
    page.open(landing(calm, source))
    page.wait_state("confirming")
    # The payment was not started at the bank, so the customer can continue there.
    page.wait_state("action")
    assert "Complete your payment" in page.text and violations(page) == []
    assert source["client_secret"] not in page.evaluate("document.documentElement.outerHTML")
    assert page.address == f"{calm.api.url}/r/{source['id']}"
    page.press("#links a")
    wait_until(lambda: "form" in (page.evaluate("document.body?.innerHTML") or ""), 60, "the bank's page")
    assert page.address == source["redirect"]["url"]
    page.open(f"{calm.api.url}/r/{source['id']}?n=3")
    page.wait_state("action")
    calm.sandbox.set_status(source["id"], "canceled")
    page.wait_state("expired")
    assert "You have not been charged" in page.text and "#links" not in page.text
    # The payment has expired, so the link to the bank redirects to the page.
    page.open(f"{calm.api.url}/r/{source['id']}/continue")
    page.wait_state("expired")


@pytest.mark.parametrize("kind", ["source", "payment_intent"])
def test_the_page_works_without_a_client_secret_from_the_shop(calm: Cluster, kind: str):
    if kind == "source":
        form = {"type": "ideal", "amount": 1099, "currency": "eur", "redirect[return_url]": f"{calm.api.url}/r"}
        made = calm.sandbox._stripe("POST", "/v1/sources", form)
        names = ("source", "client_secret")
    else:
        form = {"amount": 2000, "currency": "eur", "payment_method_types[]": "ideal",
                "payment_method_data[type]": "ideal", "confirm": "true", "return_url": f"{calm.api.url}/r"}
        made = calm.sandbox._stripe("POST", "/v1/payment_intents", form)
        names = ("payment_intent", "payment_intent_client_secret")
    watch, secret = calm.api.enqueue(made["id"], policy="interactive"), made["client_secret"]
    assert watch.status_code == 201, watch.text
    calm.wait_status(made["id"], made["status"])

    def come(shown: str) -> requests.Response:
        way = f"{calm.api.url}/r?{names[0]}={made['id']}&{names[1]}={shown}"
        return requests.get(way, allow_redirects=False, timeout=30)

    # A wrong secret is refused.
    for wrong in ("", "x", secret[:-1], secret + "x", secret.split("_")[-1], "redacted"):
        assert come(wrong).status_code == 404, wrong
    assert requests.get(f"{calm.api.url}/r/{made['id']}", timeout=30).status_code == 404
    with requests.Session() as customer:
        way = f"{calm.api.url}/r?{names[0]}={made['id']}&{names[1]}={secret}"
        assert customer.get(way, timeout=30).status_code == 200
        if kind == "source":
            led = customer.get(f"{calm.api.url}/r/{made['id']}/continue", allow_redirects=False, timeout=30)
            assert led.status_code == 303 and led.headers["Location"] == made["redirect"]["url"]
    # The secret from the return URL is in no event, watch or log.
    told = json.dumps(calm.api.events(made["id"])) + json.dumps(calm.api.watch(made["id"]))
    files = [path for path in calm.logs.iterdir() if not path.name.startswith("sandbox")]
    logs = "".join(path.read_text(errors="replace") for path in files)
    tail = secret.split("_")[-1]
    assert tail not in told and tail not in logs


def test_the_link_to_continue_requires_the_client_secret(calm: Cluster):
    source = create(calm)
    way = f"{calm.api.url}/r/{source['id']}/continue"
    assert requests.get(way, allow_redirects=False, timeout=30).status_code == 404
    with requests.Session() as customer:
        shown = customer.get(landing(calm, source), timeout=30)
        assert shown.status_code == 200
        led = customer.get(way, allow_redirects=False, timeout=30)
        assert led.status_code == 303 and led.headers["Location"] == source["redirect"]["url"]
        assert led.headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_a_voucher_number_can_be_copied(page: Browser, calm: Cluster, width: int, is_dark: bool):
    form = {"owner[email]": "jenny@example.com"}
    source = create(calm, "multibanco", form, metadata={"order": "A77"})
    page.dark(is_dark)
    page.width(width)
    page.languages("pt-PT,pt;q=0.9,en;q=0.1")
    page.open(landing(calm, source))
    page.wait_state("action")
    assert "Efetue o pagamento por referência" in page.text and "123456789" in page.text
    assert "10,99\xa0€" in page.text and "A77" in page.text and "Multibanco" in page.text
    assert page.evaluate("document.documentElement.lang") == "pt"
    # The content fits the width of the screen.
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # The button shows it for two seconds, in which a slow machine may not look.
    page.evaluate("""
        window.labels = [];
        for (const button of document.querySelectorAll("button[data-copy]"))
            new MutationObserver(() => labels.push(button.innerText)).observe(button, { childList: true });
    """)
    page.press("button[data-copy]", 1)
    wait_until(lambda: "Copiado" in page.evaluate("labels"), 60, "the button shows it")
    calm.sandbox.set_status(source["id"], "chargeable")
    page.wait_state("authorised")
    assert page.address == f"{calm.api.url}/r/{source['id']}"
    assert "123456789" not in page.text, "a paid voucher cannot be copied"


def test_an_account_number_can_be_copied(page: Browser, calm: Cluster):
    form = {"owner[name]": "Jenny Rosen", "owner[email]": "jenny@example.com"}
    source = create(calm, "sepa_credit_transfer", form, metadata={"locale": "de"})
    page.open(landing(calm, source))
    page.wait_state("action")
    assert "DE89 3704 0044 0532 0130 00" in page.text and "Bitte überweisen" in page.text
    assert page.evaluate("document.querySelector('[data-copy^=DE]').dataset.copy") == "DE89370400440532013000"
    assert violations(page) == []


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
def test_a_declined_payment_is_shown_as_declined(page: Browser, calm: Cluster, is_dark: bool):
    source = create(calm)
    page.dark(is_dark)
    response = requests.post(
        f"{calm.sandbox.url}/redirect/{source['id']}/fail", allow_redirects=False, timeout=30
    )
    assert response.status_code == 303, response.text
    page.open(landing(calm, source, "succeeded"))
    page.wait_state("failed")
    assert "You have not been charged" in page.text
    if not is_dark:
        assert violations(page) == []


def test_a_payment_that_takes_days_is_not_shown_as_paid(page: Browser, calm: Cluster):
    source = create(calm, type="sofort", form={"sofort[country]": "DE", "owner[name]": "pending_charge"})
    page.open(landing(calm, source))
    page.wait_state("confirming")
    calm.sandbox.set_status(source["id"], "chargeable")
    page.wait_state("authorised")
    # The shop charges the source itself, and the bank's answer is pending.
    calm.sandbox.charge(source["id"])
    page.wait_state("processing")
    assert "Please don't pay again" in page.text and "We have received" not in page.text


def test_without_scripts_the_page_reloads_until_the_payment_is_final(page: Browser, calm: Cluster):
    source = create(calm)
    page.allow_scripts(False)
    page.open(landing(calm, source))
    # After four seconds the page is loaded again, and then asks for the payment.
    wait_until(lambda: page.evaluate("document.body?.dataset.state") in ("confirming", "action"), 60, "the page is open")
    calm.sandbox.set_status(source["id"], "chargeable")
    page.wait_state("authorised")
    assert "?n=" in page.address
    calm.sandbox.charge(source["id"])
    page.wait_state("confirmed")


def test_a_wrong_secret_shows_nothing(page: Browser, calm: Cluster):
    source = create(calm)
    calm.sandbox.set_status(source["id"], "chargeable")
    calm.wait_status(source["id"], "chargeable")
    page.open(landing(calm, source | {"client_secret": "src_client_secret_wrong"}))
    page.wait_state("unknown")
    assert "Nothing to show here" in page.text and violations(page) == []
    page.open(f"{calm.api.url}/r/{source['id']}")
    page.wait_state("unknown")
    # The cookie of another payment does not open the page, and neither does a wrong mode.
    other = create(calm)
    page.open(landing(calm, other))
    page.wait_state("confirming")
    page.open(f"{calm.api.url}/r/{source['id']}")
    page.wait_state("unknown")
    page.open(landing(calm, source).replace("livemode=false", "livemode=true"))
    page.wait_state("unknown")


def test_the_customer_of_an_intent_returns_to_the_page(page: Browser, calm: Cluster):
    form = {
        "amount": 2000, "currency": "eur", "payment_method_types[]": "ideal",
        "payment_method_data[type]": "ideal", "confirm": "true",
        "return_url": f"{calm.api.url}/r",
    }
    intent = calm.sandbox._stripe("POST", "/v1/payment_intents", form)
    calm.api.enqueue(intent["id"], policy="interactive", client_secret=intent["client_secret"])
    calm.wait_status(intent["id"], "requires_action")
    page.open(
        f"{calm.api.url}/r?payment_intent={intent['id']}"
        f"&payment_intent_client_secret={intent['client_secret']}&redirect_status=succeeded"
    )
    page.wait_state("confirming")
    calm.sandbox.set_status(intent["id"], "succeeded")
    page.wait_state("confirmed")


@pytest.mark.parametrize("button, state", [("authorize", "confirmed"), ("fail", "failed")])
def test_the_customer_of_a_setup_intent_returns_to_the_page(page: Browser, calm: Cluster, button: str, state: str):
    form = {
        "payment_method_types[]": "ideal", "payment_method_data[type]": "ideal", "confirm": "true",
        "return_url": f"{calm.api.url}/r",
    }
    intent = calm.sandbox._stripe("POST", "/v1/setup_intents", form)
    answer = calm.api.enqueue(intent["id"], policy="interactive", client_secret=intent["client_secret"])
    assert answer.json()["kind"] == "setup_intent", answer.text
    calm.wait_status(intent["id"], "requires_action")
    # The bank's page redirects with Stripe's parameter names for setup intents.
    away = requests.post(
        f"{calm.sandbox.url}/redirect/{intent['id']}/{button}", allow_redirects=False, timeout=30
    ).headers["Location"]
    assert f"setup_intent={intent['id']}" in away and "setup_intent_client_secret=" in away
    page.open(away)
    page.wait_state(state)
    assert ("Payment method saved" if state == "confirmed" else "not saved") in page.text
    wrong = away.replace(intent["client_secret"], f"{intent['id']}_secret_wrong")
    page.forget()
    page.open(wrong)
    page.wait_state("unknown")


def test_a_deploy_while_the_page_is_open_loses_nothing(chaos, request):
    from harness.redis_server import free_port

    bind = f"127.0.0.1:{free_port()}"
    cluster: Cluster = chaos(env={"POLLER_API_BIND": bind}, workers=1)
    browser = Browser()
    try:
        source = create(cluster)
        browser.open(landing(cluster, source))
        browser.wait_state("confirming")
        cluster.api_process.kill9()
        cluster.sandbox.set_status(source["id"], "consumed")
        cluster.api_process.start().wait_ready()
        browser.wait_state("confirmed")
        assert not browser.complaints, browser.complaints
    finally:
        browser.close()
