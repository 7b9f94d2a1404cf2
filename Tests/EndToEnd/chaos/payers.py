"""The payers of the orders: their actions at Stripe and at the shop, and the pages they read until the end."""

import re
import time
from dataclasses import dataclass, field

import requests
from chaos.kinds import AMOUNT, Kind

from harness.cluster import Cluster
from harness.headlines import LANGUAGES
from harness.poller_api import PollerAPI
from harness.sandbox import Sandbox

# The longest duration of an order in seconds, with a margin for a machine with other load.
PATIENCE_S = 90


@dataclass
class Look:
    """The content of the payer's page at one time: `html` is the page itself, `shown` an update of it."""

    told_ms: float
    shown: dict | None = None
    html: str | None = None


@dataclass
class Sold:
    """An order, its payment, and the pages its payer has read."""

    number: int
    kind: Kind
    id: str = ""
    looks: list[Look] = field(default_factory=list)
    failure: str = ""

    @property
    def order(self) -> str:
        return f"A{self.number}"

    @property
    def language(self) -> str:
        return LANGUAGES[self.number % len(LANGUAGES)]


def seq_of(html: str) -> int:
    """Returns the `seq` of the last event that a page shows."""
    return int(re.search(r' data-seq="(\d+)"', html)[1])


class Payer:
    """One of several concurrent payers, with a browser session and a client of the sandbox."""

    def __init__(self, cluster: Cluster):
        self._cluster = cluster
        self._stripe = Sandbox(cluster.sandbox.url)
        self._api = PollerAPI(cluster.api.url)

    def buy(self, sold: Sold) -> None:
        """Places an order, performs the actions of its kind, and reads the page until it shows each expected state."""
        kind = sold.kind
        made = kind.make(self._stripe, sold.order)
        sold.id = made["id"]
        watch = {
            "source": sold.id, "client_secret": made["client_secret"], "policy": "interactive",
            "notify": self._cluster.notify_of(sold.id), "metadata": {"order": sold.order, "locale": sold.language},
        }
        if kind.charges:
            charge = {"metadata": {"order": sold.order}}
            watch["charge"] = charge | ({} if made.get("amount") else {"amount": AMOUNT, "currency": "eur"})
        if kind.until:
            watch["until"] = kind.until
        self._again(lambda: self._enqueue(watch))
        kind.act(self._stripe, made)
        if kind.own is not None:
            kind.charge(self._stripe, made, sold.order)
        self._look_on(sold, made["client_secret"], kind.word)
        for step in kind.then:
            kind.move(self._stripe, made, step)
            self._look_on(sold, made["client_secret"], step.word, step.reason)

    def _enqueue(self, watch: dict) -> requests.Response:
        """Enqueues a watch unless it exists.

        After a lost response the watch may exist, and may have closed already. Enqueuing a closed watch would start
        another run and deliver its events again.
        """
        known = self._api.request("GET", f"/v1/watches/{watch['source']}", timeout=8)
        if known.status_code != 404:
            return known
        return self._api.request("POST", "/v1/watches", json=watch, timeout=8)

    def _again(self, ask, among=(200, 201)) -> requests.Response:
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                answer = ask()
                if answer.status_code in among:
                    return answer
                assert answer.status_code in (429, 500, 503, 504), f"{answer.status_code} {answer.text[:300]}"
            except requests.RequestException:
                pass
            assert time.monotonic() < end, "no server responds"
            time.sleep(0.2)

    def _look_on(self, sold: Sold, secret: str, word: str, reason: str | None = None) -> None:
        family = sold.kind.family
        secret_name = "client_secret" if family == "source" else f"{family}_client_secret"
        landing = {family: sold.id, secret_name: secret, "livemode": "false", "redirect_status": "succeeded"}
        self._api.http.cookies.clear()
        page = self._again(lambda: self._api.request("GET", "/r", params=landing, timeout=8))
        sold.looks.append(Look(time.time() * 1000, html=page.text))
        seq, end = 0, time.monotonic() + PATIENCE_S
        while True:
            path = f"/r/{sold.id}/state?after_seq={seq}&wait=3s"
            answer = self._again(lambda: self._api.request("GET", path, timeout=8), among=(200, 304))
            if answer.status_code == 200:
                shown = answer.json()
                seq = shown["seq"]
                sold.looks.append(Look(time.time() * 1000, shown=shown))
                said = shown.get("payment") or {}
                if said.get("state") == word and reason in (None, said.get("reason")):
                    return
            assert time.monotonic() < end, f"{sold.kind} is not {word} for its payer: {sold.looks[-1]}"
