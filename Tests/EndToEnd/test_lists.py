"""Tests that lists show the newest items first."""

import time

from harness.cluster import Cluster
from harness.commands import pollerctl, printed
from harness.waiting import wait_until


def ctl(cluster: Cluster, *arguments: str) -> list[dict]:
    return printed(pollerctl(cluster, *arguments, "--json"))


def pages(cluster: Cluster, path: str, limit: int) -> list[dict]:
    found, cursor = [], ""
    while True:
        page = cluster.api.get(f"{path}{'&' if '?' in path else '?'}limit={limit}{cursor}")
        found += page["data"]
        if not page["next"]:
            return found
        cursor = f"&cursor={page['next']}"


def make(cluster: Cluster, count: int, account: str | None = None) -> list[str]:
    """Creates and watches sources one after the other, with a recipient for each."""
    sources = []
    for _ in range(count):
        sources.append(cluster.sandbox.create_source(type="ideal"))
        cluster.enqueue(sources[-1], metadata={"customer": f"list-{account}"}, notify=[cluster.webhook.url])
        # Polls create the deliveries, and on a busy machine they end in any order.
        path = f"/v1/deliveries?source={sources[-1]}"
        wait_until(lambda path=path: cluster.api.get(path)["data"], 60, "it has a delivery")
    return sources


def test_the_newest_items_are_listed_first_by_api_and_command_line(calm: Cluster):
    sources = make(calm, 12, "newest")
    for source in sources[1::4]:
        calm.api.request("DELETE", f"/v1/watches/{source}")
    newest = sources[::-1]
    for path, wanted in [
        ("/v1/watches", newest),
        ("/v1/watches?state=open", [source for source in newest if source not in sources[1::4]]),
        ("/v1/watches?state=closed", sources[1::4][::-1]),
        ("/v1/watches?account=default&kind=source", newest),
        ("/v1/watches?q=list-newest", newest),
    ]:
        for limit in (5, 100):
            listed = pages(calm, path, limit)
            mine = [watch["source"] for watch in listed if watch["source"] in sources]
            assert mine == wanted, (path, limit)
            stamps = [watch["created_at"] for watch in listed]
            assert stamps == sorted(stamps, reverse=True), (path, limit)
    assert [watch["source"] for watch in ctl(calm, "list", "--limit", "12")] == newest

    def delivered():
        mine = [row["source"] for row in pages(calm, "/v1/deliveries", 100) if row["source"] in sources]
        return len(mine) == len(sources) and mine

    assert wait_until(delivered, 60, "each has a delivery") == newest
    listed = [row["source"] for row in ctl(calm, "delivery", "list", "--limit", "12")]
    assert listed == newest

    for number in range(4):
        wish = {"url": f"https://list-{number}.example/hook"}
        assert calm.api.request("POST", "/v1/endpoints", json=wish).status_code == 201
        time.sleep(0.005)
    urls = [f"https://list-{number}.example/hook" for number in (3, 2, 1, 0)]
    assert [row["url"] for row in pages(calm, "/v1/endpoints", 3)][:4] == urls
    made = [row for row in ctl(calm, "endpoint", "list") if row["url"] in urls]
    assert [row["url"] for row in made] == urls
    for row in made:
        calm.api.request("DELETE", f"/v1/endpoints/{row['id']}")


def test_a_cursor_stays_valid_while_watches_are_added(calm: Cluster):
    sources = make(calm, 6)
    first = calm.api.get("/v1/watches?limit=2")
    assert [watch["source"] for watch in first["data"]] == sources[:3:-1]
    make(calm, 3)
    rest = calm.api.get(f"/v1/watches?limit=4&cursor={first['next']}")
    assert [watch["source"] for watch in rest["data"]] == sources[3::-1]


def test_keys_are_listed_newest_first(chaos):
    cluster = chaos(workers=1)
    made = [ctl(cluster, "key", "create", "--role", "admin", "--name", "first")[0]]
    key = {"Authorization": f"Bearer {made[0]['key']}"}
    for name in ("second", "third"):
        answer = cluster.api.request("POST", "/v1/keys", json={"role": "viewer", "name": name}, headers=key)
        assert answer.status_code == 201, answer.text
        time.sleep(0.005)
    listed = cluster.api.request("GET", "/v1/keys", headers=key).json()["data"]
    assert [row["name"] for row in listed] == ["third", "second", "first"]
