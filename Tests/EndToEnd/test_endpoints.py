"""Tests registered endpoints: ordered delivery, signatures, and rotating, disabling and removing them."""

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor

import jsonschema
import pytest
import requests
from harness.accepting_shop import Shop
from harness.cluster import WEBHOOK_SECRET, Cluster, program
from harness.commands import pollerctl, run
from harness.redis_server import free_port
from harness.waiting import wait_until
from standardwebhooks.webhooks import Webhook, WebhookVerificationError
from test_command_line import NOWHERE


@pytest.fixture
def shop():
    shop = Shop()
    yield shop
    shop.close()


def endpoint(cluster: Cluster, *arguments: str, fails: bool = False) -> dict:
    """Runs `pollerctl endpoint …` and returns the JSON that it prints."""
    done = pollerctl(cluster, "endpoint", *arguments, "--json", status=None)
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return json.loads(done.stdout) if done.stdout else {}


def genuine(secret: str, headers: dict, body: bytes) -> bool:
    try:
        Webhook(secret).verify(body, headers)
        return True
    except WebhookVerificationError:
        return False


def settle(cluster: Cluster, shop_name: str) -> str:
    """Takes a payment from its creation to its end, and waits until each status is observed."""
    source = cluster.follow_new(metadata={"shop": shop_name}, notify=[cluster.webhook.url])
    cluster.authorise(source)
    cluster.charge(source)
    return source


WHOLE = ["pending", "chargeable", "consumed"]
# An endpoint without `types` also receives payment events.
WHOLE_TYPES = ["source.pending", "payment.authorised", "source.chargeable", "payment.paid", "source.consumed"]


def inline_events(cluster: Cluster, source: str) -> list[str]:
    return [receipt.type for receipt in cluster.webhook.receipts.of(source)]


def test_an_endpoint_is_created_changed_disabled_and_removed(calm: Cluster, shop: Shop):
    made = endpoint(
        calm, "add", shop.url, "--types", "source.*", "--metadata", "shop=north", "--header", "X-Key=canary-of-the-shop"
    )
    secret, id = made["secret"], made["id"]
    assert secret.startswith("whsec_")

    # Events arrive in order with the endpoint's own secret and header, and without events of other shops.
    elsewhere = settle(calm, "south")
    source = settle(calm, "north")
    wait_until(lambda: shop.told(source) == WHOLE, 60, f"the shop has {WHOLE}, not {shop.told(source)}")
    assert shop.told(elsewhere) == []
    for headers, body in shop.of(source):
        assert genuine(secret, headers, body)
        assert not genuine(WEBHOOK_SECRET, headers, body)
        assert headers["x-key"] == "canary-of-the-shop"
        assert headers["webhook-id"] == json.loads(body)["id"]
    wait_until(lambda: inline_events(calm, source) == WHOLE_TYPES, 60, "the inline endpoint has every event")
    wanted = [r.event for r in calm.webhook.receipts.of(source) if r.type.startswith("source.")]
    assert [json.loads(body)["id"] for _, body in shop.of(source)] == wanted

    # A test event is sent immediately, without the queue.
    assert endpoint(calm, "test", id)["delivered"] is True
    headers, body = shop.requests[-1]
    assert json.loads(body)["type"] == "endpoint.test" and genuine(secret, headers, body)

    # After a rotation, both secrets sign until the overlap ends.
    rotated = endpoint(calm, "rotate", id, "--overlap", "1h")
    assert rotated["secret"] not in ("", secret)
    # The notifiers refresh the endpoints every second, which is shorter than a payment takes.
    wait_until(lambda: rotated_signs(calm, shop, secret, rotated["secret"]), 60, "both secrets sign")

    # A disabled endpoint receives no event, unlike the inline one. After it is enabled, it receives all events in
    # order.
    endpoint(calm, "disable", id, "--reason", "holidays")
    waiting = settle(calm, "north")
    wait_until(lambda: inline_events(calm, waiting) == WHOLE_TYPES, 60, "the inline endpoint has every event")
    assert shop.told(waiting) == []
    checks = {check["name"]: check for check in calm.api.get("/v1/doctor")["checks"]}
    assert checks["endpoints"]["status"] == "warning" and "holidays" in checks["endpoints"]["message"]
    # A disabled endpoint gets no requests, so its responses are not mentioned.
    assert calm.api.get("/v1/stats")["endpoints_down"] == 0 and "take" not in checks["deliveries"]["message"]
    env = {"POLLER_URL": calm.api.url}
    shown = run("pollerctl", "endpoint", "get", id, env=env).stdout
    assert "nothing is sent until it is enabled" in shown and "held until" not in shown, shown
    wait_until(
        lambda: "when enabled" in run("pollerctl", "delivery", "list", "--endpoint", id, env=env).stdout,
        60, "its delivery waits for that",
    )
    endpoint(calm, "enable", id)
    wait_until(lambda: shop.told(waiting) == WHOLE, 60, f"the shop catches up: {shop.told(waiting)}")

    # No list and no log contains a secret, regardless of the commands before.
    shown = json.dumps([endpoint(calm, "get", id), endpoint(calm, "list", "--limit", "1")])
    logs = "".join(path.read_text(errors="replace") for path in calm.logs.iterdir())
    for canary in (secret[6:], rotated["secret"][6:], "canary-of-the-shop"):
        assert canary not in shown and canary not in logs

    endpoint(calm, "remove", id)
    later = settle(calm, "north")
    wait_until(lambda: inline_events(calm, later) == WHOLE_TYPES, 60, "the inline endpoint has every event")
    assert shop.told(later) == []
    endpoint(calm, "get", id, fails=True)


