"""Tests that no customer's URL reaches Poller's own listeners or its Redis, even if the address range is allowed."""

import pytest
from harness.cluster import Cluster, Role, program
from harness.moody_receiver import MoodyReceiver
from harness.poller_api import PollerAPI

ANY_PORT = {f"POLLER_{name}_BIND": "127.0.0.1:0" for name in ("API", "GATEWAY", "ADMIN")}
# Names of addresses in 127.0.0.0/8, which is allowed here and belongs to this machine.
SPELLINGS = ("127.0.0.1", "localhost", "127.1")


def verdict(api: PollerAPI, url: str) -> str:
    """Returns the error class of an attempt to deliver to an endpoint with this URL."""
    made = api.request("POST", "/v1/endpoints", json={"url": url})
    assert made.status_code == 201, made.text
    endpoint = f"/v1/endpoints/{made.json()['id']}"
    tried = api.request("POST", f"{endpoint}/test")
    assert tried.status_code == 200, tried.text
    api.request("DELETE", endpoint)
    return tried.json()["class"]


@pytest.fixture
def receiver():
    receiver = MoodyReceiver()
    yield receiver
    receiver.close()


@pytest.mark.parametrize("bind", ["127.0.0.1:0", "localhost:0", "0.0.0.0:0"])
def test_no_webhook_reaches_the_process_that_sends_it(tmp_path, receiver: MoodyReceiver, bind: str):
    command = [program("pollerd"), "all", "--embedded"]
    env = ANY_PORT | {"POLLER_ADMIN_BIND": bind, "POLLER_ADMIN_PUBLIC": "true"}
    role = Role("pollerd", command, tmp_path, env).start()
    try:
        api = PollerAPI(role.wait_ready().address("api"))
        urls = {name: role.address(name) for name in ("api", "gateway", "admin", "sandbox")}
        urls["redis"] = role.line(r"^pollerd redis listening on (redis://\S+)$").group(1)
        for name, url in urls.items():
            port = url.rsplit(":", 1)[1].split("/")[0]
            for host in (*SPELLINGS, "127.9.9.9") if "0.0.0.0" in url else SPELLINGS:
                seen = verdict(api, f"http://{host}:{port}/metrics")
                assert seen == "blocked", f"{name} at {host}:{port}: {seen}"
        # A receiver on another port of the same machine is still reached.
        assert verdict(api, receiver.url) == "ok" and len(receiver.requests) == 1
    finally:
        role.end()


@pytest.mark.parametrize("store", ["standalone", "sentinel", "cluster"])
def test_no_webhook_reaches_the_servers_of_the_store(chaos, receiver: MoodyReceiver, store: str):
    cluster: Cluster = chaos(workers=0, notifiers=0, listen=False, store=store)
    ports = [server.port for server in getattr(cluster.redis, "servers", [cluster.redis])]
    if store == "sentinel":
        # The process connects to the sentinels and to their master. It does not know the replicas.
        ports = [cluster.redis.master().port, *(port for port, _ in cluster.redis.sentinels)]
    for port in ports:
        assert verdict(cluster.api, f"http://127.0.0.1:{port}/") == "blocked", port
    assert verdict(cluster.api, receiver.url) == "ok"
