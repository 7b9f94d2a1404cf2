"""Tests that a paid payment is followed for as long as its money may go back, even after its log was deleted."""

import pytest
from harness.cluster import Cluster
from harness.shop import with_webhooks
from harness.waiting import wait_until

DAY_MS = 86_400_000
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


@pytest.fixture
def hinted():
    """A cluster that learns about changes only from the sandbox's webhooks."""
    with Cluster(workers=1, listen=False, env={"POLLER_STRIPE_SWEEP": "off"}) as cluster:
        yield with_webhooks(cluster)


def paid(cluster: Cluster, method: str) -> tuple[str, str]:
    """Returns an intent that was paid and reported, and its charge."""
    form = {
        "amount": 2000, "currency": "eur", "payment_method_types[]": method,
        "payment_method_data[type]": method, "confirm": "true", "return_url": "http://127.0.0.1/r",
    }
    intent = cluster.sandbox._stripe("POST", "/v1/payment_intents", form)["id"]
    cluster.enqueue(intent, metadata={"cart": "77"})
    cluster.wait_status(intent, "requires_action")
    cluster.sandbox.authorise(intent)
    wait_until(lambda: cluster.api.watch(intent)["state"] == "closed", 60, f"{intent} has ended")
    cluster.wait_delivered([intent])
    assert cluster.api.watch(intent)["payment"]["state"] == "paid"
    return intent, cluster.sandbox._stripe("GET", f"/v1/payment_intents/{intent}")["latest_charge"]


def base36(number: int) -> str:
    return base36(number // 36) + DIGITS[number % 36] if number >= 36 else DIGITS[number]


def age(cluster: Cluster, days: int) -> None:
    """Shifts the timestamps of all closed items back by this many days.

    Setting the clock forward would not work, because retention counts only time that a process has observed.
    """
    ms = days * DAY_MS

    def shift(pipe, item: str) -> None:
        state, money = pipe.hmget(item, "v", "m")
        pipe.multi()
        if state is None:
            return
        state, money = state.split("|"), money.split("|")
        # An order entry has neither a poll time nor a payment time.
        if state[4]:
            state[4] = str(int(state[4]) - ms)
            if money[7]:
                money[7] = base36(int(money[7], 36) - ms)
        if len(money) > 9 and money[9]:
            money[9] = base36(int(money[9], 36) - days)
        pipe.hincrby(item, "x", -ms)
        pipe.hset(item, mapping={"v": "|".join(state), "m": "|".join(money)})

    # Retention may delete an item at any time, and it must not be created again.
    with cluster.redis.client() as client:
        for closed in list(client.scan_iter("poller:h{*")) + list(client.scan_iter("poller:d:h{*")):
            for id in client.zrange(closed, 0, -1):
                client.zadd(closed, {id: -ms}, xx=True, incr=True)
                if not closed.startswith("poller:d:"):
                    item = closed.replace(":h{", ":w{") + id
                    client.transaction(lambda pipe, item=item: shift(pipe, item), item)


def forget(cluster: Cluster, name: str, **env: str) -> None:
    """Starts a notifier, which begins with a round of retention that deletes expired items."""
    notifier = cluster.role(name, "notifier", {"POLLER_GATEWAY_BIND": "127.0.0.1:0"} | env)
    notifier.start().wait_ready()


def is_known(cluster: Cluster, source: str) -> bool:
    return cluster.api.request("GET", f"/v1/watches/{source}").status_code == 200


def test_a_dispute_on_day_60_is_reported(hinted: Cluster):
    source, charge = paid(hinted, "klarna")
    never, _ = paid(hinted, "ideal")
    told = len(hinted.api.events(source))
    age(hinted, 60)
    forget(hinted, "forgetful")
    wait_until(lambda: not is_known(hinted, never), 60, "payments that cannot be refunded are purged")
    wait_until(lambda: hinted.api.events(source) == [], 60, "the log is forgotten")
    watch = hinted.api.watch(source)
    assert (watch["state"], watch["closed_reason"]) == ("closed", "settled")
    assert watch["payment"]["state"] == "paid" and watch["payment"]["amount_received"] == 2000
    polls = len(hinted.sandbox.polls(source))
    assert hinted.fsck().returncode == 0, hinted.fsck().stdout

    hinted.sandbox._call("POST", f"/_sandbox/charges/{charge}/disputes", json={})
    (event,) = wait_until(lambda: hinted.api.events(source), 60, "the dispute is reported")
    assert event["type"] == "payment.disputed" and event["seq"] == told + 1
    assert event["metadata"] == {"cart": "77"} and event["closed_reason"] == "settled"
    # The event is delivered on the watch's channels, and earlier events are not repeated.
    hinted.wait_delivered([source])
    got = [receipt.seq for receipt in hinted.webhook.receipts.of(source)]
    assert got == list(range(1, told + 2)), got
    assert len(hinted.sandbox.polls(source)) - polls <= 3
    assert hinted.fsck().returncode == 0, hinted.fsck().stdout


def test_payments_are_not_kept_if_this_is_disabled(hinted: Cluster):
    source, _ = paid(hinted, "klarna")
    age(hinted, 33)
    forget(hinted, "young", POLLER_AFTERLIFE="0")
    assert is_known(hinted, source), "kept like any other"
    age(hinted, 27)
    forget(hinted, "forgetful", POLLER_AFTERLIFE="0")
    wait_until(lambda: not is_known(hinted, source), 60, "it is forgotten like any other")
