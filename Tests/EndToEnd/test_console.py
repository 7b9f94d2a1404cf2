"""Tests which data of real payments each console page shows to each role."""

from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from harness.browser import chromium
from harness.cluster import Cluster
from harness.console import Console
from harness.console_shop import Receivers, Shop
from harness.waiting import wait_until

pytestmark = pytest.mark.skipif(not chromium(), reason="no chromium on this machine")

EVIL = "<img src=x onerror='window.hit=1'><script>window.hit=1</script>"
PAGES = ["#/", "#/payments", "#/orders?paid_twice=1", "#/late", "#/disputes", "#/endpoints", "#/deliveries", "#/lanes", "#/quarantine",
         "#/incidents", "#/health", "#/processes", "#/mail", "#/keys"]


@pytest.fixture(scope="module")
def front(tmp_path_factory) -> Iterator[SimpleNamespace]:
    """A cluster with payments in many states, and a key for each role."""
    roles = {"viewer": "role=viewer", "support": "role=support", "operator": "role=operator", "admin": "role=admin",
             "acme": "role=admin account=acme", "bank": "role=viewer account=bank"}
    keys = {name: f"key-of-{name}-0123456789" for name in roles}
    path = tmp_path_factory.mktemp("keys") / "keys"
    path.write_text("".join(f"{keys[name]} {words} name={name}\n" for name, words in roles.items()))
    receivers = Receivers()
    config = path.parent / "poller.yaml"
    config.write_text(f"upstreams:\n  bank:\n    url: {receivers.url}/bank/{{id}}\n    status: /state\n    final: [settled]\n"
                      "accounts: {acme: {stripe_api_key: {env: ACME_KEY}}}\n")
    env = {"POLLER_API_KEYS_FILE": str(path), "POLLER_CONFIG_FILE": str(config), "ACME_KEY": "pk_test_acme",
           "POLLER_QUARANTINE_AFTER": "0s"}
    with Cluster(workers=1, notifiers=1, listen=False, env=env) as cluster:
        shop = Shop(cluster, keys["admin"], receivers)
        shop.sells()
        yield SimpleNamespace(cluster=cluster, shop=shop, keys=keys)
        shop.close()


@pytest.fixture
def console_as(front) -> Iterator:
    """Opens the console with a role's key."""
    opened: list[Console] = []

    def open_with(role: str) -> Console:
        opened.append(Console(front.cluster.api.url, front.keys[role]))
        return opened[-1]

    yield open_with
    for console in opened:
        complaints = console.browser.complaints
        console.close()
        assert not complaints, complaints


def test_the_console_requires_a_key_rejects_a_wrong_one_and_never_shows_it(front):
    console = Console(front.cluster.api.url)
    try:
        console.browser.open(front.cluster.api.url + "/")
        console.says("You are signed in in every tab of this browser")
        console.fill(key="no-key-of-this-server-000")
        console.answer("Open the console")
        console.says("This key is unknown or has expired")
        console.fill(key=front.keys["viewer"])
        console.answer("Open the console")
        console.ready()
        console.says("Overview")
        seen = console.js("location.href + document.cookie + JSON.stringify({...localStorage}) + JSON.stringify({...sessionStorage})")
        assert front.keys["viewer"] not in seen
        # A new tab shares only the cookie with this one; a link from a colleague opens in it.
        console.js("sessionStorage.clear()")
        console.open(f"#/payments/{front.shop.paid}")
        console.says("Payment of PAID-1")
        # A failed sign-out is shown.
        console.js("window.kept = window.fetch; window.fetch = async (path, options) => options?.method === 'DELETE'"
                   " ? new Response('{\"title\":\"Too many requests.\"}', { status: 429 }) : window.kept(path, options); 0")
        console.click("Sign out", within="#nav")
        console.says("You are still signed in, in every tab. Too many requests.")
        console.js("window.fetch = window.kept; 0")
        console.click("Sign out", within="#nav")
        console.says("You are signed in in every tab of this browser")
        console.browser.open("about:blank")
        console.wait(lambda: console.js("location.href") == "about:blank", "the page before is gone")
        console.browser.open(front.cluster.api.url + "/")
        console.says("You are signed in in every tab of this browser")
    finally:
        console.close()


