"""Tests searching payments by any detail that a person knows."""

import json
import subprocess

import pytest
import requests

from harness.cluster import Cluster, program
from harness.commands import run


@pytest.fixture
def shop(chaos) -> Cluster:
    """Starts a shop with three payments, of which one has failed."""
    cluster: Cluster = chaos(workers=1, notifiers=0, listen=False)
    paid, failed, other = cluster.sandbox.create_sources(3)
    cluster.enqueue(paid, notify=[], order="A77", metadata={"customer": "Jane Doe"})
    cluster.enqueue(failed, notify=[], metadata={"order": "A78", "customer": "Doe, Jöhn", "email": "j.doe@example.com", "colour": "red"})
    cluster.enqueue(other, notify=[], metadata={"invoice": "2026-0815"})
    cluster.wait_status(paid, "pending")
    cluster.authorise(paid)
    cluster.charge(paid)
    cluster.set_status(failed, "failed")
    cluster.wait_status(other, "pending")
    cluster.payments = {"paid": paid, "failed": failed, "other": other}
    return cluster


def found(cluster: Cluster, *words: str, **env: str) -> set[str]:
    """Returns the names of the payments that `pollerctl list` finds."""
    done = run("pollerctl", "list", *words, "--json", env={"POLLER_URL": cluster.api.url} | env)
    assert done.returncode == 0, done.stderr
    names = {source: name for name, source in cluster.payments.items()}
    lines = [json.loads(line)["source"] for line in done.stdout.splitlines()]
    assert len(lines) == len(set(lines)), "each once"
    return {names[source] for source in lines}


def test_a_payment_is_found_by_any_known_detail(shop: Cluster):
    paid, failed = shop.payments["paid"], shop.payments["failed"]
    for words, wanted in [
        (["a77"], {"paid"}), (["order=A77"], {"paid"}), (["order=A77,A78"], {"paid", "failed"}),
        (["doe"], {"paid", "failed"}), (["customer=Jane Doe"], {"paid"}), (["Jane Doe"], {"paid"}),
        (["jan"], {"paid"}), (["JÖ"], {"failed"}), (["customer=Do*"], {"paid", "failed"}), (["customer=Do"], set()),
        (["10.99"], {"paid", "failed", "other"}), (["€10,99"], {"paid", "failed", "other"}), (["10,99", "EUR"], {"paid", "failed", "other"}),
        (["$10.99"], set()), (["j.doe@exam"], {"failed"}),
        ([paid], {"paid"}), (["payment=paid"], {"paid"}), (["status=failed"], {"failed"}),
        (["amount=10.99"], {"paid", "failed", "other"}), (["amount=1099", "state=open"], {"other"}),
        (["method=ideal", "ended=settled"], {"paid", "failed"}), (["metadata.colour=red"], {"failed"}),
        (["john"], {"failed"}), (["JÖHN DOE"], set()), (["j.doe@example.com"], {"failed"}),
        (["doe", "order!=A77"], {"failed"}), (["created<1h", "account=default", "payment=failed"], {"failed"}),
        (["created>1h"], set()), (["A7"], {"paid", "failed"}), (["order=A7"], set()), (["A8"], set()), (["error=any"], set()), (["account=nobody"], set()),
    ]:
        assert found(shop, *words) == wanted, words
    # The charge ID that Stripe's Dashboard shows.
    [charge] = [event["charge"]["id"] for event in shop.api.events(paid) if event.get("charge")][:1] or [None]
    if charge:
        assert found(shop, charge) == {"paid"}
    answer = shop.api.get("/v1/watches?metadata.order=A78&metadata.customer=john")
    assert [watch["source"] for watch in answer["data"]] == [failed]
    assert answer["looked"] == 1 and not answer["has_more"]


