"""Tests that actions in the console describe their effect first and then have it."""

import re
from collections.abc import Iterator

import pytest
from harness.browser import chromium
from harness.cluster import Cluster
from harness.console import Console
from harness.console_shop import Shop
from harness.waiting import wait_until

pytestmark = pytest.mark.skipif(not chromium(), reason="no chromium on this machine")


@pytest.fixture(scope="module")
def shop() -> Iterator[Shop]:
    env = {"POLLER_QUARANTINE_AFTER": "0s"}
    with Cluster(workers=1, notifiers=1, listen=False, env=env) as cluster:
        shop = Shop(cluster)
        yield shop
        shop.close()


@pytest.fixture
def console(shop: Shop) -> Iterator[Console]:
    console = Console(shop.cluster.api.url)
    yield console
    complaints = console.browser.complaints
    console.close()
    assert not complaints, complaints


def deliveries(shop: Shop, endpoint: str, state: str) -> list[dict]:
    found, cursor = [], ""
    while True:
        page = shop.call("GET", f"/v1/deliveries?endpoint={endpoint}&state={state}{cursor}")
        found += page["data"]
        if not page["has_more"]:
            return found
        cursor = f"&cursor={page['next']}"


def test_an_endpoint_is_created_tested_disabled_enabled_rotated_and_removed(shop, console):
    console.open("#/endpoints")
    console.click("New endpoint")
    console.fill(url=shop.receivers.url + "/ok", types="payment.paid")
    # Holds the timer of the two seconds after which the secret counts as read.
    console.js("window.held = []; window.later = window.setTimeout;"
               " window.setTimeout = (act, ms) => ms === 2000 ? held.push(act) : later(act, ms); 0")
    console.answer("Add endpoint")
    console.says("Signing secret")
    assert console.js("document.querySelector('dialog .primary').disabled"), "the secret has not been read yet"
    console.press("Escape", "Escape")
    console.says("Signing secret")
    assert console.js("document.querySelector('dialog code').innerText").startswith("whsec_")
    console.js("window.setTimeout = later; held.forEach((act) => act()); 0")
    console.answer("I have saved it")
    console.says("/ok")
    [made] = [one for one in shop.call("GET", "/v1/endpoints")["data"] if one["url"].endswith("/ok")]
    assert made["types"] == ["payment.paid"]
    console.open(f"#/endpoints/{made['id']}")
    console.click("Test")
    console.says("The test event was accepted")
    console.click("Disable")
    console.answer("Cancel")
    assert shop.call("GET", f"/v1/endpoints/{made['id']}")["state"] == "enabled", "it asks before"
    console.click("Disable")
    console.answer("Disable endpoint")
    console.says("Endpoint disabled.")
    assert shop.call("GET", f"/v1/endpoints/{made['id']}")["state"] == "disabled"
    console.click("Enable")
    console.says("Endpoint enabled.")
    console.click("Rotate secret …")
    console.answer("Rotate secret")
    console.says("New secret")
    console.answer("I have saved it")
    assert len(shop.call("GET", f"/v1/endpoints/{made['id']}")["secrets"]) == 2
    console.click("Edit …")
    console.fill(types="payment.paid, payment.failed")
    console.answer("Save")
    console.says("payment.failed")
    console.click("Remove")
    console.fill(word="something else")
    console.answer("Remove endpoint")
    console.says("Type remove.")
    console.fill(word="remove")
    console.answer("Remove endpoint")
    console.wait(lambda: console.place == "#/endpoints", "the list is open again")
    assert made["id"] not in [one["id"] for one in shop.call("GET", "/v1/endpoints")["data"]]


def test_a_rejected_test_event_shows_the_response_of_the_receiver(shop, console):
    endpoint = shop.endpoint("down", "/down", types=["source.never"])
    console.open(f"#/endpoints/{endpoint}")
    console.click("Test")
    console.says("was not accepted: answered 503")
    shop.call("DELETE", f"/v1/endpoints/{endpoint}")


