"""Tests the commands that answer everyday questions of support and operators."""

import csv
import io
import json
from collections.abc import Iterator

import pytest

from harness.cluster import Cluster
from harness.commands import run
from harness.waiting import wait_until
from test_tables import on_a_terminal


@pytest.fixture(scope="module")
def shop() -> Iterator[Cluster]:
    """Starts a shop with a paid payment, an open one, and a receiver that is down."""
    # A payment is late three seconds after the lease, which a busy worker may be.
    env = {"POLLER_LEASE": "30s"}
    with Cluster(workers=1, notifiers=1, listen=False, env=env) as cluster:
        yield filled(cluster)


def filled(cluster: Cluster) -> Cluster:
    paid, waiting = cluster.sandbox.create_sources(2)
    cluster.enqueue(paid, order="Q-1001", metadata={"customer": "Müller, Anna", "basket": "B42"})
    cluster.enqueue(waiting, notify=["http://127.0.0.1:9/"], metadata={"customer": "=Evil"})
    cluster.wait_status(paid, "pending")
    cluster.authorise(paid)
    cluster.charge(paid)
    cluster.wait_status(waiting, "pending")
    cluster.questions = {"paid": paid, "waiting": waiting}
    return cluster


def ctl(shop: Cluster, *arguments: str, status: int = 0):
    done = run("pollerctl", *arguments, env={"POLLER_URL": shop.api.url})
    assert done.returncode == status, f"{done.returncode} {done.stdout} {done.stderr}"
    return done


def test_a_payment_is_found_by_order_metadata_name_and_amount(shop: Cluster):
    paid = shop.questions["paid"]
    for words in (["Q-1001"], ["order=Q-1001"], ["Müll"], ["anna"], ["metadata.basket=B42"], ["€10.99", "order=Q-1001"]):
        found = ctl(shop, "list", *words).stdout.splitlines()
        assert [line.split("\t")[0] for line in found] == [paid], words


def test_the_money_that_is_authorised_and_not_captured_is_counted_and_summed(shop: Cluster):
    summary = json.loads(ctl(shop, "list", "payment=paid", "order=Q-1001", "--summary", "--json").stdout)
    assert summary == {"count": 1, "capped": False, "sums": [{"currency": "eur", "amount": 1099}]}
    nothing = ctl(shop, "list", "payment=authorised", "account=nobody", "--summary").stdout
    assert nothing.split() == ["payments", "0"]


def test_the_timeline_of_a_payment_includes_its_deliveries(shop: Cluster):
    story = ctl(shop, "timeline", shop.questions["paid"]).stdout
    assert "€10.99" in story or "10.99" in story, story


def test_a_failing_receiver_is_listed_with_its_error(shop: Cluster):
    waiting = shop.questions["waiting"]
    def failing() -> bool:
        shown = ctl(shop, "delivery", "list", "--source", waiting).stdout
        return "failing" in shown and "refused" in shown.lower()
    wait_until(failing, 60, "the delivery fails")


def test_a_list_is_exported_for_spreadsheets(shop: Cluster):
    text = ctl(shop, "list", "--csv").stdout
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    by_source = {row["source"]: row for row in rows}
    paid = by_source[shop.questions["paid"]]
    assert (paid["amount"], paid["currency"], paid["payment"]) == ("10.99", "EUR", "paid")
    assert paid["metadata.customer"] == "Müller, Anna" and paid["order"] == "Q-1001"
    assert by_source[shop.questions["waiting"]]["metadata.customer"] == "'=Evil"
    sent = shop.api.request("GET", "/v1/watches?format=csv")
    assert sent.headers["content-type"].startswith("text/csv")
    assert {row["source"] for row in csv.DictReader(io.StringIO(sent.text, newline=""))} >= set(by_source)


def test_lanes_are_paused_and_resumed_and_the_author_is_recorded(shop: Cluster):
    lane = ctl(shop, "lane", "list", "--json").stdout.splitlines()
    name = next(json.loads(line)["id"] for line in lane if json.loads(line)["id"].startswith("default/"))
    assert ctl(shop, "lane", "pause", name).stdout
    assert ctl(shop, "lane", "resume", name).stdout
    assert "pauseLane" in ctl(shop, "audit").stdout


@pytest.mark.parametrize("arguments", [
    ["late"], ["late", "--over", "1h", "--json"], ["mail", "list"], ["dispute", "due"], ["order", "list", "--paid-twice"],
])
def test_an_empty_list_prints_nothing(shop: Cluster, arguments: list[str]):
    done = ctl(shop, *arguments)
    assert done.stdout == "" and done.stderr == "", done


def test_the_text_of_a_delivery_is_shown(shop: Cluster):
    delivery = ctl(shop, "delivery", "list", "--source", shop.questions["waiting"], "--json").stdout.splitlines()[0]
    shown = ctl(shop, "delivery", "message", json.loads(delivery)["id"]).stdout
    assert "source.pending" in shown and shop.questions["waiting"] in shown, shown


def test_an_empty_list_of_endpoints_explains_how_to_create_one(shop: Cluster):
    done = on_a_terminal(shop, 100, "endpoint", "list", "--account", "nobody", with_errors=True)
    assert "No endpoints of account nobody yet: pollerctl endpoint add URL --account nobody" in "\n".join(done)


def test_help_names_every_policy(shop: Cluster):
    for command in (["enqueue"], ["source", "create"]):
        text = " ".join(ctl(shop, *command, "--help").stdout.split())
        assert "auto (the default)" in text, text