def test_a_list_is_read_again_when_the_server_rejects_a_page_because_of_the_keys_rate(console_as):
    console = console_as("support").open()
    console.js("window.kept = window.fetch; window.asked = 0; window.fetch = async (path, options) =>"
               " path === 'v1/deliveries?limit=50' && window.asked++ === 0"
               " ? new Response('{\"title\":\"Too many requests.\"}', { status: 429, headers: { 'Retry-After': '1' } })"
               " : window.kept(path, options); 0")

    def is_shown() -> bool:
        text = console.text
        assert "cannot be shown" not in text
        return "One row per payment and recipient" in text

    console.press("g", "d")
    console.wait(is_shown, "the list of deliveries")
    assert console.js("window.asked") >= 2


def test_an_order_number_leads_to_the_timeline_of_its_payment(console_as, front):
    console = console_as("support").open()
    console.press("/")
    console.js("document.querySelector('#q').value = 'PAID-1'")
    console.press("Enter")
    console.says("Payment of PAID-1")
    for told in ["€45.00", "Paid", "The money has arrived.", "The shop started watching this payment.",
                 "Waiting for the customer to pay €45.00 by iDEAL.", "The customer has approved €45.00 by iDEAL.",
                 "Paid: €45.00 has arrived by iDEAL.", "“Paid” was delivered to jane@example.com.",
                 "Next steps", "Delivery to", "Jane Doe"]:
        console.says(told)
    entries = console.js("[...document.querySelectorAll('.timeline .entry > time')].map((one) => one.dateTime)")
    assert len(entries) >= 5 and entries == sorted(entries)
    # The address alone opens the same page for another user.
    address = console.place
    console.open(address)
    console.says("Paid: €45.00 has arrived by iDEAL.")


def test_an_order_with_two_attempts_has_one_timeline(console_as, front):
    console = console_as("viewer").open("#/payments?q=TWICE-1&go=1")
    console.wait(lambda: console.place.startswith("#/orders/TWICE-1"), "the order is opened")
    console.says("2 payment attempts")
    for source in front.shop.twice:
        console.says(source)
    assert "payment attempt 1" in console.text and "payment attempt 2" in console.text
    sandbox = front.cluster.sandbox
    for source in front.shop.twice:
        sandbox.authorise(source)
        front.shop.until(source, lambda watch: watch["status"] == "chargeable")
        sandbox.charge(source, 990)
    for told in ["Paid twice", "€19.80 received for €9.90. Refund €9.90.", "Paid the order", "To refund",
                 "The order was paid more than once.", "jane@example.com", "Jane Doe"]:
        console.says(told)


def test_markup_in_foreign_data_is_shown_as_text(console_as, front):
    console = console_as("admin")
    for page in [*PAGES, "#/payments?q=EVIL-1&go=1", f"#/endpoints/{front.shop.endpoints['bad']}", "#/payments?q=" + "%3Cimg%20src%3Dx%3E"]:
        console.open(page)
        assert console.js("document.querySelectorAll('#main img, #main script').length") == 0, page
    console.open("#/payments?q=EVIL-1&go=1")
    console.says(EVIL)
    assert console.js("window.hit") is None


def test_a_payment_of_another_account_or_kind_is_found_by_its_id(console_as, front):
    console = console_as("viewer").open(f"#/payments/{front.shop.foreign}")
    console.says("acme")
    console.says("FOREIGN-1")
    # A payment in quarantine, of an upstream other than Stripe.
    console.open("#/quarantine")
    console.click("BANK-1")
    console.says("It is in quarantine: not understood")
    console.open("#/payments/BANK-1")
    console.says("It is in quarantine: not understood")
    console.open("#/payments/src_nobody_knows")
    console.says("was never watched, or its record has expired")


