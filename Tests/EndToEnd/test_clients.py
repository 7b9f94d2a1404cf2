"""A client that a generator makes of the API's own description does what a shop does."""

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from harness.cluster import Cluster
from harness.containers import ROOT
from harness.waiting import wait_until

pytest.importorskip("httpx")


@pytest.fixture(scope="module")
def poller_client(shared_cluster: Cluster, tmp_path_factory) -> ModuleType:
    """The package, made by the command that users type."""
    folder: Path = tmp_path_factory.mktemp("clients")
    made = subprocess.run(
        [ROOT / "ops/clients", folder / "poller_client"], cwd=ROOT, capture_output=True, text=True,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(folder), "POLLER_URL": shared_cluster.api.url},
    )
    assert made.returncode == 0, made.stdout + made.stderr
    sys.path.insert(0, str(folder))
    yield importlib.import_module("poller_client")
    sys.path.remove(str(folder))


def operation(name: str):
    return importlib.import_module(f"poller_client.api.default.{name}")


def models() -> ModuleType:
    return importlib.import_module("poller_client.models")


def test_every_operation_is_there(poller_client, calm: Cluster):
    description = calm.api.get("/openapi.json")
    told = {route["operationId"] for path in description["paths"].values() for route in path.values() if "operationId" in route}
    folder = Path(poller_client.__file__).parent / "api/default"
    made = {path.stem.replace("_", "").lower() for path in folder.glob("*.py") if path.stem != "__init__"}
    assert {name.lower() for name in told} == made


def test_a_payment_is_watched_read_and_found(poller_client, calm: Cluster):
    client = poller_client.Client(base_url=calm.api.url, raise_on_unexpected_status=True)
    source = calm.sandbox.create_source()
    wish = {"source": source, "policy": "interactive", "metadata": {"order": "C-1"}}
    watch = operation("enqueue").sync(client=client, body=wish)
    assert isinstance(watch, models().Watch) and watch.source == source
    calm.sandbox.authorise(source)

    def is_chargeable() -> bool:
        return operation("get_watch").sync(source, client=client).status == "chargeable"

    wait_until(is_chargeable, 20, "the client sees the change")
    events = operation("watch_events").sync(source, client=client)
    assert "source.chargeable" in [str(event.type_) for event in events.data]
    page = operation("list_watches").sync(client=client, limit=5)
    assert isinstance(page, models().WatchPage) and page.data


def test_a_problem_is_a_type_of_its_own(poller_client, calm: Cluster):
    client = poller_client.Client(base_url=calm.api.url)
    answer = operation("get_watch").sync_detailed("src_nobody_watches", client=client)
    assert answer.status_code == 404
    assert isinstance(answer.parsed, models().Problem) and answer.parsed.code == "watch_not_found"


def test_an_endpoint_is_made_once_however_often_it_is_asked_for(poller_client, calm: Cluster):
    client = poller_client.Client(base_url=calm.api.url, raise_on_unexpected_status=True)
    wish = models().NewEndpoint.from_dict({"url": calm.webhook.url + "/clients", "types": ["order.paid_twice"]})
    first, second = (
        operation("create_endpoint").sync(client=client, body=wish, idempotency_key="clients-1")
        for _ in range(2)
    )
    assert first.id == second.id
    told = operation("get_endpoint").sync(first.id, client=client)
    assert told.types == ["order.paid_twice"]
    operation("remove_endpoint").sync_detailed(first.id, client=client)
