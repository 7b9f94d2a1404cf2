"""Tests the API against its OpenAPI description with a fuzzer, using valid and invalid requests."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from harness.cluster import Role, program
from harness.poller_api import PollerAPI
from harness.sandbox import Sandbox
from harness.waiting import wait_until

KEY = "pk_0123456789abcdef0123"
# All checks except one: that the API accepts every request that the description allows. The description states some
# constraints only in prose, such as which fields belong together and which endpoint a cursor belongs to.
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_headers_conformance,response_schema_conformance,negative_data_rejection,"
    "missing_required_header,unsupported_method,allow_header_conformance"
)


def test_responses_and_accepted_requests_match_the_description(tmp_path: Path):
    keys = tmp_path / "keys"
    keys.write_text(KEY + "\n")
    env = {f"POLLER_{name}_BIND": "127.0.0.1:0" for name in ("API", "GATEWAY", "ADMIN")}
    role = Role(
        "pollerd",
        [program("pollerd"), "all", "--embedded"],
        tmp_path,
        env | {"POLLER_API_KEYS_FILE": str(keys)},
    ).start()
    try:
        role.wait_ready()
        known = existing_ids(role)
        run = subprocess.run(
            [sys.executable, "-m", "schemathesis.cli", "run", "openapi.json"]
            + ["--url", role.address("api"), "--header", f"Authorization: Bearer {KEY}"]
            + ["--phases", "coverage,fuzzing", "--checks", CHECKS, "--max-examples", "5"]
            + ["--seed", "1", "--suppress-health-check", "all", "--warnings", "off", "--no-color"]
            + ["--continue-on-failure", "--request-timeout", "30"],
            cwd=described(role, tmp_path),
            env=os.environ
            | {
                "SCHEMATHESIS_HOOKS": "harness.fuzz_hooks",
                "PYTHONPATH": str(Path(__file__).parent),
                "FUZZ_KNOWN": json.dumps(known),
            },
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]
        # Otherwise the fuzzer has checked almost nothing.
        assert int(re.search(r"(\d+) generated", run.stdout).group(1)) > 1000, run.stdout[-2000:]
        # The log line of an unexpected error.
        assert "request failed" not in role.stderr(), role.tail()
    finally:
        role.end()


def existing_ids(role: Role) -> dict[str, str]:
    """Returns the IDs of a watch with an event, its delivery, an endpoint and a lane."""
    api = PollerAPI(role.address("api"), KEY)
    source = Sandbox(role.address("sandbox")).create_source()
    # No process listens on port 9 (discard), so the delivery fails and remains.
    url = "http://127.0.0.1:9/"
    assert api.enqueue(source, policy="interactive", notify=[url]).ok
    endpoint = api.request("POST", "/v1/endpoints", json={"url": url}).json()["id"]

    def delivery() -> str | None:
        found = api.get(f"/v1/deliveries?source={source}")["data"]
        return found[0]["id"] if found else None

    return {
        "source": source,
        "endpoint": endpoint,
        "delivery": wait_until(delivery, 60, "a delivery"),
        "lane": "default/sources",
    }


def described(role: Role, folder: Path) -> Path:
    """Writes the description that the server returns into the fuzzer's working folder."""
    document = PollerAPI(role.address("api")).get("/openapi.json?pages=true")
    (folder / "openapi.json").write_text(json.dumps(document))
    return folder
