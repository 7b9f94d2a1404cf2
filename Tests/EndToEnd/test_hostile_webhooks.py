"""Tests webhooks of a hostile sender with a valid secret: other accounts, forged debits, expensive bodies."""

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests
from harness.cluster import Cluster, program
from harness.signed_webhook import signed_webhook
from harness.waiting import wait_until

SECRETS = {"default": "whsec_platform", "shopa": "whsec_a", "shopb": "whsec_b"}
KEYS = {"shopa": "sk_test_shop_a", "shopb": "sk_test_shop_b"}
CONFIG = """
accounts:
  default:
    webhook_secrets: {env: HOOK_DEFAULT}
    connected: [acct_ours]
  shopa:
    stripe_api_key: {env: KEY_SHOPA}
    webhook_secrets: {env: HOOK_SHOPA}
  shopb:
    stripe_api_key: {env: KEY_SHOPB}
    webhook_secrets: {env: HOOK_SHOPB}
    branding: {name: Shop B}
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    path = tmp_path_factory.mktemp("config") / "poller.yaml"
    path.write_text(CONFIG)
    env = {"POLLER_CONFIG_FILE": str(path), "POLLER_STRIPE_SWEEP": "off", "POLLER_STRIPE_ENQUEUE_UNKNOWN": "true"}
    env |= {f"HOOK_{name.upper()}": secret for name, secret in SECRETS.items()}
    env |= {f"KEY_{name.upper()}": key for name, key in KEYS.items()}
    with Cluster(workers=1, listen=False, env=env) as cluster:
        for name, key in KEYS.items():
            cluster.sandbox._call("POST", "/_sandbox/keys", json={"key": key, "account": f"acct_{name}"})
        yield cluster


def post(cluster: Cluster, signer: str, body: bytes) -> requests.Response:
    """Posts a body to an account's webhook URL, signed with that account's secret."""
    url = f"{cluster.api_process.address('api')}/v1/stripe/webhook/{signer}"
    return requests.post(url, data=body, headers=signed_webhook(body, SECRETS[signer]), timeout=60)


def event(object: dict, type: str, id: str, **more) -> bytes:
    return json.dumps({"id": id, "object": "event", "type": type, "livemode": False, "data": {"object": object}} | more).encode()


def stripe(cluster: Cluster, account: str, method: str, path: str, form: dict | None = None) -> dict:
    return cluster.sandbox._call(method, path, data=form, auth=(KEYS[account], ""))


def debit_of_shop_b(cluster: Cluster) -> tuple[str, str]:
    """Returns a watched SEPA debit source of shop B and its customer."""
    form = {"type": "sepa_debit", "currency": "eur", "sepa_debit[iban]": "DE89370400440532013000",
            "owner[name]": "Jenny Rosen", "mandate[notification_method]": "manual"}
    source = stripe(cluster, "shopb", "POST", "/v1/sources", form)["id"]
    customer = stripe(cluster, "shopb", "POST", "/v1/customers", {"source": source})["id"]
    cluster.enqueue(source, account="shopb", notify=["mailto:customer+SOURCE@example.com"])
    wait_until(lambda: watch(cluster, source)["status"] == "chargeable", 60, "the source is chargeable")
    return source, customer


def watch(cluster: Cluster, source: str, account: str = "shopb") -> dict:
    return cluster.api.get(f"/v1/watches/{source}?account={account}")


def notices(cluster: Cluster, source: str) -> list[dict]:
    events = cluster.api.get(f"/v1/watches/{source}/events?account=shopb")["data"]
    return [event for event in events if event["type"] == "mandate.notification"]


def mails(cluster: Cluster, source: str) -> list[str]:
    return [mail.get_body(("plain",)).get_content() for mail in cluster.mail.messages
            if source in mail["To"] and "debit" in mail["Subject"]]


def forged(source: str, number: int, **more) -> bytes:
    notice = {"id": f"srcmn_forged{number}", "object": "source_mandate_notification", "type": "sepa_debit",
              "amount": 99900, "reason": "debit_initiated", "source": {"id": source, "currency": "eur"},
              "sepa_debit": {"creditor_identifier": "EVIL", "last4": "6666", "mandate_reference": "FORGED"}}
    return event(notice, "source.mandate_notification", f"evt_forged{number}", **more)


def test_a_webhook_secret_cannot_announce_a_debit_of_another_account(cluster: Cluster):
    source, customer = debit_of_shop_b(cluster)
    names = ["shopb", "acct_shopb", "default", "acct_ours", "nobody", "acct_nobody"]
    for number, name in enumerate(names):
        for signer in ("shopa", "default"):
            answer = post(cluster, signer, forged(source, number, account=name))
            if (signer, name) == ("default", "acct_ours"):
                # The account is connected to the platform, but Stripe has no such notification there.
                assert answer.status_code == 400, answer.text
            else:
                assert answer.status_code == 200 and answer.json()["result"] == "ignored", answer.text
                assert "does not act for" in answer.json()["reason"]
    # The forgery fails in shop A's own account, where Stripe has no such source, and with shop B's secret.
    assert post(cluster, "shopa", forged(source, 100)).status_code == 400
    assert post(cluster, "shopb", forged(source, 101)).status_code == 400
    # For a genuine notification whose webhook was modified, Stripe's version is recorded.
    form = {"amount": 1099, "currency": "eur", "source": source, "customer": customer}
    stripe(cluster, "shopb", "POST", "/v1/charges", form)
    listed = stripe(cluster, "shopb", "GET", "/v1/events?type=source.mandate_notification&limit=1")["data"][0]
    true = listed["data"]["object"]
    assert true["source"]["id"] == source
    changed = true | {"amount": 99900, "sepa_debit": {"creditor_identifier": "EVIL"}, "created": 2**63 - 1}
    answer = post(cluster, "shopb", event(changed, "source.mandate_notification", listed["id"]))
    assert answer.json()["result"] == "accepted", answer.text
    (notice,) = wait_until(lambda: notices(cluster, source), 60, "the debit is recorded")
    assert notice["mandate"]["amount"] == 1099 and notice["mandate"]["creditor"] == "TEST42ZZZ0000424242"
    (mail,) = wait_until(lambda: mails(cluster, source), 60, "the payer gets the true notice")
    assert "10.99" in mail and "EVIL" not in mail and "999" not in mail
    assert len(notices(cluster, source)) == 1 and "EVIL" not in str(cluster.api.get(
        f"/v1/watches/{source}/timeline?account=shopb"))


def test_a_debit_is_delivered_again_while_stripe_does_not_confirm_it(cluster: Cluster):
    source, customer = debit_of_shop_b(cluster)
    form = {"amount": 700, "currency": "eur", "source": source, "customer": customer}
    stripe(cluster, "shopb", "POST", "/v1/charges", form)
    listed = stripe(cluster, "shopb", "GET", "/v1/events?type=source.mandate_notification&limit=1")["data"][0]
    body = event(listed["data"]["object"], listed["type"], listed["id"])
    fault = cluster.sandbox.fault("status", match=f"/v1/sources/{source}/mandate_notifications", status=500)
    answer = post(cluster, "shopb", body)
    assert answer.status_code == 503, answer.text
    assert not notices(cluster, source)
    cluster.sandbox._call("DELETE", f"/_sandbox/faults/{fault}")
    assert post(cluster, "shopb", body).json()["result"] == "accepted"
    assert post(cluster, "shopb", body).json()["result"] == "duplicate"
    assert [notice["mandate"]["amount"] for notice in notices(cluster, source)] == [700]


def lanes(cluster: Cluster) -> set[str]:
    return {lane["id"] for lane in cluster.api.get("/v1/lanes?limit=500")["data"]}


def test_six_hundred_unknown_accounts_create_no_lane_and_no_watch(cluster: Cluster):
    before, accounts = lanes(cluster), cluster.api.get("/v1/accounts?limit=500")["data"]
    ignored = cluster.api_process.metric("poller_stripe_webhooks_total")
    with ThreadPoolExecutor(4) as pool:
        def one(number: int) -> str:
            name = ("shopb", f"acct_{number}", f"shop{number}", "default", "acct_shopb")[number % 5]
            signer = ("shopa", "default")[number // 5 % 2]
            body = event({"id": f"src_{number}"}, "source.chargeable", f"evt_named{number}", account=name)
            answer = post(cluster, signer, body)
            assert answer.status_code == 200, answer.text
            return answer.json()["result"]

        assert set(pool.map(one, range(600))) == {"ignored"}
    assert cluster.api_process.metric("poller_stripe_webhooks_total") == ignored + 600
    assert lanes(cluster) == before
    assert [found["id"] for found in cluster.api.get("/v1/accounts?limit=500")["data"]] == [a["id"] for a in accounts]


def test_an_unknown_source_of_a_connected_account_is_watched_once_stripe_confirms_its_event(cluster: Cluster):
    invented = event({"id": "src_invented"}, "source.chargeable", "evt_invented", account="acct_ours")
    assert post(cluster, "default", invented).status_code == 400
    source = cluster.sandbox.create_source(account="acct_ours")
    cluster.sandbox.authorise(source)
    headers = {"Stripe-Account": "acct_ours"}
    found = cluster.sandbox._call(
        "GET", "/v1/events?type=source.chargeable&limit=1", auth=(cluster.sandbox.KEY, ""), headers=headers)["data"][0]
    assert found["data"]["object"]["id"] == source and found["account"] == "acct_ours"
    answer = post(cluster, "default", json.dumps(found).encode())
    assert answer.json() == {"result": "accepted", "hinted": 0, "enqueued": 1}, answer.text
    wait_until(lambda: watch(cluster, source, "acct_ours")["status"] == "chargeable", 60, "it is polled")


def bombs() -> list[bytes]:
    """Returns bodies of about 200 KB that are expensive to decode, because they are nested, wide, or both."""
    nested = "[" * 100_000 + "]" * 100_000
    fills = [nested, "[" + ",".join(["[" * 450 + "]" * 450] * 200) + "]", '{"a":' * 30_000 + "1" + "}" * 30_000]
    head = '{"id":"evt_bomb","type":"source.chargeable","livemode":false,"data":{"object":{"id":"src_1","x":'
    return [(head + fill + "}}}").encode() for fill in fills]


def test_the_api_answers_while_nested_bodies_are_posted(cluster: Cluster):
    with ThreadPoolExecutor(8) as pool:
        posted = [pool.submit(post, cluster, "shopa", body) for body in bombs() * 4]
        while not all(each.done() for each in posted):
            stats = requests.get(f"{cluster.api_process.address('api')}/v1/stats", timeout=10)
            assert stats.status_code == 200
    for each in posted:
        assert each.result().status_code == 400 and "nested deeper" in each.result().text, each.result().text
    # A body with the maximum number of values but few levels is accepted.
    wide = event({"id": "src_wide", "x": [{}] * 60_000}, "source.failed", "evt_wide")
    assert len(wide) < 262_144 and post(cluster, "shopa", wide).json()["result"] == "accepted"
    # Half of a surrogate pair, from a truncated description; the event is genuine.
    cut = b'{"id":"evt_cut","type":"source.failed","livemode":false,"data":{"object":{"id":"src_cut","x":"\\ud83d"}}}'
    assert post(cluster, "shopa", cut).json()["result"] == "accepted"


@pytest.mark.parametrize(
    ("accounts", "said"),
    [
        ("default: {connected: all}, a: {stripe_api_key: {env: K}, connected: [acct_1, acct_2]}", None),
        ("a: {stripe_api_key: {env: K}, connected: all}", "accounts.a.connected can be all only for the account default"),
        ("a: {stripe_api_key: {env: K}, connected: [shopb]}", "accounts.a.connected must be a list of Stripe account IDs"),
        ("a: {stripe_api_key: {env: K}, connected: [acct_1, all]}", "accounts.a.connected must be a list of Stripe account IDs"),
        (
            "a: {stripe_api_key: {env: K}, connected: [acct_1]}, acct_1: {stripe_api_key: {env: K}}",
            "accounts.a.connected names acct_1, which is itself an account of this file",
        ),
        (
            "a: {stripe_api_key: {env: K}, connected: [acct_1]}, default: {connected: acct_1}",
            "accounts.default.connected names acct_1, which is connected to a already",
        ),
    ],
)
def test_a_connected_account_belongs_to_one_platform_and_has_no_key(tmp_path: Path, accounts: str, said: str | None):
    file = tmp_path / "poller.yaml"
    file.write_text(f"accounts: {{{accounts}}}\n")
    done = subprocess.run(
        [program("pollerd"), "check-config", "--config", str(file)], capture_output=True, text=True, timeout=60,
        env={"K": "sk_test_1", "STRIPE_API_KEY": "sk_test_2"},
    )
    assert done.returncode == (78 if said else 0), done.stderr
    assert (said or "") in done.stderr
