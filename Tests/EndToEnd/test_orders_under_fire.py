"""Orders of every kind while processes die at every step: each charged once at most, and told how it ended.

POLLER_ORDERS says how many; the seed says which dies when, not what it was doing then.
"""

import os
import random
import threading
from collections import Counter
from dataclasses import dataclass, field

import requests
from harness.cluster import LEASE_S, Cluster
from harness.ledger import read
from harness.ledger_checker import LedgerChecker, of_event
from harness.shop import HOUR_S, Sale
from harness.waiting import wait_until

ORDERS = int(os.environ.get("POLLER_ORDERS", "120"))
SEED = int(os.environ.get("POLLER_SEED", "12"))
NO_RETURN = {"redirect[return_url]": None}
NAMED = {"owner[name]": "Jenny Rosen", "owner[email]": "jenny@example.com"}
CARD = NO_RETURN | {"card[exp_month]": 12, "card[exp_year]": 2034, "card[cvc]": 123}


@dataclass(frozen=True)
class Kind:
    """A way to pay, what its customer does, and how it has to end.

    word: what is true of its payment in the end. last: the type of the event that tells it.
    """

    type: str
    act: str
    word: str
    last: str
    form: dict = field(default_factory=dict)
    is_kept: bool = False


PAID, FAILED = ("paid", "charge.succeeded"), ("failed", "charge.failed")
SOFORT = {"sofort[country]": "DE"}
KINDS = [
    Kind("ideal", "authorise", *PAID),
    Kind("bancontact", "authorise", *PAID, NAMED),
    Kind("giropay", "authorise", *PAID, NAMED),
    Kind("eps", "authorise", *PAID, NAMED),
    Kind("p24", "authorise", *PAID, NAMED),
    Kind("alipay", "authorise", *PAID),
    Kind("multibanco", "pay", *PAID, NAMED),
    Kind("sofort", "authorise", *PAID, SOFORT | {"owner[name]": "succeeding_charge"}),
    Kind("sofort", "authorise", *FAILED, SOFORT | {"owner[name]": "failing_charge"}),
    Kind("card", "nothing", *PAID, CARD | {"card[number]": "4242424242424242"}, is_kept=True),
    Kind("card", "nothing", *FAILED, CARD | {"card[number]": "4000000000000341"}, is_kept=True),
    Kind("ideal", "refuse", "failed", "source.failed"),
    Kind("ideal", "nothing", "expired", "source.canceled"),
]


class Fire:
    """Kills processes with SIGKILL until it is put out, and starts each again."""

    def __init__(self, cluster: Cluster, seed: int):
        self.kills: Counter = Counter()
        self._roles = [*cluster.workers, *cluster.notifiers]
        self._chance = random.Random(seed)
        self._out = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._out.wait(self._chance.uniform(0.1, 0.8)):
            role = self._chance.choice(self._roles)
            role.kill9()
            self.kills[role.name] += 1
            role.start().wait_ready()

    def put_out(self) -> None:
        self._out.set()
        self._thread.join(60)
        assert not self._thread.is_alive()


def act(cluster: Cluster, sale: Sale, kind: Kind) -> None:
    match kind.act:
        case "authorise":
            cluster.sandbox.authorise(sale.id)
        case "refuse":
            page = f"{cluster.sandbox.url}/redirect/{sale.id}/fail"
            assert requests.post(page, allow_redirects=False, timeout=10).status_code == 303
        case "pay":
            cluster.sandbox._call("POST", f"/_sandbox/sources/{sale.id}/payments", json={"amount": 1099})


def test_orders_of_every_kind_end_once_whoever_dies(chaos):
    cluster: Cluster = chaos(workers=3, notifiers=2, listen=False, env={"POLLER_STRIPE_SWEEP": "1s"})
    # Each charge takes effect at once and is answered late; some answers never come.
    slow = cluster.sandbox.fault("delay", match="/v1/charges", method="POST", delay_ms=300)
    fire = Fire(cluster, SEED)
    sales: list[tuple[Sale, Kind]] = []
    try:
        for number in range(ORDERS):
            kind = KINDS[number % len(KINDS)]
            order = {"metadata": {"order": f"A{number}"}}
            sale = Sale(
                cluster, kind.type, charge=order, form=kind.form, is_kept=kind.is_kept, notify=cluster.notify
            )
            sales.append((sale, kind))
            act(cluster, sale, kind)
            if number % 10 == 0:
                cluster.sandbox.fault("reset", match="/v1/charges", method="POST", times=1, after=True)
        for sale, kind in sales:
            if kind.word != "expired":
                sale.closed(timeout_s=120)
        # Whoever went away has had an hour.
        cluster.sandbox._call("POST", "/_sandbox/clock/advance", json={"seconds": HOUR_S + 1})
        for sale, kind in sales:
            sale.closed(timeout_s=60 + LEASE_S)
    finally:
        fire.put_out()
        cluster.sandbox.clear_fault(slow)
    assert sum(fire.kills.values()) >= 3, "nothing happened to anybody"

    ledger = read(cluster.sandbox, {sale.id for sale, _ in sales})
    charged = ledger.money_by_order()
    recorded = {sale.id: sale.events() for sale, _ in sales}
    for number, (sale, kind) in enumerate(sales):
        told = [event["type"] for event in recorded[sale.id]]
        assert told.count(kind.last) == 1, f"{kind}: {told}"
        assert [event["closed_reason"] for event in recorded[sale.id]][:-1] == [None] * (len(told) - 1)
        assert len(charged.get(f"A{number}", [])) == (kind.word == "paid"), f"{kind}: {charged.get(f'A{number}')}"
        assert kind.word in {truth.word for truth in ledger.last(sale.id)}, f"{kind}: {ledger.last(sale.id)}"
        assert recorded[sale.id][-1]["payment"]["state"] == kind.word, f"{kind}: {told}"
        assert told.count(f"payment.{kind.word}") == 1, f"{kind}: {told}"

    # Every event, and no other; a notifier that died in mid-attempt repeats it under its id.
    ids = {event["id"] for row in recorded.values() for event in row}
    wait_until(lambda: cluster.webhook.receipts.ids() == ids, 120, "every event has reached the shop")
    assert not cluster.webhook.receipts.problems and not cluster.mail.receipts.problems
    for sale, _ in sales:
        first = list(dict.fromkeys(cluster.webhook.receipts.events(sale.id)))
        assert first == [event["id"] for event in recorded[sale.id]], "in order"

    checker = LedgerChecker(ledger, by_time=False)
    receipts = cluster.webhook.receipts.all()
    checker.hear([of_event(receipt.body, receipt.arrived_ms) for receipt in receipts], doubles=True)
    checker.told_once(recorded)
    checker.ended(["webhook"])
    checker.verdict()
    assert cluster.fsck().returncode == 0