def test_the_list_identifies_payments_and_filters_them(console_as, front):
    console = console_as("viewer").open("#/payments")
    heads = console.js("[...document.querySelectorAll('#main th')].map((one) => one.innerText)")
    assert heads == ["Order", "Amount", "Payment", "Customer", "Method", "Account", "Source", "Last polled", "Age"]
    console.says("€45.00")
    console.click("Failed")
    console.wait(lambda: "FAILED-1" in console.text and "PAID-1" not in console.text, "the failed ones alone")
    console.open("#/payments?q=amount%3E%3D4500%20method%3Dideal")
    console.wait(lambda: "PAID-1" in console.text and "FAILED-1" not in console.text, "the dear ones alone")
    console.open("#/payments?q=nothing_is_called_so")
    console.says("No payments match this search.")
    console.says("beginnings of words")
    console.open("#/payments?q=amount%3D45")
    console.click("amount=45.00")
    console.says("PAID-1")
    # The back link of a payment leads to the search results.
    console.click("PAID-1")
    console.says("Payment of PAID-1")
    console.click("‹ Search results")
    console.wait(lambda: console.place == "#/payments?q=amount%3D45.00", "the search again")


def test_a_viewer_is_offered_no_actions(console_as, front):
    console = console_as("viewer")
    shop = front.shop
    pages = [*PAGES[:-1], "#/payments?q=state%3Dopen", f"#/payments/{shop.open}", f"#/endpoints/{shop.endpoints['bad']}"]
    for page in pages:
        console.open(page)
        told = set(console.buttons()) - {"Copy", "Check", "Check again", "All lanes", "Next page", "Download CSV", "Health checks", "View"}
        links = {"Endpoints", "Dead letters", "Failing", "Lanes", "Quarantine", "Details", "Processes"}
        assert told <= links, f"{page}: {told}"
    assert "API keys\n" not in console.js("document.querySelector('#nav ul').innerText + '\\n'")


def test_support_may_poll_and_resend_but_nothing_more(console_as, front):
    console = console_as("support").open(f"#/payments/{front.shop.open}")
    assert "Poll now" in console.buttons() and "Cancel watch" not in console.buttons()
    console.open(f"#/endpoints/{front.shop.endpoints['bad']}")
    assert set(console.buttons()) <= {"Copy", "Retry", "Dismiss"}
    console.open("#/lanes")
    assert not console.buttons()


def test_a_key_of_one_account_sees_only_that_account(console_as, front):
    console = console_as("acme").open("#/payments")
    console.says("FOREIGN-1")
    assert "PAID-1" not in console.text
    names = console.js("[...document.querySelectorAll('#nav li')].map((one) => one.innerText)")
    assert "Processes" not in names and "Email" not in names and "API keys" in names
    console.open("#/")
    console.says("Accounts: acme")
    assert "All systems operational" not in console.text
    console.open(f"#/payments/{front.shop.open}")
    console.says("was never watched, or its record has expired")


def test_a_key_of_one_account_sees_that_its_payment_is_in_quarantine(console_as, front):
    console = console_as("bank").open()
    console.says("1 payment is in quarantine")
    assert "No issues in these accounts" not in console.text
    assert console.js("document.querySelector('#verdict').className") == "verdict careful"


