"""Tests that the console answers the common questions of support and operators in at most two steps."""

import json
import re
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from harness.browser import chromium
from harness.cluster import Cluster
from harness.console import Console
from harness.console_shop import Receivers, Shop
from harness.shop import with_webhooks
from harness.waiting import wait_until

pytestmark = pytest.mark.skipif(not chromium(), reason="no chromium on this machine")

LANE = "/v1/lanes/default%2Fsources"
# Answers a path in the page as a server would, and records the requests.
ANSWERED = """(() => {
    const fetches = window.fetch;
    window.asked = [];
    window.fetch = async (path, options) => {
        if (!String(path).startsWith(%s)) return fetches(path, options);
        window.asked.push(String(path));
        return new Response(%s, { status: 200, headers: { "Content-Type": "application/json" } });
    };
})()"""


@pytest.fixture(scope="module")
def front() -> Iterator[SimpleNamespace]:
    """A shop that receives the upstream's webhooks, so that refunds and disputes appear immediately."""
    receivers = Receivers()
    env = {"POLLER_STRIPE_SWEEP": "off"}
    with Cluster(workers=1, notifiers=1, listen=False, env=env) as cluster:
        with_webhooks(cluster)
        shop = Shop(cluster, receivers=receivers)
        shop.endpoint("ok", "/ok", types=["payment.*"])
        yield SimpleNamespace(cluster=cluster, shop=shop)
        shop.close()


@pytest.fixture
def console(front) -> Iterator[Console]:
    console = Console(front.cluster.api.url)
    yield console
    complaints = console.browser.complaints
    console.close()
    assert not complaints, complaints


def charge_of(shop: Shop, source: str) -> str:
    charges = shop.cluster.sandbox._stripe("GET", "/v1/charges?limit=100")["data"]
    return next(one["id"] for one in charges if (one.get("source") or {}).get("id") == source)


def columns_fit(console: Console) -> bool:
    return console.js("[...document.querySelectorAll('#main .scroll')].every((one) => one.scrollWidth <= one.clientWidth + 1)")


def test_which_payments_are_late_and_why(front, console):
    console.open("#/late")
    console.says("No late payments")
    front.shop.call("POST", f"{LANE}/pause")
    try:
        source = front.cluster.sandbox.create_source("ideal", 1300)
        front.shop.call("POST", "/v1/watches", source=source, order="LATE-1", policy="interactive")
        console.says("LATE-1")
        console.says("Its lane default/sources is paused")
        # The lane that delays the payment can be resumed from its page.
        console.open("#/lanes")
        console.click("Resume")
        console.says("default/sources is resumed.")
    finally:
        front.shop.call("POST", f"{LANE}/resume")
    console.open("#/late")
    console.wait(lambda: "No late payments" in console.text, "it was polled")


def test_payments_whose_polls_fail_are_listed_with_the_error(front, console):
    source = front.shop.watches("FAILING-1", 1500)
    fault = front.cluster.sandbox.fault("status", f"/v1/sources/{source}", status=403)
    try:
        front.shop.until(source, lambda watch: watch.get("last_error"))
        console.open("#/late")
        console.says("FAILING-1")
        console.says("redentials refused")
    finally:
        front.cluster.sandbox.clear_fault(fault)


def test_was_the_customer_notified_and_with_which_text(front, console):
    source = front.shop.pays("TEXT-1", 2300)
    wait_until(lambda: any("23.00" in str(mail) for mail in front.cluster.mail.messages), 60, "the mail went out")
    console.open(f"#/payments/{source}")
    # To both recipients: mail and webhook.
    console.wait(lambda: re.search(r"“Paid” was delivered to \S+ and \S+\.", console.text), "both are shown")
    console.js("[...document.querySelectorAll('.timeline details')].forEach((one) => { one.open = true; })")
    # The mail and the webhook of one event form one entry, which shows the text of each.
    paid = "[...document.querySelectorAll('.timeline .entry')].find((one) => one.innerText.startsWith('“Paid”') || one.innerText.includes('\\n“Paid”'))"
    part = paid + ".querySelectorAll('.parts > li')"
    console.js(f"[...{part}].find((one) => one.innerText.includes('jane@example.com')).querySelector('button').click()")
    console.says("This is the text that was sent.")
    told = console.js("document.querySelector('dialog pre').innerText")
    [sent] = [part.get_content() for mail in front.cluster.mail.messages if "23.00" in str(mail)
              for part in mail.walk() if part.get_content_type() == "text/plain"][-1:]
    assert "23.00" in told and told.split()[:6] == sent.split()[:6]
    console.answer("Close")
    # The same entry shows the webhook's body.
    console.js(f"[...{part}].find((one) => one.innerText.includes('/ok')).querySelector('button').click()")
    console.wait(lambda: '"type": "payment.paid"' in (console.js("document.querySelector('dialog pre')?.innerText ?? ''")), "the event")
    console.says("This is the text that was sent.")
    console.answer("Close")


