"""Tests how the command line, lists and the console show payment states."""

import re

import pytest
from harness.browser import chromium
from harness.cluster import Cluster
from harness.commands import ctl
from harness.console import Console
from harness.waiting import wait_until


def create(cluster: Cluster, **form) -> str:
    form = {"amount": 1099, "currency": "eur", "redirect[return_url]": "http://127.0.0.1/r"} | form
    form = {name: value for name, value in form.items() if value is not None}
    return cluster.sandbox._stripe("POST", "/v1/sources", form)["id"]


def printed_events(cluster: Cluster, source: str) -> list[list[str]]:
    """Returns the type and change of each event, as `pollerctl events` prints them."""
    return [row.split("\t")[3:5] for row in ctl(cluster, "events", source).splitlines()]


def test_waiting_for_a_payment_ignores_the_status_of_the_source(calm: Cluster):
    source = create(calm, type="sofort", **{"sofort[country]": "DE", "owner[name]": "pending_charge"})
    calm.follow(source, charge=True, notify=[])
    calm.sandbox.authorise(source)
    calm.wait_status(source, "consumed")
    said = ctl(calm, "wait", source, "--until", "paid", "--timeout", "1s", status=3)
    assert said == f"{source}\tconsumed\tprocessing\n"
    # The payment filter of lists finds it.
    lists = [ctl(calm, "list", "--limit", "1000", "--payment", word) for word in ("processing", "paid")]
    assert [source in text for text in lists] == [True, False]
    asked = calm.api.get("/v1/watches?payment=processing&limit=500")["data"]
    assert {watch["payment"]["state"] for watch in asked} == {"processing"}

    charge = calm.api.watch(source)["charge"]["id"]
    calm.sandbox._call("POST", f"/_sandbox/charges/{charge}/status", json={"status": "succeeded"})
    said = ctl(calm, "wait", source, "--until", "paid", "--timeout", "60s")
    assert said == f"{source}\tconsumed\tpaid\n"
    # The payment was authorised earlier in this run. A later state does not undo that.
    ctl(calm, "wait", source, "--until", "payment.authorised", "--timeout", "1s")
    assert printed_events(calm, source) == [
        ["source.pending", "- → pending"],
        ["payment.authorised", "10.99 eur, sofort"], ["source.chargeable", "pending → chargeable"],
        ["payment.processing", "10.99 eur, sofort"], ["charge.pending", "chargeable → chargeable"],
        ["source.consumed", "chargeable → consumed"],
        ["payment.paid", "10.99 eur, sofort"], ["charge.succeeded", "consumed → consumed"],
    ]
    shown = ctl(calm, "get", source)
    assert re.search(r"^payment +paid\nmoney +10.99 eur, sofort\npaid at +20\S+Z$", shown, re.M), shown
    assert "next step" not in shown


def test_the_next_step_is_shown_until_it_is_done(calm: Cluster):
    source = create(calm, type="multibanco", **{"owner[email]": "a@example.com"})
    calm.enqueue(source, notify=[])
    voucher = calm.wait_status(source, "pending")["object"]["multibanco"]
    shown = ctl(calm, "get", source)
    lines = rf"next step +pay_voucher.*\n(link +.+\n)?entity +{voucher['entity']}\nreference +{voucher['reference']}"
    assert re.search(rf"^payment +awaiting_customer\nmoney +10.99 eur, multibanco\n{lines}$", shown, re.M), shown
    [first, second] = printed_events(calm, source)
    assert first[0] == "next_step.changed" and first[1].startswith("pay_voucher"), first
    assert second == ["source.pending", "- → pending"]

    pay = f"/_sandbox/sources/{source}/payments"
    calm.sandbox._call("POST", pay, json={"amount": 400})
    wait_until(lambda: printed_events(calm, source)[2:], 60, "the first part is reported")
    assert printed_events(calm, source)[2] == ["payment.partially_paid", "4.00 of 10.99 eur, multibanco"]
    calm.sandbox._call("POST", pay, json={"amount": 699})
    calm.wait_status(source, "chargeable")
    assert "next step" not in ctl(calm, "get", source)


@pytest.mark.skipif(not chromium(), reason="no chromium on this machine")
def test_the_console_shows_each_change_of_the_payment(calm: Cluster):
    source = calm.follow_new(notify=[])
    console = Console(calm.api.url)
    try:
        console.open(f"#/payments/{source}")
        changes = "[...document.querySelectorAll('.timeline .change p:first-child')].map((one) => one.innerText)"
        waits = "Waiting for the customer to pay €10.99 by iDEAL."
        console.wait(lambda: console.js(changes) == [waits], "the first change is shown")
        calm.authorise(source)
        calm.sandbox.charge(source)
        whole = [waits, "The customer has approved €10.99 by iDEAL.", "Paid: €10.99 has arrived by iDEAL."]
        console.wait(lambda: [one.removesuffix(" Polling has stopped. Refunds and disputes are still reported.") for one in console.js(changes)]
                     == whole, "all that followed", 60)
        assert not console.browser.complaints, console.browser.complaints
    finally:
        console.close()
