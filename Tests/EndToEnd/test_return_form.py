"""Tests the form on the return page, and the API that submits the customer's answer."""

import os
from pathlib import Path

import pytest
import requests
from harness.accessibility import violations
from harness.browser import Browser, chromium
from harness.cluster import Cluster
from harness.waiting import wait_until
from test_return_page import browser, create, landing, page  # noqa: F401

pytestmark = pytest.mark.skipif(not chromium(), reason="no chromium on this machine")


def code_source(cluster: Cluster, **fields) -> dict:
    """Returns a source whose customer has to confirm two small deposits."""
    form = {
        "currency": "usd", "flow": "code_verification", "owner[name]": "Jenny Rosen",
        "ach_debit[routing_number]": "110000000", "ach_debit[account_number]": "000123456789",
        "ach_debit[account_holder_type]": "individual",
    }
    return create(cluster, "ach_debit", form, **fields)


def fill_in(page: Browser, *values: str) -> None:
    """Types values as a customer does, and presses the button."""
    for number, value in enumerate(values):
        page.evaluate(f"document.querySelectorAll('#form input')[{number}].value = {value!r}")
    page.press("#form button")


@pytest.mark.parametrize("language, is_dark", [("en", False), ("de", True)])
@pytest.mark.parametrize("width", [360, 1280])
def test_two_deposits_are_submitted_on_the_page(
    page: Browser, calm: Cluster, width: int, language: str, is_dark: bool
):
    source = code_source(calm, metadata={"order": "A77"})
    page.width(width)
    page.dark(is_dark)
    page.languages(language)
    words = {
        "en": ("two small deposits", "Attempts left: 5", "not correct", "Attempts left: 4", "account is verified"),
        "de": ("zwei kleine Gutschriften", "Versuche: 5", "nicht richtig", "Versuche: 4", "Konto ist bestätigt"),
    }[language]
    page.open(landing(calm, source))
    page.wait_state("action")
    assert words[0] in page.text and words[1] in page.text
    if folder := os.environ.get("POLLER_PICTURES"):
        page.picture(Path(folder) / f"asked-{language}-{width}.png")
    # The example amount is formatted for the page's language.
    example = page.evaluate("document.querySelector('#form input').placeholder")
    assert example == {"en": "0.32", "de": "0,32"}[language]
    fill_in(page, "0.11", "0.12")
    # The text is empty while the browser leaves a page.
    wait_until(lambda: words[2] in (page.text or ""), 60, "a wrong answer is shown at once")
    page.wait_state("action")
    assert words[3] in page.text and page.evaluate("document.querySelectorAll('#form input').length") == 2
    assert page.address == f"{calm.api.url}/r/{source['id']}", "a reload does not send it again"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if (width, language) == (1280, "en"):
        assert violations(page) == [], "the form with an error"
    if folder := os.environ.get("POLLER_PICTURES"):
        page.picture(Path(folder) / f"wrong-{language}-{width}.png")
    # The source is polled at once instead of at its next due time.
    wait_until(
        lambda: calm.api.watch(source["id"])["next_step"].get("attempts_left") == 4, 60, "the watch knows it, too"
    )
    wait_until(lambda: try_again(page, words[4]), 60, "the right answer is shown at once", pause_s=0.5)
    page.wait_state("authorised")
    assert "form" not in page.evaluate("document.querySelector('main').innerHTML")


def try_again(page: Browser, words: str) -> bool:
    """Types the correct amounts again while the page says that it is too early. Returns whether they were accepted."""
    if words in (page.text or "") or "authorised" == page.evaluate("document.body.dataset.state"):
        return True
    if page.evaluate("!document.querySelector('#form button')?.disabled"):
        fill_in(page, "32", "45")
    return False


def test_a_code_is_submitted_without_scripts_and_the_last_attempt_is_announced(page: Browser, calm: Cluster):
    source = code_source(calm)
    page.allow_scripts(False)
    page.open(landing(calm, source))
    page.wait_state("action")
    fill_in(page, "0,10", "0,11")
    page.wait_state("failed")
    assert "no attempts left" in page.text and "You have not been charged" in page.text
    assert not page.evaluate("document.querySelector('#form')")


def test_a_service_can_submit_a_code(calm: Cluster):
    form = {"currency": "eur", "flow": "code_verification", "owner[name]": "Jenny Rosen",
            "sepa_debit[iban]": "DE89370400440532013000"}
    source = create(calm, "sepa_debit", form)
    way = f"/v1/watches/{source['id']}/verify"
    wrong = calm.api.request("POST", way, json={"values": ["SM22BB"]})
    assert wrong.status_code == 200, wrong.text
    assert wrong.json() == {"result": "refused", "attempts_left": 4}

    def right() -> bool:
        answer = calm.api.request("POST", way, json={"values": ["SM11AA"]})
        return answer.ok and answer.json() == {"result": "accepted"}

    wait_until(right, 60, "the code is accepted", pause_s=0.5)
    calm.wait_status(source["id"], "chargeable")
    # The customer of another payment cannot submit an answer.
    answer = requests.post(f"{calm.api.url}/r/{source['id']}/verify", data={"value": "SM11AA"}, timeout=30)
    assert answer.status_code == 404 and source["id"] not in answer.text