def test_deliveries_of_one_event_are_one_entry_of_the_timeline(front, console):
    source = front.shop.pays("FOLD-1", 2400)
    console.open(f"#/payments/{source}")
    console.says("“Paid” was delivered to")
    texts = console.js("[...document.querySelectorAll('.timeline .entry > div > p:first-child')].map((one) => one.innerText)")
    assert sum("“Paid”" in text for text in texts) == 1, texts


def test_which_endpoint_fails_since_when(front, console):
    endpoint = front.shop.endpoint("down", "/down", types=["payment.paid"], retry=["1h"])
    try:
        front.shop.pays("DOWN-1", 900)
        wait_until(lambda: front.shop.call("GET", f"/v1/endpoints/{endpoint}").get("health", {}).get("failing_since"), 60, "it fails")
        console.open("#/endpoints")
        heads = console.js("[...document.querySelectorAll('#main th')].map((one) => one.innerText)")
        column = heads.index("Failing since")
        rows = console.js("[...document.querySelectorAll('#main tbody tr')].map((row) => [...row.cells].map((cell) => cell.innerText))")
        [since] = [row[column] for row in rows if "/down" in row[0]]
        assert re.search(r"\d+ (s|ms|min) ago|now", since), rows
        assert [row[column] for row in rows if "/ok" in row[0]] == ["–"]
        # After the repair, pending deliveries are retried.
        console.open("#/deliveries?state=failing")
        console.says("Retry")
        front.shop.receivers.mended.add("/down")
        console.click("Retry")
        console.says("Retry started.")
        console.wait(lambda: "DOWN-1" not in console.text, "the page follows: it fails no longer")
    finally:
        front.shop.receivers.mended.discard("/down")
        front.shop.call("DELETE", f"/v1/endpoints/{endpoint}")


def test_the_page_updates_when_an_endpoint_is_enabled(front, console):
    endpoint = front.shop.endpoint("held", "/down", types=["source.never"])
    try:
        front.shop.call("POST", f"/v1/endpoints/{endpoint}/disable")
        console.open(f"#/endpoints/{endpoint}")
        console.says("Disabled")
        # No refresh is due meanwhile that would show it, too.
        with console.at_rest():
            console.click("Enable")
            console.says("Pending events are sent now")
            console.wait(lambda: "Enabled" in console.js("document.querySelector('.outcome').innerText"), "it is enabled")
        assert "Unavailable" not in console.text and "Paused" not in console.text
    finally:
        front.shop.call("DELETE", f"/v1/endpoints/{endpoint}")


def test_was_the_refund_delivered(front, console):
    source = front.shop.pays("BACK-1", 3100)
    front.cluster.sandbox._stripe("POST", "/v1/refunds", {"charge": charge_of(front.shop, source)})
    front.shop.until(source, lambda watch: watch["payment"]["state"] == "refunded")
    console.open(f"#/payments/{source}")
    told = "[...document.querySelectorAll('.aside .rows .badge')].map((one) => one.innerText)"
    console.wait(lambda: any(one.startswith("Notified: Refunded") for one in console.js(told)), "both know of the refund")
    # The list shows the payment's state, not the source's status.
    assert not any("onsumed" in one for one in console.js(told)), console.js(told)


def test_who_changed_what_by_name(front, console):
    endpoint = front.shop.endpoints["ok"]
    front.shop.call("POST", f"/v1/endpoints/{endpoint}/disable", reason="holidays")
    front.shop.call("POST", f"/v1/endpoints/{endpoint}/enable")
    source = front.shop.watches("AUDIT-1", 700)
    front.shop.call("DELETE", f"/v1/watches/{source}")
    console.open("#/audit")
    console.says("disable endpoint")
    rows = console.js("[...document.querySelectorAll('#main tbody tr:not(.below)')].map((row) => row.innerText)")
    [disabled] = [row for row in rows if "disable endpoint" in row][:1]
    assert "/ok" in disabled, disabled
    [cancelled] = [row for row in rows if "cancel watch" in row][:1]
    assert "AUDIT-1" in cancelled, cancelled