def test_dead_letters_are_retried_singly_and_replayed_after_a_count(shop, console):
    endpoint = shop.endpoint("bad", "/bad", types=["payment.paid"], retry="none")
    sources = [shop.pays(f"AGAIN-{n}", 1000 + n) for n in range(3)]
    wait_until(lambda: len(deliveries(shop, endpoint, "dead")) == 3, 60, "all events are dead letters")
    console.open("#/")
    console.says("have dead letters")
    assert "All systems operational" not in console.text
    console.open("#/deliveries?state=dead")
    console.js("document.querySelector('#main summary').click()")
    console.says("attempt 1: answered 400")
    shop.receivers.mended.add("/bad")
    console.open(f"#/payments/{sources[0]}")
    console.says("Dead letter")
    console.click("Retry")
    console.says("Retry started.")
    wait_until(lambda: len(deliveries(shop, endpoint, "dead")) == 2, 60, "one is sent")
    console.wait(lambda: re.search(r"“Paid” was delivered to \S+ and \S+\.", console.text), "both were sent it")
    console.open(f"#/endpoints/{endpoint}")
    console.click("Replay …")
    console.answer("Count")
    console.says("2 events of 2 payments will be sent to")
    assert len(deliveries(shop, endpoint, "dead")) == 2, "counting sends nothing"
    console.answer("Replay 2 events")
    console.says("2 events scheduled for replay")
    wait_until(lambda: not deliveries(shop, endpoint, "dead"), 60, "all are sent")
    shop.call("DELETE", f"/v1/endpoints/{endpoint}")


def test_a_lane_is_paused_limited_and_resumed(shop, console):
    shop.watches("LANE-1")
    console.open("#/lanes")
    console.click("Pause")
    console.answer("Pause lane")
    console.says("default/sources is paused.")
    assert shop.call("GET", "/v1/lanes/default%2Fsources")["paused"]
    console.open("#/")
    console.says("Lane default/sources is paused")
    console.open("#/lanes")
    console.click("Resume")
    console.says("default/sources is resumed.")
    console.click("Limit …")
    console.fill(rate="7")
    console.answer("Save")
    console.says("7/s")
    assert shop.call("GET", "/v1/lanes/default%2Fsources")["limit"]["rate"] == 7
    shop.call("POST", "/v1/lanes/default%2Fsources/limit", default=True)


def test_a_payment_is_polled_on_request_and_its_watch_cancelled(shop, console):
    source = shop.watches("STOP-1", policy="patient")
    attempts = shop.call("GET", f"/v1/watches/{source}")["attempts"]
    console.open(f"#/payments/{source}")
    console.click("Poll now")
    console.says("Poll requested. It runs as soon as a worker is free.")
    shop.until(source, lambda watch: watch["attempts"] > attempts)
    shop.call("POST", "/v1/lanes/default%2Fsources/pause")
    try:
        console.click("Poll now")
        console.says("The poll has to wait: its lane default/sources is paused")
    finally:
        shop.call("POST", "/v1/lanes/default%2Fsources/resume")
    console.click("Cancel watch")
    console.answer("Cancel")
    assert shop.call("GET", f"/v1/watches/{source}")["state"] == "open", "it asks before"
    console.click("Cancel watch")
    console.answer("Cancel watch")
    console.says("The watch was cancelled")
    assert shop.call("GET", f"/v1/watches/{source}")["closed_reason"] == "cancelled"
    # The page may still show an earlier response for a moment.
    console.wait(lambda: "Poll now" not in console.buttons(), "the poll button is gone")
    console.open("#/payments?q=STOP-1")
    console.says("Waiting · not watched")


def test_a_poll_of_a_paid_payment_finds_its_refund(shop, console):
    source = shop.pays("BACK-1", 1500)
    shop.until(source, lambda watch: watch["state"] == "closed")
    charges = shop.cluster.sandbox._stripe("GET", "/v1/charges?limit=100")["data"]
    [charge] = [one["id"] for one in charges if (one.get("source") or {}).get("id") == source]
    shop.cluster.sandbox._stripe("POST", "/v1/refunds", {"charge": charge})
    console.open(f"#/payments/{source}")
    console.click("Poll now")
    console.says("Poll requested. It runs as soon as a worker is free.")
    shop.until(source, lambda watch: watch["payment"]["state"] == "refunded" and watch["state"] == "closed")


def test_a_quarantined_payment_shows_the_reason_and_can_be_redriven(shop, console):
    source = shop.quarantines("DEAD-9")
    console.open("#/")
    console.says("in quarantine")
    assert "All systems operational" not in console.text
    console.open("#/quarantine")
    console.says("Not understood")
    console.click("Redrive")
    console.says("DEAD-9 is polled again.")
    console.says("No payments in quarantine.")
    shop.until(source, lambda watch: watch["state"] == "open" and watch["status"] == "pending")


