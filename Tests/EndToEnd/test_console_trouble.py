"""Tests that the console shows problems and never claims that all is well meanwhile."""

import re
import time

import pytest
from harness.browser import chromium
from harness.cluster import Cluster
from harness.console import Console
from harness.console_shop import Shop
from harness.waiting import wait_until

pytestmark = pytest.mark.skipif(not chromium(), reason="no chromium on this machine")

MANY = 10_000


def verdict(console: Console) -> str:
    return console.js("document.querySelector('#verdict')?.innerText ?? ''")


def test_the_console_reports_no_problem_only_while_there_is_none(chaos):
    # Without an unsubscribe link in mails and without a master key, the doctor would warn.
    env = {"POLLER_PUBLIC_URL": "https://pay.example.com", "POLLER_MASTER_KEY": bytes(range(32)).hex()}
    cluster: Cluster = chaos(workers=1, notifiers=1, listen=False, env=env)
    shop = Shop(cluster)
    console = Console(cluster.api.url)
    try:
        console.open()
        console.wait(lambda: "All systems operational" in verdict(console), f"all is well, not {verdict(console)}")
        endpoint = shop.endpoint("gone", "/gone", types=["payment.paid"])
        shop.pays("WELL-1", 900)
        wait_until(lambda: shop.call("GET", f"/v1/endpoints/{endpoint}")["state"] == "disabled", 60, "it is disabled")
        console.wait(lambda: "1 endpoint is disabled" in verdict(console), "the disabled endpoint")
        assert "All systems operational" not in verdict(console)
        shop.call("DELETE", f"/v1/endpoints/{endpoint}")
        down = shop.endpoint("down", "/down", types=["payment.paid"])
        shop.pays("WELL-2", 900)
        console.wait(lambda: "will be retried" in verdict(console) or "is failing" in verdict(console), "the failing endpoint")
        assert "All systems operational" not in verdict(console)
        shop.call("DELETE", f"/v1/endpoints/{down}")
        assert not console.browser.complaints, console.browser.complaints
    finally:
        console.close()
        shop.close()


def test_a_missing_worker_notifier_or_redis_is_shown_until_it_returns(chaos):
    cluster: Cluster = chaos(workers=1, notifiers=1, listen=False, fsync="always")
    shop = Shop(cluster)
    shop.watches("ALONE-1", policy="patient")
    console = Console(cluster.api.url)
    try:
        console.open()
        cluster.notifiers[0].terminate()
        console.wait(lambda: "No notifier is running" in verdict(console), "no notifier")
        cluster.workers[0].terminate()
        console.wait(lambda: "No worker is running: 1 payment is not polled" in verdict(console), "no worker")
        console.press("g", "l")
        console.wait(lambda: "No worker" in console.text, "nothing flows without a worker")
        console.press("g", "r")
        console.says("No worker and no notifier is running")
        console.says("Ended in the last 24 hours")
        console.says("Shut down")
        console.press("g", "o")
        console.wait(lambda: console.js("document.querySelector('#hearing').innerText") == "Live", "live")
        # The waiting request for changes reports the outage, and not the next refresh of the page, which is not due.
        with console.at_rest():
            cluster.redis.processes[0].kill9()
            console.wait(lambda: "Interrupted" in console.js("document.querySelector('#hearing').innerText"), "not live")
        console.says("The API cannot reach Redis")
        assert console.js("document.querySelector('#main h1').innerText") == "Redis cannot be reached"
        assert "All systems operational" not in console.text
        # The status badge shows the same state as the page.
        console.wait(lambda: "Interrupted" in console.js("document.querySelector('#hearing').innerText"), "it is not live")
        # A failed read takes seconds and must not slow the page's refresh.
        time.sleep(12)
        cluster.redis.start()
        console.wait(lambda: "Redis cannot be reached" not in console.text, "the recovery of Redis is shown", 30)
        cluster.role("worker9", "worker").start().wait_ready()
        cluster.role("notifier9", "notifier").start().wait_ready()
        console.wait(lambda: verdict(console) and "is running" not in verdict(console), "all processes are listed again")
        console.wait(lambda: console.js("document.querySelector('#hearing').innerText") == "Live", "live again")
        cluster.api_process.kill9()
        console.wait(lambda: "The server does not answer" in console.text, "no server")
    finally:
        console.close()
        shop.close()


def test_problems_are_listed_once_each_by_severity(chaos):
    cluster: Cluster = chaos(workers=1, notifiers=1, listen=False)
    shop = Shop(cluster)
    console = Console(cluster.api.url)
    lines = "[...document.querySelectorAll('#verdict li')].map((one) => one.innerText)"

    def stands(*beginnings: str) -> bool:
        """Returns whether the list has these lines in this order, each once."""
        found = console.js(lines)
        places = [[at for at, line in enumerate(found) if line.startswith(one)] for one in beginnings]
        return all(len(one) == 1 for one in places) and places == sorted(places)

    try:
        endpoint = shop.endpoint("gone", "/gone", types=["payment.paid"])
        shop.pays("FIRST-1", 900)
        wait_until(lambda: shop.call("GET", f"/v1/endpoints/{endpoint}")["state"] == "disabled", 60, "it is disabled")
        source = shop.watches("FIRST-2")
        cluster.sandbox.fault("status", "/v1/", status=401)
        shop.until(source, lambda watch: "401" in (watch.get("last_error") or ""))
        console.open()
        key = "The upstream refuses the key of account default (401)"
        console.wait(lambda: stands(key, "1 endpoint is disabled"), "each in its place")
        cluster.notifiers[0].terminate()
        console.wait(lambda: stands(key, "No notifier is running", "1 endpoint is disabled"), "each in its place")
        assert console.js(lines)[0].startswith(key)
        # Neither the lane nor the doctor's check of the key repeats the problem.
        assert not [line for line in console.js(lines) if line.startswith(("Lane default/sources", "Stripe api key", "Credentials"))]
        assert not console.browser.complaints, console.browser.complaints
    finally:
        console.close()
        shop.close()