def test_orders_paid_twice(front, console):
    sources = [front.shop.watches("DOUBLE-1", 990) for _ in range(2)]
    for source in sources:
        front.cluster.sandbox.authorise(source)
        front.shop.until(source, lambda watch: watch["status"] == "chargeable")
        front.cluster.sandbox.charge(source, 990)
        front.shop.until(source, lambda watch: watch["payment"]["state"] == "paid")
    wait_until(lambda: front.shop.call("GET", "/v1/orders?paid_twice=true")["data"], 60, "it is known")
    console.open("#/payments")
    console.click("Paid twice")
    console.wait(lambda: console.js("document.querySelector('#main h1').innerText") == "Orders", "the orders")
    console.says("DOUBLE-1")
    console.says("€9.90")
    assert console.js("[...document.querySelectorAll('#main a.row')].map((one) => one.innerText)") == ["DOUBLE-1"]
    console.click("DOUBLE-1")
    console.says("€19.80 received for €9.90. Refund €9.90.")


def test_disputes_with_their_deadline(front, console):
    source = front.shop.pays("DISPUTE-1", 5200)
    front.cluster.sandbox._call("POST", f"/_sandbox/charges/{charge_of(front.shop, source)}/disputes", json={})
    console.open("#/disputes")
    console.says("€52.00", 70)
    row = console.js("document.querySelector('#main tbody tr').innerText")
    assert "Needs response" in row and re.search(r"in \d+ d", row), row
    assert "DISPUTE-1" in row, row
    console.click("DISPUTE-1")
    console.says("Payment of DISPUTE-1")


def test_authorised_and_not_captured_with_count_and_sum(front, console):
    console.open("#/payments")
    counted = '{"count":12,"capped":false,"sums":[{"currency":"eur","amount":123450},{"currency":"jpy","amount":500}]}'
    console.js(ANSWERED % ('"v1/watches/summary"', repr(counted)))
    source = front.shop.watches("AUTHORISED-1", 4100)
    front.cluster.sandbox.authorise(source)
    front.shop.until(source, lambda watch: watch["payment"]["state"] == "authorised")
    console.click("Authorised")
    console.says("AUTHORISED-1")
    console.says("12 payments · €1,234.50 · JP¥500")
    assert console.js("window.asked") == ["v1/watches/summary?q=payment%3Dauthorised"]
    many = '{"count":10000,"capped":true,"sums":[]}'
    console.js(ANSWERED % ('"v1/watches/summary"', repr(many)))
    console.click("Open")
    console.says("at least 10,000 payments")


def test_a_range_of_dates_and_everything_found_as_a_table(front, console):
    front.shop.watches("DATES-1", 600)
    console.open("#/payments?q=order%3DDATES-1")
    console.says("DATES-1")
    field = "document.querySelector('.dates [name=%s]')"
    for name, day in [("from", "2020-02-01"), ("until", "2020-02-29")]:
        console.js(f"{field % name}.value = '{day}'; {field % name}.dispatchEvent(new Event('change', {{ bubbles: true }}))")
        console.wait(lambda name=name, day=day: console.js(f"{field % name}?.value") == day, f"{name} is kept")
        console.ready()
    console.says("No payments match this search.")
    asked = console.js("decodeURIComponent(location.hash.replaceAll('+', ' '))")
    assert re.search(r"q=order=DATES-1 created>=2020-0[12]-\d\dT[\d:]+Z created<2020-0[23]-\d\dT[\d:]+Z$", asked), asked
    console.js(f"{field % 'from'}.value = ''; {field % 'from'}.dispatchEvent(new Event('change', {{ bubbles: true }}))")
    console.wait(lambda: "created%3E" not in console.place, "no beginning")
    console.open("#/payments?q=order%3DDATES-1")
    console.says("DATES-1")
    console.js(ANSWERED % ('"v1/watches?q=order%3DDATES-1&format"', '"order,amount"'))
    console.js("HTMLAnchorElement.prototype.click = function () { window.saved = [this.download, this.href.slice(0, 5)]; }")
    console.click("Download CSV")
    console.wait(lambda: console.js("window.saved"), "it is saved")
    assert console.js("window.saved") == ["payments.csv", "blob:"]
    assert console.js("window.asked") == ["v1/watches?q=order%3DDATES-1&format=csv"]


def test_a_delay_is_marked_only_beyond_the_limit_that_the_server_reports(front, console):
    stats = front.shop.call("GET", "/v1/stats") | {"oldest_overdue_ms": 90_000}
    colour = "document.querySelector('[data-key=\"tile Overdue\"] strong')?.className"
    for late_after_ms, wanted in [(15_000, "bad"), (603_000, ""), (75_000, "bad")]:
        console.open("#/late")
        console.js(ANSWERED % ('"v1/stats"', repr(json.dumps(stats | {"late_after_ms": late_after_ms}))))
        console.press("g", "o")
        console.wait(lambda wanted=wanted: console.js(colour) == wanted, f"the colour is {wanted!r}")


