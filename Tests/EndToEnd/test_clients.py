"""Tests clients in Python and TypeScript that are generated from the API's OpenAPI description."""

import importlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from harness.cluster import Cluster
from harness.containers import ROOT
from harness.waiting import wait_until

pytest.importorskip("httpx")


def make(target: Path, cluster: Cluster) -> None:
    """Generates a client with the command that users type."""
    made = subprocess.run(
        [ROOT / "ops/clients", target], cwd=ROOT, capture_output=True, text=True,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(target.parent), "POLLER_URL": cluster.api.url},
    )
    assert made.returncode == 0, made.stdout + made.stderr


def operations(cluster: Cluster) -> set[str]:
    description = cluster.api.get("/openapi.json")
    return {route["operationId"] for path in description["paths"].values() for route in path.values()}


@pytest.fixture(scope="module")
def poller_client(shared_cluster: Cluster, tmp_path_factory) -> ModuleType:
    folder: Path = tmp_path_factory.mktemp("clients")
    make(folder / "poller_client", shared_cluster)
    sys.path.insert(0, str(folder))
    yield importlib.import_module("poller_client")
    sys.path.remove(str(folder))


def operation(name: str):
    """Returns the module of an operation, which generators put into a package named after its tag."""
    api = Path(importlib.import_module("poller_client").__file__).parent / "api"
    [found] = api.glob(f"*/{name}.py")
    return importlib.import_module(f"poller_client.api.{found.parent.name}.{name}")


def models() -> ModuleType:
    return importlib.import_module("poller_client.models")


def test_the_client_has_every_operation(poller_client, calm: Cluster):
    folder = Path(poller_client.__file__).parent / "api"
    made = {path.stem.replace("_", "").lower() for path in folder.glob("*/*.py") if path.stem != "__init__"}
    assert {name.lower() for name in operations(calm)} == made


def test_a_payment_is_watched_read_and_found(poller_client, calm: Cluster):
    client = poller_client.Client(base_url=calm.api.url, raise_on_unexpected_status=True)
    source = calm.sandbox.create_source()
    wish = models().NewWatch(
        source=source, policy=models().WatchRequestPolicy.INTERACTIVE, order="C-1",
        metadata=models().NewWatch.from_dict({"metadata": {"customer": "Jane"}}).metadata,
    )
    watch = operation("enqueue").sync(client=client, body=wish)
    assert isinstance(watch, models().Watch) and watch.source == source
    calm.sandbox.authorise(source)

    def is_chargeable() -> bool:
        nonlocal watch
        # The server waits for a change. `None` is a 304: there was none.
        watch = operation("get_watch").sync(source, client=client, after_seq=watch.seq, wait="5s") or watch
        return watch.status == "chargeable"

    wait_until(is_chargeable, 60, "the client sees the change")
    assert watch.state is models().WatchState.OPEN and watch.order == "C-1"
    events = operation("watch_events").sync(source, client=client)
    assert "source.chargeable" in [str(event.type_) for event in events.data]
    page = operation("list_watches").sync(client=client, limit=5)
    assert isinstance(page, models().WatchPage) and page.data


def test_a_problem_response_has_its_own_type(poller_client, calm: Cluster):
    client = poller_client.Client(base_url=calm.api.url)
    answer = operation("get_watch").sync_detailed("src_nobody_watches", client=client)
    assert answer.status_code == 404
    assert isinstance(answer.parsed, models().Problem) and answer.parsed.code == "watch_not_found"


def test_an_endpoint_is_created_once_despite_repeated_requests(poller_client, calm: Cluster):
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


# The TypeScript client.

