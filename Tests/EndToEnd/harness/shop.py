"""A shop that uses every feature: webhooks from Stripe, a return page, mails, and its own endpoint."""

import re
import time

import requests

from .cluster import Cluster
from .history_checker import is_beside
from .ledger import read
from .ledger_checker import LedgerChecker
from .redis_server import free_port
from .statements import of_event, of_watch
from .waiting import wait_until

HOUR_S = 3600


def with_webhooks(cluster: Cluster, through=None) -> Cluster:
    """Adds an API process, `cluster.taker`, that receives the sandbox's webhooks at `cluster.hook`.

      through: creates a relay, `cluster.relay`, that gets the webhooks and forwards them.
    """
    bind = f"127.0.0.1:{free_port()}"
    cluster.hook = f"http://{bind}/v1/stripe/webhook"
    cluster.relay = cluster._peer(through(cluster.hook)) if through else None
    form = {"url": cluster.relay.url if through else cluster.hook, "enabled_events[]": "*"}
    cluster.secret = cluster.sandbox._stripe("POST", "/v1/webhook_endpoints", form)["secret"]
    more = {"POLLER_API_BIND": bind, "STRIPE_WEBHOOK_SECRET": cluster.secret}
    cluster.taker = cluster.role("taker", "api", more).start().wait_ready()
    return cluster


def mails_of(cluster: Cluster, events: list[dict]) -> list:
    """Returns the mails about these events."""
    ids = {event["id"] for event in events}
    receipts = [receipt.event for receipt in cluster.mail.receipts.all()]
    return [message for event, message in zip(receipts, cluster.mail.messages) if event in ids]


class Sale:
    """One payment, from the shop's order to the delivered events.

      form: further fields of the source; `None` removes a field.
      is_kept: whether the source is attached to a customer.
      before: an action on the source before it is watched.
    """

    def __init__(
        self, cluster: Cluster, type: str = "ideal", charge=None, form: dict | None = None,
        is_kept: bool = False, before=None, **fields,
    ):
        self.cluster = cluster
        fields = {"policy": "interactive"} | fields
        form = {
            "type": type, "amount": 1099, "currency": "eur", "redirect[return_url]": f"{cluster.api.url}/r",
        } | (form or {})
        form = {name: value for name, value in form.items() if value is not None}
        self.source = cluster.sandbox._stripe("POST", "/v1/sources", form)
        self.id = self.source["id"]
        if is_kept:
            cluster.sandbox._stripe("POST", "/v1/customers", {"source": self.id})
        if charge:
            fields["charge"] = charge
        if before:
            before(self)
        answer = cluster.enqueue(self.id, client_secret=self.source["client_secret"], **fields)
        assert answer["source"] == self.id

    def pending(self) -> "Sale":
        self.cluster.wait_status(self.id, "pending")
        return self

    def closed(self, timeout_s: float = 60, run: int = 1) -> dict:
        """Returns the watch after it has closed, in this run or a later one."""

        def look() -> dict | None:
            watch = self.cluster.api.watch(self.id)
            return watch if watch["state"] == "closed" and watch["run"] >= run else None

        return wait_until(look, timeout_s, f"{self.id} is closed")

    def events(self) -> list[dict]:
        events = self.cluster.api.events(self.id)
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        return events

    def told(self) -> list[str]:
        """Returns the types of the events about statuses and charges."""
        return [event["type"] for event in self.events() if not is_beside(event)]

    def words(self) -> list[str]:
        """Returns the types of the payment events, in recorded order."""
        return [event["type"] for event in self.events() if event["type"].startswith("payment.")]

    def mails(self) -> list:
        return mails_of(self.cluster, self.events())

    def charges(self) -> list[dict]:
        listed = self.cluster.sandbox._stripe("GET", "/v1/charges?limit=100")["data"]
        return [charge for charge in listed if (charge.get("source") or {}).get("id") == self.id]

    def come_back(self, status: str = "succeeded") -> str:
        """Simulates the customer's return in a new browser session; returns the state of the page."""
        with requests.Session() as browser:
            browser.trust_env = False
            page = browser.get(
                f"{self.cluster.api.url}/r", timeout=60,
                params={
                    "source": self.id, "client_secret": self.source["client_secret"], "livemode": "false",
                    "redirect_status": status,
                },
            )
        assert page.status_code == 200, page.text
        return re.search(r'<body[^>]* data-state="(\w+)"', page.text)[1]

    def check_deliveries(self) -> None:
        """Waits until webhook and mail have the last event, and checks that each was delivered once."""
        self.cluster.wait_delivered([self.id])
        # A duplicate delivery would follow immediately, from another notifier or attempt.
        time.sleep(0.5)
        hooked = self.cluster.webhook.receipts.events(self.id)
        assert hooked == [event["id"] for event in self.events()], "each event once and in order"
        assert not self.cluster.webhook.receipts.problems
        titles = [mail["Subject"] for mail in self.mails()]
        assert len(titles) == len(set(titles)), f"mailed twice: {titles}"


def check_words(cluster: Cluster, sales: list[Sale], by_time: bool = True, is_over: bool = True) -> None:
    """Checks the payment state of every event and of the current watches against the sandbox's ledger.

      is_over: whether the last recorded state must also be the last truth.
    """
    checker = LedgerChecker(read(cluster.sandbox, {sale.id for sale in sales}), by_time=by_time)
    recorded = {sale.id: sale.events() for sale in sales}
    now_ms = time.time() * 1000
    checker.hear(of_event(event, now_ms, channel="record") for row in recorded.values() for event in row)
    checker.hear(of_watch(cluster.api.watch(sale.id), now_ms) for sale in sales)
    checker.told_once(recorded)
    checker.ended(["record"] if is_over else [], among=set(recorded))
    checker.charged_once()
    checker.verdict()
