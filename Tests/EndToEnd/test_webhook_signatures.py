"""Tests webhook signatures: by a secret per account, or by a key whose public half the receiver gets."""

import base64
import json
import subprocess
from pathlib import Path

from harness.cluster import WEBHOOK_SECRET, Cluster
from harness.commands import pollerctl
from harness.http_server import HTTPServer, Request
from harness.waiting import wait_until
from harness.webhook_sink import WebhookSink


def test_each_account_has_its_own_secret_for_inline_webhooks(chaos, tmp_path):
    config = tmp_path / "poller.yaml"
    config.write_text("accounts:\n  acme: {stripe_api_key: {env: ACME}}\n")
    env = {"POLLER_CONFIG_FILE": str(config), "ACME": "sk_test_demo"}
    cluster: Cluster = chaos(workers=1, notifiers=1, listen=False, env=env)
    path = "/v1/endpoints/inline/secret"
    assert cluster.api.get(path)["secret"] == WEBHOOK_SECRET
    theirs = cluster.api.get(f"{path}?account=acme")["secret"]
    assert theirs != WEBHOOK_SECRET
    done = pollerctl(cluster, "endpoint", "secret", "--account", "acme")
    assert done.stdout == theirs + "\n"
    sink = WebhookSink(theirs)
    source = cluster.sandbox.create_source()
    assert cluster.api.enqueue(source, account="acme", policy="interactive", notify=[sink.url]).status_code == 201
    wait_until(lambda: sink.receipts.ids(), 60, "the event arrives and verifies")
    assert not sink.receipts.problems
    # A new cluster never signs for acme with the secret shared by all accounts.
    [signature] = sink.receipts.all()[0].headers["webhook-signature"].split(" ")
    assert signature.startswith("v1,")
    sink.close()


# Signatures that a receiver can verify and not create.


def verifies(key: str, message: bytes, signature: str, folder: Path) -> bool:
    """Returns whether OpenSSL, which shares no code with Poller, accepts a signature of a `whpk_` key."""
    # The DER prefix of an Ed25519 public key (RFC 8410 §4).
    der = bytes.fromhex("302a300506032b6570032100") + base64.b64decode(key.removeprefix("whpk_"))
    (folder / "key").write_bytes(der)
    (folder / "message").write_bytes(message)
    (folder / "signature").write_bytes(base64.b64decode(signature.removeprefix("v1a,")))
    command = ["openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", "key", "-rawin"]
    command += ["-in", "message", "-sigfile", "signature"]
    return subprocess.run(command, cwd=folder, capture_output=True, timeout=30).returncode == 0


def test_webhooks_can_be_signed_with_a_private_key_of_the_endpoint(calm: Cluster, tmp_path):
    requests_seen = []

    class Receiver(HTTPServer):
        def answer(self, request: Request, body: bytes) -> tuple:
            requests_seen.append((request.lower_headers(), body))
            return (200,)

    server = Receiver()
    url = f"{server.url}/"
    done = pollerctl(calm, "endpoint", "add", url, "--signing", "ed25519", "--json")
    made = json.loads(done.stdout)
    path = f"/v1/endpoints/{made['id']}"
    first = made["secrets"][0]["public_key"]
    assert first.startswith("whpk_") and "secret" not in made and made["signing"] == "ed25519"
    assert "whsk_" not in done.stdout
    rotated = calm.api.request("POST", f"{path}/rotate", json={"overlap": "1h"}).json()
    keys = [secret["public_key"] for secret in rotated["secrets"]]
    assert len(keys) == 2 and keys[1] == first and "secret" not in rotated
    assert calm.api.request("POST", f"{path}/test").json()["delivered"]
    headers, body = requests_seen[-1]
    message = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    signatures = headers["webhook-signature"].split(" ")
    assert len(signatures) == 2 and all(signature.startswith("v1a,") for signature in signatures)
    for key, signature in zip(keys, signatures, strict=True):
        assert verifies(key, message, signature, tmp_path)
        assert not verifies(key, message + b" ", signature, tmp_path)
    assert not verifies(keys[0], message, signatures[1], tmp_path)
    with_canary = [field for field in ("whsk_", "secret\":\"") if field in calm.api.request("GET", path).text]
    assert not with_canary
    calm.api.request("DELETE", path)
    server.close()
    body = {"url": "mailto:shop@example.com", "signing": "ed25519"}
    refused = calm.api.request("POST", "/v1/endpoints", json=body)
    assert refused.status_code == 422 and refused.json()["field"] == "signing", refused.text