SHOP = """
import { operations, Poller, PollerError, Watch } from "./poller.js";

const [url = "", source = "", hook = "", click = ""] = process.argv.slice(2);
const poller = new Poller({ url });
const methods = poller as unknown as Record<string, unknown>;
const told: Record<string, unknown> = { missing: operations.filter((name) => typeof methods[name] !== "function") };

// A watch, whatever becomes of the first answer.
const wish = { source, policy: "interactive", metadata: { order: "C-2", note: "a b+c" } } as const;
const watched = await poller.enqueue(wish, { idempotencyKey: "typescript-1" });
const again = await poller.enqueue(wish, { idempotencyKey: "typescript-1" });
told.enqueued = [watched.status, watched.replayed, again.status, again.replayed];
told.same = JSON.stringify(again.value) === JSON.stringify(watched.value);
try {
  await poller.enqueue({ source: source + "x" }, { idempotencyKey: "typescript-1" });
} catch (error) {
  if (error instanceof PollerError) told.reused = error.problem?.code;
}

// What happens, as soon as it does.
await fetch(click, { method: "POST", redirect: "manual" });
let watch: Watch = watched.value;
while (watch.status !== "chargeable") {
  const news = await poller.getWatch(source, { after_seq: watch.seq, wait: "10s" });
  if (news.value !== null) watch = news.value;
}
told.status = watch.status;
const events = await poller.watchEvents(source);
told.events = events.value.data.map((event) => event.type);
const found = await poller.listWatches({ q: "order=C-2 status=chargeable", limit: 5 });
told.found = found.value.data.map((each) => each.source);
const noted = await poller.listWatches({ q: "metadata.order=C-2" });
told.noted = noted.value.data.map((each) => each.metadata["note"]);

// An endpoint, made once, and edited by two.
const fresh = { url: hook, types: ["order.paid_twice"] };
const made = await poller.createEndpoint(fresh, { idempotencyKey: "typescript-2" });
const repeated = await poller.createEndpoint(fresh, { idempotencyKey: "typescript-2" });
told.endpoint = made.value.id === repeated.value.id && made.value.secret === repeated.value.secret && repeated.replayed;
const seen = await poller.getEndpoint(made.value.id);
const unchanged = await poller.getEndpoint(made.value.id, { ifNoneMatch: seen.etag ?? "" });
told.unchanged = [unchanged.status, unchanged.value];
const edit = { ifMatch: seen.etag ?? "" };
told.first = (await poller.changeEndpoint(made.value.id, { coalesce: true }, edit)).value.coalesce;
try {
  await poller.changeEndpoint(made.value.id, { final_only: true }, edit);
} catch (error) {
  if (error instanceof PollerError) told.second = [error.status, error.problem?.code];
}
await poller.removeEndpoint(made.value.id);

try {
  await poller.getWatch("src_nobody_watches");
} catch (error) {
  if (error instanceof PollerError) told.problem = [error.status, error.problem?.code];
}
console.log(JSON.stringify(told));
"""

STRICT = ["--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes", "--noUnusedLocals"]
ES = ["--target", "es2022", "--module", "es2022", "--moduleResolution", "node", "--lib", "es2022,dom"]


def tsc(folder: Path, *options: str) -> subprocess.CompletedProcess:
    # The folder has no type definitions for Node.
    (folder / "node.d.ts").write_text("declare const process: { argv: string[] };\n")
    return subprocess.run(
        ["tsc", *STRICT, *ES, *options, "shop.ts", "node.d.ts"], cwd=folder, capture_output=True, text=True, timeout=120
    )


@pytest.fixture(scope="module")
def typescript(shared_cluster: Cluster, tmp_path_factory) -> Path:
    """A folder with the client and a shop that uses it."""
    missing = [program for program in ("tsc", "node") if not shutil.which(program)]
    if missing:
        pytest.skip(f"THE TYPESCRIPT CLIENT WAS NOT TRIED: no {' and no '.join(missing)} here; install node-typescript")
    folder: Path = tmp_path_factory.mktemp("typescript")
    make(folder / "poller.ts", shared_cluster)
    (folder / "shop.ts").write_text(SHOP)
    (folder / "package.json").write_text('{"type": "module"}')
    return folder


def test_a_shop_in_typescript_does_the_same(typescript: Path, calm: Cluster):
    checked = tsc(typescript)
    assert checked.returncode == 0, checked.stdout
    listed = re.search(r"export const operations = \[(.*?)\] as const", (typescript / "poller.ts").read_text(), re.DOTALL)
    assert set(re.findall(r'"(\w+)"', listed[1])) == operations(calm)
    source = calm.sandbox.create_source()
    click = f"{calm.sandbox.url}/redirect/{source}/authorize"
    shop = subprocess.run(
        ["node", "shop.js", calm.api.url, source, calm.webhook.url + "/typescript", click],
        cwd=typescript, capture_output=True, text=True, timeout=60,
    )
    assert shop.returncode == 0, shop.stdout + shop.stderr
    told = json.loads(shop.stdout)
    events = told.pop("events")
    assert "source.chargeable" in events
    assert told == {
        "missing": [], "enqueued": [201, False, 201, True], "same": True, "reused": "idempotency_key_reused",
        "status": "chargeable", "found": [source], "noted": ["a b+c"], "endpoint": True, "unchanged": [304, None],
        "first": True, "second": [412, "precondition_failed"], "problem": [404, "watch_not_found"],
    }


def test_typescript_rejects_fields_missing_from_the_description(typescript: Path):
    shop = (typescript / "shop.ts").read_text()
    wrong = shop
    for right, other in (
        ('types: ["order.paid_twice"]', "types: 7"), ("= watched.value;", "= watched.values;"),
        ('{ q: "order', '{ query: "order'), ("news.value !== null", "true"),
    ):
        assert wrong.count(right) == 1
        wrong = wrong.replace(right, other)
    changed = {n for n, (one, two) in enumerate(zip(shop.splitlines(), wrong.splitlines(), strict=True), 1) if one != two}
    (typescript / "shop.ts").write_text(wrong)
    try:
        found = {int(line) for line in re.findall(r"^shop\.ts\((\d+),", tsc(typescript, "--noEmit").stdout, re.MULTILINE)}
    finally:
        (typescript / "shop.ts").write_text(shop)
    # The compiler reports the endpoint's wrong type where the object is sent.
    assert len(changed) == 4 and len(found) >= 4 and len(changed & found) >= 3, (changed, found)