def test_one_slow_read_does_not_slow_the_updates(chaos):
    cluster: Cluster = chaos(workers=1, notifiers=1, listen=False)
    console = Console(cluster.api.url)
    slow = """(() => {
        const fetches = window.fetch;
        window.slow = 0;
        window.fetch = async (...what) => {
            const answer = await fetches(...what);
            if (!window.slow++) await new Promise((done) => setTimeout(done, 12000));
            return answer;
        };
    })()"""
    try:
        console.open()
        console.wait(lambda: "is running" not in verdict(console), "all are alive")
        # Two reads, so that the page has measured fast ones.
        time.sleep(7)
        console.js(slow)
        console.wait(lambda: console.js("window.slow"), "one read is slow")
        cluster.workers[0].terminate()
        # A page that counts as slow pauses for ten times as long as its read.
        console.wait(lambda: "No worker is running" in verdict(console), "no worker", 80)
    finally:
        console.close()


def test_an_unread_status_is_not_shown_as_the_customer_s(chaos):
    cluster: Cluster = chaos(workers=1, notifiers=1, listen=False)
    shop = Shop(cluster)
    console = Console(cluster.api.url)
    try:
        # Mails are sent about changes, so a waiting payment has none.
        source = shop.watches("UNSEEN-1")
        console.open(f"#/payments/{source}")
        console.says("No events yet")
        assert "Notified" not in console.js("[...document.querySelectorAll('.aside .badge')].map((one) => one.innerText).join()")
        console.says("The customer has not paid yet.")

        cluster.sandbox.fault("status", f"/v1/sources/{source}", status=403)
        shop.until(source, lambda watch: watch.get("last_error"))
        console.open(f"#/payments/{source}")
        console.says("As of ")
        console.says("This may have changed since, because the last poll failed: Credentials refused:")
        console.open("#/payments")
        console.says("failed")

        blind = cluster.sandbox.create_source()
        cluster.sandbox.fault("status", f"/v1/sources/{blind}", status=403)
        cluster.enqueue(blind, order="UNSEEN-2", policy="interactive", timeout="5s", notify=[])
        shop.until(blind, lambda watch: watch.get("closed_reason") == "expired")
        told = "We could not find out whether it was paid: every poll was refused ("
        [closed] = [entry for entry in shop.call("GET", f"/v1/watches/{blind}/timeline")["data"] if told in entry["text"]]
        assert closed["tone"] == "bad" and "tried again" not in closed["text"]
        console.open(f"#/payments/{blind}")
        console.says(told)
        assert "did not pay" not in console.text and "Poll now" in console.buttons()
        # An order number in place of a payment's ID.
        console.open("#/payments/UNSEEN-1")
        console.says("UNSEEN-1 is an order")
        assert not console.browser.complaints, console.browser.complaints
    finally:
        console.close()
        shop.close()


@pytest.mark.long
def test_a_list_of_ten_thousand_payments_stays_fast(chaos):
    cluster: Cluster = chaos(workers=0, notifiers=0, listen=False)
    shop = Shop(cluster)
    for start in range(0, MANY, 1000):
        lines = [{"source": f"src_many{n:05d}", "order": f"M-{n:05d}", "metadata": {"customer": f"Customer {n}"}}
                 for n in range(start, start + 1000)]
        answer = cluster.api.request("POST", "/v1/watches/batch", json=lines, timeout=60)
        assert answer.ok, answer.text
    console = Console(cluster.api.url)
    try:
        for page, text in [("#/payments", "Next page"), ("#/", "10,000"), ("#/payments?q=M-07777", "M-07777")]:
            began = time.monotonic()
            console.open(page)
            console.says(text)
            assert time.monotonic() - began < 10, f"{page} took {time.monotonic() - began:.1f} s"
        console.open("#/payments")
        rows = "[...document.querySelectorAll('#main a.row')].map((one) => one.innerText)"
        first = console.js(rows)
        assert len(first) == 50
        console.click("Next page")
        console.wait(lambda: len(console.js(rows)) == 50 and not set(console.js(rows)) & set(first), "others follow")
        console.click("First page")
        console.wait(lambda: console.js(rows) == first, "the first again")
        console.open("#/payments?q=state%3Dopen")
        console.click("Bulk action …")
        console.answer("Count")
        console.answer("Poll about 10,000 payments")
        console.answer("Stop")
        console.wait(lambda: "Stopped. " in console.whole, "it stops")
        done = int(re.search(r"Stopped\. ([\d,]+) payments? scheduled for a poll", console.whole)[1].replace(",", ""))
        assert done < MANY, "some are left"
        assert not console.browser.complaints, console.browser.complaints
    finally:
        console.close()
        shop.close()