def test_an_invalid_search_is_rejected_with_suggestions(shop: Cluster):
    for words, said in [
        ("oder=A77", "Did you mean `order=A77`?"), ("basket=B42", "Did you mean `metadata.basket=B42`?"),
        ("payment=payed", "it is one of awaiting_customer"),
        ("status=paid", "write payment=paid"), ("created>soon", "an age such as 2d"),
    ]:
        done = run("pollerctl", "list", words, env={"POLLER_URL": shop.api.url})
        assert done.returncode == 64 and "the query" in done.stderr and said in done.stderr, done.stderr
    refused = shop.api.request("GET", "/v1/watches?metadate.order=A77")
    assert refused.status_code == 400 and refused.json()["code"] == "unknown_parameter"
    assert shop.api.request("GET", "/v1/watches?metadata.=A77").status_code == 400


def test_searchable_keys_are_configured_and_reindex_adds_older_watches(shop: Cluster):
    own = shop.role("api-search", "api", {"POLLER_SEARCH": "order,invoice"}).start()
    own.wait_ready()
    url = own.address("api")
    look = {"POLLER_URL": url}
    # A search by field also reads the records. A search by word uses only the index.
    assert found(shop, "metadata.invoice=2026-0815") == {"other"}
    assert found(shop, "2026-0815", **look) == set()
    env = shop.env | {"POLLER_SEARCH": "order,invoice"}
    done = subprocess.run([program("pollerd"), "reindex"], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "3 watches can be found by" in done.stdout, done.stderr
    assert found(shop, "2026-0815", **look) == {"other"}
    assert found(shop, "invoice=2026-0815", **look) == {"other"}
    refused = run("pollerd", "reindex", env={"POLLER_SEARCH": "two,words!"})
    assert refused.returncode != 0 and "is not a searchable key" in refused.stdout + refused.stderr


def test_a_search_without_an_index_reads_a_limited_number_per_page(chaos):
    cluster: Cluster = chaos(workers=0, notifiers=0, listen=False)
    watches = [{"source": f"src_{number}", "metadata": {"colour": "red" if number == 7 else "blue"}}
               for number in range(5000)]
    for start in range(0, 5000, 1000):
        answer = cluster.api.request("POST", "/v1/watches/batch", json=watches[start : start + 1000])
        assert answer.status_code == 200, answer.text
    page = cluster.api.get("/v1/watches?metadata.colour=red")
    looked, seen = page["looked"], [watch["source"] for watch in page["data"]]
    assert looked <= 2000 and page["has_more"]
    while page["has_more"]:
        page = requests.get(
            f"{cluster.api.url}/v1/watches", params={"metadata.colour": "red", "cursor": page["next"]}, timeout=30
        ).json()
        looked += page["looked"]
        seen += [watch["source"] for watch in page["data"]]
    assert seen == ["src_7"] and looked == 5000


def test_search_results_are_counted_before_a_bulk_action(chaos):
    cluster: Cluster = chaos(workers=0, notifiers=0, listen=False)
    watches = [{"source": f"src_{number}", "account": "default", "metadata": {"customer": "acme" if number < 1300 else "other"}}
               for number in range(1500)]
    answer = cluster.api.request("POST", "/v1/watches/batch", json=watches)
    assert answer.status_code == 200, answer.text
    env = {"POLLER_URL": cluster.api.url}
    counted = run("pollerctl", "batch", "cancel", "customer=acme", env=env)
    assert counted.stdout == "1300 watches would be no longer watched; add --yes to do it\n", counted.stderr
    assert cluster.api.watch("src_1")["state"] == "open"
    done = run("pollerctl", "batch", "cancel", "customer=acme", "--yes", "--json", env=env)
    assert json.loads(done.stdout) == {"matched": 1300, "done": 1300}
    again = run("pollerctl", "batch", "cancel", "customer=acme", "--yes", env=env)
    assert again.stdout.startswith("0 of 0"), "completed items are not changed again"
    assert cluster.api.watch("src_1")["state"] == "closed" and cluster.api.watch("src_1400")["state"] == "open"
    polled = run("pollerctl", "batch", "poll", "state=open", "--yes", env=env)
    assert polled.stdout.startswith("200 of 200"), polled.stderr
    assert run("pollerctl", "batch", "cancel", "oder=1", env=env).returncode == 64
    nothing = cluster.api.request("POST", "/v1/watches/batch/cancel", json={"q": "  "})
    assert nothing.status_code == 400 and nothing.json()["field"] == "q"