def rotated_signs(cluster: Cluster, shop: Shop, old: str, new: str) -> bool:
    source = settle(cluster, "north")
    wait_until(lambda: len(shop.told(source)) == 3, 60, "the shop has every event")
    headers, body = shop.of(source)[-1]
    return genuine(old, headers, body) and genuine(new, headers, body)


def test_responses_match_openapi_json(calm: Cluster, shop: Shop):
    components = calm.api.get("/openapi.json")["components"]

    def check(name: str, answer: dict) -> dict:
        schema = {"$ref": f"#/components/schemas/{name}", "components": components}
        jsonschema.Draft202012Validator(schema).validate(answer)
        return answer

    plain = check("Endpoint", endpoint(calm, "add", "mailto:a@example.com", "--metadata", "shop=nowhere"))
    wish = {
        "account": "other", "url": shop.url, "types": ["source.*"], "sources": ["src_1"], "metadata": {"shop": "x"},
        "final_only": True, "ordering": "source", "coalesce": True, "retry": ["5s", "1m"], "timeout": "7s",
        "limit": {"rate": 2.5}, "headers": {"X-A": "b"}, "payload": "thin",
    }
    check("NewEndpoint", wish)
    made = check("Endpoint", calm.api.request("POST", "/v1/endpoints", json=wish).json())
    for command in (["rotate"], ["disable"], ["enable"], ["get"]):
        check("Endpoint", endpoint(calm, *command, made["id"]))
    check("EndpointTest", endpoint(calm, "test", made["id"]))
    check("EndpointPage", calm.api.get("/v1/endpoints?limit=2"))
    check("InlineSecret", calm.api.get("/v1/endpoints/inline/secret"))
    missing = calm.api.request("GET", f"/v1/endpoints/{made['id']}?account=default")
    assert check("Problem", missing.json())["code"] == "endpoint_not_found"
    for id in (plain["id"], made["id"]):
        check("Endpoint", endpoint(calm, "remove", id))


def test_regression_16_a_hundred_parallel_creations_with_one_key_create_one_endpoint(calm: Cluster, shop: Shop):
    wish = {"url": shop.url, "metadata": {"shop": "nowhere"}}

    def create(_) -> requests.Response:
        # Separate connections, so that the requests are really concurrent.
        return requests.post(
            calm.api.url + "/v1/endpoints", json=wish, headers={"Idempotency-Key": "one of a hundred"}, timeout=60
        )

    with ThreadPoolExecutor(100) as pool:
        answers = list(pool.map(create, range(100)))
    made, others = [answer for answer in answers if answer.ok], [answer for answer in answers if not answer.ok]
    assert {(answer.status_code, answer.json()["code"]) for answer in others} <= {(409, "idempotency_key_in_use")}
    assert all(1 <= int(answer.headers["Retry-After"]) <= 15 for answer in others)
    answers = [*made, create(None)]
    assert {answer.status_code for answer in answers} == {201} and answers[-1].headers["Idempotent-Replayed"] == "true"
    [id] = {answer.json()["id"] for answer in answers}
    assert len({answer.json()["secret"] for answer in answers}) == 1
    there = [e["id"] for e in calm.api.get("/v1/endpoints?limit=500")["data"] if e["url"] == shop.url]
    assert there == [id]
    endpoint(calm, "remove", id)


def test_regression_17_no_response_or_log_contains_a_secret(calm: Cluster, shop: Shop):
    made = endpoint(calm, "add", shop.url, "--metadata", "shop=nowhere", "--header", "Authorization=Bearer canary-17")
    id = made["id"]
    rotated = endpoint(calm, "rotate", id, "--idempotency-key", "canary-key")
    answers = [
        endpoint(calm, *command, id) for command in (["test"], ["disable"], ["enable"], ["get"], ["change", "--coalesce"])
    ]
    answers.append(calm.api.get("/v1/endpoints?limit=500"))
    refused = calm.api.request("GET", f"/v1/endpoints/{id}/secret")
    assert refused.status_code == 409 and refused.json()["code"] == "secret_not_shown"
    answers.append(refused.json())
    answers.append(endpoint(calm, "remove", id))
    text = json.dumps(answers) + "".join(path.read_text(errors="replace") for path in calm.logs.iterdir())
    for process in (calm.api_process, *calm.notifiers):
        text += process.admin("/metrics").text
    assert len(shop.requests) == 1 and shop.requests[0][0]["authorization"] == "Bearer canary-17"
    for secret in (made["secret"][6:], rotated["secret"][6:], "canary-17"):
        assert secret not in text