def test_the_keyboard_does_what_the_mouse_does(console_as, front):
    console = console_as("viewer").open()
    for keys, heading in [("gp", "Payments"), ("gl", "Lanes"), ("ge", "Endpoints"), ("gd", "Deliveries"), ("go", "Overview")]:
        console.press(*keys)
        console.wait(lambda: console.js("document.activeElement.tagName + document.activeElement.innerText") == f"H1{heading}", heading)
    console.press("/")
    assert console.js("document.activeElement.id") == "q"
    console.press("Escape")
    assert console.js("document.activeElement.id") != "q"
    console.press("g", "p")
    console.wait(lambda: console.js("document.querySelectorAll('#main a.row').length") > 3, "rows")
    console.press("j", "j", "k")
    focused = console.js("document.activeElement.className + ' ' + document.activeElement.matches(':focus-visible')")
    assert focused == "row true"
    assert console.js("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    console.press("Enter")
    console.wait(lambda: console.place.startswith("#/payments/"), "the row is opened")
    console.press("?")
    console.says("Next row, previous row")
    console.press("Escape")
    console.wait(lambda: not console.js("Boolean(document.querySelector('dialog'))"), "the list of keys is closed")


def test_an_unknown_address_is_not_read_again(console_as):
    console = console_as("admin")
    console.open("#/nonsense")
    console.says("Page not found")
    console.press("r")
    assert console.js("document.querySelectorAll('.toast').length") == 0
    console.open("#/payments")
    console.says("Payments")


def test_no_page_has_an_accessibility_violation(console_as, front):
    console = console_as("admin")
    for page in [*PAGES, "#/audit", "#/nonsense", "#/payments?q=nothing_is_called_so", "#/deliveries?state=dead",
                 f"#/payments/{front.shop.paid}", f"#/payments/{front.shop.open}", "#/orders/TWICE-1",
                 f"#/endpoints/{front.shop.endpoints['bad']}"]:
        console.open(page)
        assert console.violations() == [], page
    console.open("#/endpoints")
    console.click("New endpoint")
    assert console.violations() == [], "a dialog"


def test_nothing_is_wider_than_a_phone(console_as, front):
    console = console_as("admin")
    console.size(390, 844)
    for page in [*PAGES, f"#/payments/{front.shop.paid}", "#/orders/TWICE-1", f"#/endpoints/{front.shop.endpoints['bad']}"]:
        console.open(page)
        assert console.overflow() <= 0, page
    console.open("#/deliveries")
    whom = console.js("[...document.querySelectorAll('#main .whom')].filter((one) => one.checkVisibility()).map((one) => one.innerText)")
    assert whom and all(one.startswith("to ") for one in whom), "the recipient of a button is shown without its column"
    console.click("Menu", within="#top")
    console.click("Lanes", within="#nav")
    console.wait(lambda: console.js("document.querySelector('#main h1').innerText") == "Lanes", "the menu leads on")
    assert not console.js("document.querySelector('#nav').checkVisibility()"), "the menu closes itself"


def test_changes_are_shown_live(console_as, front):
    console = console_as("viewer").open()
    console.wait(lambda: console.js("document.querySelector('#hearing').innerText") == "Live", "live")
    front.shop.pays("NEWS-1", 777)
    console.wait(lambda: "NEWS-1" in console.js("document.querySelector('.changes').innerText"), "the change is shown")


def test_the_overview_draws_the_history_of_polls(console_as, front):
    def polls() -> int:
        told = front.shop.call("GET", "/v1/stats/history?span=24h")["series"]["polls"]
        return sum(told)

    wait_until(polls, 60, "the processes have reported")
    console = console_as("viewer").open()
    console.says("History")
    console.says("each point is a minute")
    drawn = console.js("[...document.querySelectorAll('.chart svg')].map((one) => one.getAttribute('aria-label'))")
    assert len(drawn) == 5 and drawn[0].startswith("Polls, 24 hours: ") and "max " in drawn[0], drawn
    console.click("90 d")
    console.says("each point is an hour")
    console.click("1 h")
    console.wait(lambda: console.js("document.querySelector('.chart svg').getAttribute('aria-label')").startswith("Polls, last hour: "), "an hour")


def test_the_keys_page_explains_an_empty_list(console_as, front):
    console = console_as("admin").open("#/keys")
    console.says("Keys created here or with pollerctl key create appear here.")