def test_suppressed_addresses_are_listed_and_lifted(front, console):
    front.shop.call("POST", "/v1/mail/bounces", recipient="missing@example.com", type="hard_bounce")
    console.open("#/mail")
    console.says("m…g@example.com")
    console.says("Hard bounce")
    console.click("Remove")
    console.answer("Remove suppression")
    console.says("The recipient receives email again.")
    console.wait(lambda: "m…g@example.com" not in console.text, "it is in the list no more")
    assert not front.shop.call("GET", "/v1/mail/suppressions/missing@example.com")["suppressed"]


def test_an_order_with_many_attempts_stays_readable(front, console):
    sources = [front.shop.watches("MANY-1", 1000, notify=[]) for _ in range(14)]
    for source in sources[:-1]:
        front.cluster.sandbox.set_status(source, "failed")
    for source in sources[:-1]:
        front.shop.until(source, lambda watch: watch["state"] == "closed")
    wait_until(lambda: len([one for one in front.shop.call("GET", "/v1/orders/MANY-1")["members"] if one["payment"]["state"] == "failed"]) == 13,
               60, "the order knows of all")
    console.browser.requests.clear()
    console.open("#/orders/MANY-1")
    console.says("4 of 14 payment attempts")
    console.says("other attempts")
    shown = console.js("[...document.querySelectorAll('.tries > li')].filter((one) => one.checkVisibility()).length")
    assert shown < 8, shown
    # The attempt that can still be paid is among the visible ones, with its next step.
    console.says("Attempt 14")
    assert len({one for one in console.browser.requests if one.endswith("/timeline")}) == 4
    console.js("document.querySelector('details[data-key=tries] summary').click()")
    assert console.js("[...document.querySelectorAll('.tries > li')].filter((one) => one.checkVisibility()).length") == 14


def test_incidents_and_health_are_pages_of_the_menu(front, console):
    console.open()
    console.click("Incidents", within="#nav")
    console.wait(lambda: console.js("document.querySelector('#main h1').innerText") == "Incidents", "the incidents")
    console.click("Open")
    console.wait(lambda: console.place == "#/incidents?status=open", "the open ones")
    console.click("Health", within="#nav")
    console.says("redis version")
    console.says("workers")
    order = console.js("[...document.querySelectorAll('.checks .badge')].map((one) => one.innerText)")
    assert order == sorted(order, key=["Failed", "Warning", "OK"].index), "the worst first"
    console.click("Check again")
    console.says("Checked now")


@pytest.mark.parametrize("width", [1280, 390])
def test_no_column_is_cut_off_and_payments_stay_identifiable(front, console, width):
    front.shop.endpoint("wide", "/bad", types=["payment.paid"], retry="none")
    source = front.shop.pays("WIDE-ORDER-2026-000123456", 123456)
    wait_until(lambda: front.shop.call("GET", "/v1/deliveries?state=dead")["data"], 60, "the event is a dead letter")
    console.size(width, 900)
    pages = ["#/payments", "#/late", "#/disputes", "#/orders?paid_twice=1", "#/deliveries", "#/deliveries?state=dead", "#/endpoints", "#/lanes",
             "#/incidents", "#/health", "#/processes", "#/mail", "#/audit", f"#/payments/{source}", "#/orders/WIDE-ORDER-2026-000123456"]
    for page in pages:
        console.open(page)
        assert console.overflow() <= 0 and columns_fit(console), page
    console.open("#/payments")
    visible = "[...document.querySelectorAll('#main td *, #main td')].filter((one) => one.checkVisibility()).map((one) => one.innerText).join('\\n')"
    console.wait(lambda: "Jane Doe" in console.js(visible), "the customer's name")
    console.open("#/deliveries?state=dead")
    button = console.js("(() => { const box = [...document.querySelectorAll('#main td.act button')][0].getBoundingClientRect();"
                        " return [box.left, box.right, document.documentElement.clientWidth]; })()")
    assert 0 <= button[0] < button[1] <= button[2], button
    told = console.js(visible)
    assert re.search(r"\d+ (ms|s|min) ago|now", told), "when it was tried"
    for key in front.shop.call("GET", "/v1/endpoints")["data"]:
        if key["url"].endswith("/bad"):
            front.shop.call("DELETE", f"/v1/endpoints/{key['id']}")


def test_pages_with_refunds_and_disputes_have_no_accessibility_violation(front, console):
    for page in ["#/disputes", "#/orders?paid_twice=1", "#/orders/MANY-1", "#/mail?to=jane@example.com", "#/payments", "#/deliveries?state=done"]:
        console.open(page)
        assert console.violations() == [], page