def test_testing_an_unknown_endpoint_fails_with_a_reason(calm: Cluster):
    id = endpoint(calm, "add", f"http://127.0.0.1:{free_port()}/hook", "--metadata", "shop=nowhere")["id"]
    result = endpoint(calm, "test", id, fails=True)
    assert result["delivered"] is False and result["class"] == "connect", result
    endpoint(calm, "remove", id)


def test_endpoints_of_the_configuration_file_are_registered(calm: Cluster, shop: Shop, tmp_path):
    secret = "whsec_Y2FuYXJ5LW9mLXRoZS1maWxlLWNhbmFyeS1vZi10aGUtZmlsZQ=="
    file = tmp_path / "poller.yaml"
    text = (
        "endpoints:\n"
        "  orders:\n"
        f"    url: {shop.url}\n"
        "    metadata: {shop: filed}\n"
        "    final_only: true\n"
        "    payload: thin\n"
        "    secret: {env: SHOP_SECRET}\n"
    )
    file.write_text(text)
    env = {"POLLER_CONFIG_FILE": str(file), "SHOP_SECRET": secret}
    checked = subprocess.run(
        [program("pollerd"), "check-config"], env=calm.env | env, capture_output=True, text=True, timeout=60
    )
    assert checked.returncode == 0, checked.stderr
    assert "endpoint orders" in checked.stdout and secret[6:] not in checked.stdout + checked.stderr

    def notifier(name: str) -> None:
        process = calm.role(name, "notifier", env).start().wait_ready()
        # A killed one would leave deliveries of the shared cluster leased for 45 s.
        assert process.terminate() == 0, process.tail()
        calm.processes.remove(process)

    notifier("filed1")
    [made] = [e for e in calm.api.request("GET", "/v1/endpoints").json()["data"] if e["name"] == "orders"]
    assert made["state"] == "enabled" and "secret" not in made
    source = settle(calm, "filed")
    wait_until(lambda: shop.told(source) == ["consumed"], 60, "the shop has the last event")
    [(headers, body)] = shop.of(source)
    assert genuine(secret, headers, body) and "object" not in json.loads(body)
    assert calm.api.request("DELETE", f"/v1/endpoints/{made['id']}").status_code == 409

    file.write_text("endpoints: {}\n")
    notifier("filed2")
    gone = calm.api.request("GET", f"/v1/endpoints/{made['id']}").json()
    assert gone["state"] == "disabled" and "configuration file" in gone["disabled_reason"]
    endpoint(calm, "remove", made["id"])

    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(text.replace("thin", "half").replace("{env: SHOP_SECRET}", "whsec_plain"))
    refused = subprocess.run(
        [program("pollerd"), "check-config", "--config", str(wrong)],
        env=calm.env | env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert refused.returncode == 78 and "endpoints.orders" in refused.stderr, refused.stderr


def test_a_failing_endpoint_is_marked_in_the_list(chaos):
    cluster: Cluster = chaos(workers=1, listen=False)
    fine = endpoint(cluster, "add", cluster.webhook.url + "/fine", "--types", "next_step.changed")["id"]
    lame = endpoint(cluster, "add", NOWHERE + "/hook")["id"]
    source = cluster.enqueue_new(notify=[])
    cluster.sandbox.authorise(source)

    def health(id: str) -> dict:
        listed = cluster.api.get("/v1/endpoints")["data"]
        return next(one for one in listed if one["id"] == id).get("health", {})

    wait_until(lambda: health(lame).get("failing_since"), 60, "the list shows the failure")
    assert not health(fine).get("failing_since")
    shown = run("pollerctl", "endpoint", "list", env={"POLLER_URL": cluster.api.url}).stdout
    states = {line.split()[0]: " ".join(line.split()[1:3]) for line in shown.splitlines()}
    assert states[fine].startswith("enabled")
    assert states[lame].startswith(("failing", "not responding"))
    [failing] = [line for line in shown.splitlines() if line.startswith(lame)]
    assert failing.endswith("\tno response"), failing


def test_an_accepted_test_event_releases_pending_deliveries(chaos, shop: Shop):
    cluster: Cluster = chaos(workers=1, listen=False)
    shop.status = 503
    id = endpoint(cluster, "add", shop.url, "--retry", "1s,1h")["id"]
    source = cluster.enqueue_new(notify=[])
    cluster.sandbox.authorise(source)

    def waits() -> bool:
        deliveries = cluster.api.get(f"/v1/deliveries?endpoint={id}")["data"]
        return any(one["failures"] >= 2 for one in deliveries)

    wait_until(waits, 60, "its next attempt is in an hour")
    shop.status = 204
    shop.requests.clear()
    assert endpoint(cluster, "test", id)["delivered"]
    wait_until(lambda: shop.told(source), 60, "the pending events are delivered")
