"""Redis has no memory left: nothing new is accepted, and everything accepted goes on."""

from harness.cluster import Cluster


def test_a_full_redis_refuses_new_watches_and_finishes_those_it_has(chaos):
    cluster: Cluster = chaos()
    first, second = cluster.sandbox.create_sources(2)
    cluster.enqueue(first, policy="interactive")
    cluster.wait_status(first, "pending")
    with cluster.redis.client() as client:
        client.config_set("maxmemory", 1)
        refused = cluster.api.enqueue(second, policy="interactive")
        assert refused.status_code == 503, refused.text
        assert refused.json()["code"] == "store_full"
        assert int(refused.headers["Retry-After"]) > 0
        assert cluster.api.request("GET", f"/v1/watches/{second}").status_code == 404

        for status in ("chargeable", "consumed"):
            cluster.sandbox.set_status(first, status)
            cluster.wait_status(first, status)
        cluster.wait_delivered([first])

        client.config_set("maxmemory", 0)
    cluster.sandbox.set_status(second, "consumed")
    cluster.enqueue(second, policy="interactive")
    cluster.wait_status(second, "consumed")
    cluster.verify([first, second])
