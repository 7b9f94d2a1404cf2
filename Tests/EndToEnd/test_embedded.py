"""`pollerd all --embedded`: the whole system in one command, and gone with it."""

from pathlib import Path

import pytest
import redis
import requests

from harness.cluster import Role, program
from harness.poller_api import PollerAPI
from harness.sandbox import Sandbox
from harness.waiting import wait_until

ENV = {f"POLLER_{name}_BIND": "127.0.0.1:0" for name in ("API", "GATEWAY", "ADMIN")}


@pytest.fixture
def embedded(tmp_path: Path):
    command = [program("pollerd"), "all", "--embedded", "--data-dir", str(tmp_path / "data")]
    role = Role("pollerd", command, tmp_path, ENV).start()
    try:
        yield role.wait_ready()
    finally:
        role.end()


def redis_url(role: Role) -> str:
    return role.line(r"^pollerd redis listening on (redis://\S+)$").group(1)


def test_it_brings_everything_a_first_try_needs(embedded: Role):
    sandbox = Sandbox(embedded.address("sandbox"))
    api = PollerAPI(embedded.address("api"))
    source = sandbox.create_source()
    assert api.enqueue(source, policy="interactive").status_code == 201
    wait_until(lambda: api.watch(source)["status"] == "pending", 15, "polled")
    assert redis.Redis.from_url(redis_url(embedded)).ping()
    # A plain GET reaches the gateway, which wants an upgrade.
    plain = requests.get(embedded.address("gateway") + "/v1/stream", timeout=5)
    assert plain.status_code in (400, 426)


def test_sigterm_ends_all_of_it(embedded: Role):
    url = redis_url(embedded)
    assert embedded.terminate() == 0, embedded.tail()
    assert embedded.leftovers() == []
    with pytest.raises(redis.ConnectionError):
        redis.Redis.from_url(url).ping()


def test_even_an_impatient_end_leaves_nothing_running(embedded: Role):
    embedded.signal(15)
    wait_until(lambda: "draining" in embedded.stderr(), 5, "it says that it drains")
    if embedded.running:
        embedded.signal(15)
    wait_until(lambda: not embedded.running, 10, "ended")
    assert embedded.leftovers() == []


def test_data_outlives_it_where_a_folder_was_named(embedded: Role):
    api = PollerAPI(embedded.address("api"))
    source = Sandbox(embedded.address("sandbox")).create_source()
    assert api.enqueue(source).status_code == 201
    assert embedded.terminate() == 0
    embedded.start().wait_ready()
    assert PollerAPI(embedded.address("api")).watch(source)["source"] == source
