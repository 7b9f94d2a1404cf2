"""Tests the files that let phones open links to the return page in an app."""

import json
import subprocess

import pytest
import requests
from harness.cluster import Cluster, program

PRINT = ":".join(["AB"] * 32)
APPLE = '{"applinks": {"details": [{"appIDs": ["ABCDE12345.com.example.shop"], "components": [{"/": "/r/*"}]}]}}'
ANDROID = json.dumps([{
    "relation": ["delegate_permission/common.handle_all_urls"],
    "target": {"namespace": "android_app", "package_name": "com.example.shop", "sha256_cert_fingerprints": [PRINT]},
}])
FILES = {"apple-app-site-association": APPLE, "assetlinks.json": ANDROID}


def get(cluster: Cluster, name: str) -> requests.Response:
    url = f"{cluster.api_process.address('api')}/.well-known/{name}"
    # Apple and Google send no key and follow no redirects.
    return requests.get(url, allow_redirects=False, timeout=60)


def test_configured_files_are_served_byte_for_byte(chaos):
    env = {"POLLER_APPLE_APP_SITE_ASSOCIATION": APPLE, "POLLER_ASSET_LINKS": ANDROID}
    cluster: Cluster = chaos(workers=1, listen=False, env=env)
    for name, text in FILES.items():
        answer = get(cluster, name)
        assert (answer.status_code, answer.headers["Content-Type"], answer.text) == (200, "application/json", text)


@pytest.mark.parametrize("name", FILES)
def test_files_that_are_not_configured_return_404(calm: Cluster, name: str):
    answer = get(calm, name)
    assert answer.status_code == 404 and "Location" not in answer.headers


@pytest.mark.parametrize("variable, text, advice", [
    ("POLLER_APPLE_APP_SITE_ASSOCIATION", "{", "not valid JSON"),
    ("POLLER_APPLE_APP_SITE_ASSOCIATION", '{"applinks":{"details":[{"appIDs":["com.example"]}]}}', "ABCDE12345"),
    ("POLLER_ASSET_LINKS", "[{}]", "relation"),
])
def test_files_that_a_phone_would_ignore_are_rejected_at_startup(variable: str, text: str, advice: str):
    done = subprocess.run(
        [program("pollerd"), "check-config"], env={variable: text, "PATH": "/usr/bin:/bin"}, capture_output=True, text=True,
        timeout=60,
    )
    assert done.returncode == 78 and variable in done.stderr and advice in done.stderr, done.stderr
