"""Tests that the TypeScript client of OpenAPI Generator compiles strictly, enqueues, lists and waits.

The generator is a Java program in the PyPI package openapi-generator-cli. The test is skipped with a reason if
Java, the TypeScript compiler or Node is missing.
"""

import importlib.util
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from harness.cluster import Cluster

SHOP = """
import { Configuration, WatchesApi, EndpointsApi, WatchState, WatchRequestPolicy, Watch, ResponseError } from "./index";

declare const process: { argv: string[] };
const [url = "", source = "", hook = "", click = ""] = process.argv.slice(2);
const configuration = new Configuration({ basePath: url });
const watches = new WatchesApi(configuration);

async function main() {
  const told: Record<string, unknown> = {};
  const first: Watch = await watches.enqueue({
    newWatch: { source, policy: WatchRequestPolicy.Interactive, order: "OG-1", metadata: { note: "a b" } },
  });
  told.state = first.state === WatchState.Open;
  await fetch(click, { method: "POST", redirect: "manual" });
  let watch = first;
  while (watch.status !== "chargeable") {
    try {
      watch = await watches.getWatch({ source, afterSeq: watch.seq, wait: "10s" });
    } catch (error) {
      if (!(error instanceof ResponseError) || error.response.status !== 304) throw error;
    }
  }
  told.status = watch.status;
  const page = await watches.listWatches({ q: "order=OG-1", limit: 5 });
  told.found = page.data.map((each: Watch) => each.source);
  const endpoints = new EndpointsApi(configuration);
  const made = await endpoints.createEndpoint({ newEndpoint: { url: hook, name: "OG", types: ["order.paid_twice"] } });
  told.name = made.name;
  await endpoints.removeEndpoint({ endpoint: made.id });
  console.log(JSON.stringify(told));
}

main().catch((error) => { console.error(error); throw error; });
"""


@pytest.fixture(scope="module")
def client(shared_cluster: Cluster, tmp_path_factory) -> Path:
    """A folder with the generated client and a shop that uses it, both compiled."""
    missing = [program for program in ("java", "tsc", "node") if not shutil.which(program)]
    package = importlib.util.find_spec("openapi_generator_cli")
    if not package:
        missing.append("package openapi-generator-cli")
    if missing:
        pytest.skip(f"OPENAPI GENERATOR WAS NOT TRIED: no {' and no '.join(missing)} here")
    jar = next(Path(package.submodule_search_locations[0]).glob("*.jar"))
    folder: Path = tmp_path_factory.mktemp("openapi-generator")
    (folder / "openapi.json").write_text(json.dumps(shared_cluster.api.get("/openapi.json")))
    made = subprocess.run(
        ["java", "-jar", jar, "generate", "-g", "typescript-fetch", "-i", folder / "openapi.json", "-o", folder / "client",
         "--additional-properties", "supportsES6=true,stringEnums=true"],
        capture_output=True, text=True, timeout=180,
    )
    assert made.returncode == 0, (made.stdout + made.stderr)[-4000:]
    sources = folder / "client/src" if (folder / "client/src").exists() else folder / "client"
    (sources / "shop.ts").write_text(SHOP)
    compiled = subprocess.run(
        # The generator's own type checks need a newer compiler than Debian has, or this lenient option.
        ["tsc", "--strict", "--noImplicitAny", "false", "--target", "es2022", "--module", "commonjs", "--moduleResolution", "node",
         "--lib", "es2022,dom", "--outDir", folder / "out", "shop.ts"],
        cwd=sources, capture_output=True, text=True, timeout=180,
    )
    assert compiled.returncode == 0, compiled.stdout[-4000:]
    return folder / "out"


def test_a_shop_enqueues_waits_and_lists_with_types(client: Path, calm: Cluster):
    source = calm.sandbox.create_source()
    click = f"{calm.sandbox.url}/redirect/{source}/authorize"
    shop = subprocess.run(
        ["node", "shop.js", calm.api.url, source, calm.webhook.url + "/og", click],
        cwd=client, capture_output=True, text=True, timeout=60,
    )
    assert shop.returncode == 0, shop.stdout + shop.stderr
    assert json.loads(shop.stdout) == {"state": True, "status": "chargeable", "found": [source], "name": "OG"}