def test_a_quarantined_payment_can_be_dismissed(shop, console):
    source = shop.quarantines("DEAD-10")
    console.open("#/quarantine")
    console.says("DEAD-10")
    console.click("Dismiss")
    console.answer("Dismiss")
    console.says("DEAD-10 is dismissed.")
    console.says("No payments in quarantine.")
    assert shop.call("GET", f"/v1/watches/{source}")["closed_reason"] == "cancelled"
    console.open("#/")
    console.says("Latest changes")
    assert "in quarantine" not in console.text
    console.open(f"#/payments/{source}")
    console.says("dismissed it from quarantine")
    assert "Redrive" not in console.buttons()


def test_a_bulk_action_requires_a_count_and_a_confirmation(shop, console):
    sources = [shop.watches(f"BULK-{n}", 4242) for n in range(4)]
    other = shop.watches("OTHER-1", 1)
    console.open("#/payments?q=amount%3D4242")
    console.says("BULK-3")
    console.click("Bulk action …")
    console.fill(action="cancel")
    console.answer("Count")
    console.wait(lambda: console.js("document.querySelector('#dry-run')?.innerText ?? ''").startswith("4 payments are selected"), "the count")
    assert all(shop.call("GET", f"/v1/watches/{one}")["state"] == "open" for one in sources), "counting does nothing"
    console.fill(word="4")
    console.says("Recipients get no further events.")
    console.answer("Cancel 4 payments")
    console.says("4 payments cancelled.")
    assert all(shop.call("GET", f"/v1/watches/{one}")["closed_reason"] == "cancelled" for one in sources)
    assert shop.call("GET", f"/v1/watches/{other}")["state"] == "open"


def test_a_suppressed_address_can_be_checked_and_restored(shop, console):
    shop.call("POST", "/v1/mail/bounces", recipient="gone@example.com", type="hard_bounce")
    console.open("#/mail")
    console.js("document.querySelector('#recipient').value = 'gone@example.com'")
    console.click("Check")
    console.says("gone@example.com: hard bounce")
    console.click("Remove suppression")
    console.answer("Remove suppression")
    console.says("gone@example.com receives email again.")
    console.says("Not suppressed")
    assert not shop.call("GET", "/v1/mail/suppressions/gone@example.com")["suppressed"]


def test_processes_are_listed_with_a_link_to_the_health_checks(shop, console):
    console.open("#/processes")
    console.says("worker")
    console.click("Health checks")
    console.says("redis version")
    console.click("Check again")
    console.says("workers")


def test_a_key_is_created_shown_once_and_revoked(chaos):
    """Uses a separate cluster, because the first key locks the server."""
    cluster = chaos(workers=0, notifiers=0, listen=False)
    shop = Shop(cluster)
    console = Console(cluster.api.url)
    try:
        console.open("#/keys")
        console.says("No keys yet")
        console.click("New key")
        console.fill(name="boss", role="admin")
        console.answer("Create key")
        console.says("Only its hash is stored")
        key = console.js("document.querySelector('dialog code').innerText")
        console.answer("I have saved it")
        console.says("You are signed in in every tab of this browser")
        console.fill(key=key)
        console.answer("Open the console")
        console.says("boss")
        console.click("New key")
        console.fill(name="desk <b>", role="support", expires="90d")
        console.answer("Create key")
        console.answer("I have saved it")
        console.says("desk <b>")
        console.click("Revoke")
        console.answer("Revoke key")
        console.says("Key revoked.")
        console.wait(lambda: "desk <b>" not in console.text, "it is gone")
        console.click("Revoke")
        console.answer("Revoke key")
        console.says("the last admin key")
        # After a user's key is revoked, the console hides everything it has shown.
        boss = Shop(cluster, key)
        other = boss.call("POST", "/v1/keys", role="admin")["key"]
        [own] = [one for one in boss.call("GET", "/v1/keys")["data"] if one.get("name") == "boss"]
        boss.close()
        other = Shop(cluster, other)
        other.call("DELETE", f"/v1/keys/{own['id']}")
        other.close()
        console.says("Your key was revoked or has expired.")
        assert "boss" not in console.text
        assert not console.browser.complaints, console.browser.complaints
    finally:
        console.close()
        shop.close()
