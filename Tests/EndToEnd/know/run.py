"""One run: payments of every kind, and the delay from each change at Stripe to the shop's webhook."""

import heapq
import itertools
import statistics
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from know.customers import Plan, plans

from harness.cluster import Cluster
from harness.lossy_relay import LossyRelay
from harness.sandbox import Sandbox
from harness.shop import with_webhooks
from harness.waiting import wait_until

# Poller's own key, so that the requests of the simulated customers are not counted as Poller's.
KEY = "sk_test_knows"
# The defaults of `pollerd`. The usual settings of the tests would hide the cost of a poll.
DEFAULTS = {
    "STRIPE_API_KEY": KEY, "POLLER_LANE_RATE": "20", "POLLER_LANE_BURST": "5", "POLLER_LANE_CONCURRENCY": "20",
    "POLLER_LEASE": "12s", "POLLER_POLL_TIMEOUT": "8s", "POLLER_LOG_LEVEL": "warning",
}
# The sources of hints in addition to polling, which is always on.
MODES = ("polling", "sweep", "webhooks", "webhooks lost")
# The longest interval between polls in seconds, at the ages that these runs reach.
PATIENCE_S = 200


@dataclass(frozen=True)
class Change:
    """A change at Stripe, and the payment state that results from it."""

    payment: str
    word: str
    at_ms: float
    # Whether a customer caused the change and waits for the shop. Otherwise a bank caused it, days later.
    is_waited_for: bool


@dataclass
class Known:
    """The results of one mode: the seconds from each change to the shop's webhook, and the number of requests."""

    mode: str
    payments: int
    waited_s: list[float] = field(default_factory=list)
    later_s: list[float] = field(default_factory=list)
    gets: int = 0
    sweeps: int = 0
    seconds: float = 0
    dropped: int = 0
    taken: int = 0

    def row(self) -> str:
        """Returns the mode's row of the table."""
        cells = [self.mode, *map(_span, (*_quantiles(self.waited_s), *_quantiles(self.later_s)))]
        cells += [f"{self.gets / self.payments:.1f}", f"{self.sweeps * 60 / self.seconds:.0f}" if self.sweeps else "–"]
        return f"| {' | '.join(cells)} |"


HEAD = """\
| | a customer waits: p50 | p99 | a bank answers: p50 | p99 | GETs a payment | GETs a minute for the account |
|---|---|---|---|---|---|---|"""


def _quantiles(row: list[float]) -> tuple[float, float]:
    if len(row) < 2:
        return (row[0],) * 2 if row else (float("nan"),) * 2
    cuts = statistics.quantiles(row, n=100, method="inclusive")
    return cuts[49], cuts[98]


def _span(seconds: float) -> str:
    if seconds != seconds:
        return "–"
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


class KnowRun:
    """A single run of a shop with a number of payments in one mode."""

    def __init__(
        self, mode: str, payments: int = 120, seed: int = 12, hurry: float = 1, day_s: float = 20,
        policy: str | None = None, sweep: str = "5s",
    ):
        self.known = Known(mode, payments)
        self._plans = plans(payments, seed, orders_s=15 / hurry, hurry=hurry, day_s=day_s / hurry)
        self._policy = policy
        self._sweep = "off" if mode == "polling" else sweep
        self._ids: dict[int, str] = {}
        self._changes: list[tuple[str, str, bool]] = []
        self._charges: dict[str, tuple[str, str]] = {}
        self._lock = threading.Lock()

    def cluster(self) -> Cluster:
        """Returns the cluster of a small shop, with one worker and one notifier."""
        env = DEFAULTS | {"POLLER_STRIPE_SWEEP": self._sweep}
        return Cluster(workers=1, notifiers=1, listen=False, env=env)

    def on(self, cluster: Cluster) -> Known:
        """Makes the payments, waits until all changes are delivered, and counts delays and requests."""
        relay = None
        if self.known.mode.startswith("webhooks"):
            with_webhooks(cluster, through=LossyRelay if self.known.mode.endswith("lost") else None)
            relay = cluster.relay
        # The first sweep must read an event list that is still empty.
        wait_until(lambda: self.known.mode == "polling" or self._asked(cluster, "/v1/events"), 60, "the first sweep")
        began = time.monotonic()
        self._sell(cluster)
        changes = self._changed(cluster)
        self._wait_told(cluster, changes)
        self.known.seconds = time.monotonic() - began
        self._count(cluster, changes)
        if relay:
            self.known.dropped, self.known.taken = relay.dropped, relay.passed
        return self.known

    def _sell(self, cluster: Cluster) -> None:
        """Performs the orders and actions of all plans at their times."""
        steps, order = [], itertools.count()
        for plan in self._plans:
            heapq.heappush(steps, (plan.order_s, next(order), self._order, plan))
        local, began = threading.local(), time.monotonic()
        failures: list[BaseException] = []

        def run(act, plan: Plan) -> None:
            if not hasattr(local, "stripe"):
                local.stripe = Sandbox(cluster.sandbox.url)
            try:
                act(cluster, local.stripe, plan)
            except BaseException as failure:
                failures.append(failure)

        with ThreadPoolExecutor(16) as pool:
            while steps and not failures:
                at_s, _, act, plan = heapq.heappop(steps)
                time.sleep(max(0, began + at_s - time.monotonic()))
                pool.submit(run, act, plan)
                if act == self._order:
                    for after_s, then in ((plan.act_s, self._act), (plan.answer_s, self._answer)):
                        if after_s is not None:
                            heapq.heappush(steps, (at_s + after_s, next(order), then, plan))
        if failures:
            raise failures[0]

    def _order(self, cluster: Cluster, stripe: Sandbox, plan: Plan) -> None:
        made = plan.habit.kind.make(stripe, f"A{plan.number}")
        watch = {"source": made["id"], "notify": [cluster.webhook.url]}
        if plan.habit.kind.charges:
            watch["charge"] = True if made.get("amount") else {"amount": 1099, "currency": "eur"}
        if self._policy:
            watch["policy"] = self._policy
        answer = cluster.api.request("POST", "/v1/watches", json=watch)
        assert answer.status_code == 201, answer.text
        with self._lock:
            self._ids[plan.number] = made["id"]

    def _made(self, plan: Plan) -> str:
        return wait_until(lambda: self._ids.get(plan.number), 60, f"payment {plan.number} is ordered")

    def _act(self, _cluster: Cluster, stripe: Sandbox, plan: Plan) -> None:
        id = self._made(plan)
        plan.habit.kind.act(stripe, {"id": id})
        with self._lock:
            self._changes.append((id, plan.habit.word, plan.habit.act_s is not None))

    def _answer(self, _cluster: Cluster, stripe: Sandbox, plan: Plan) -> None:
        """Settles a pending charge as the bank does.

        Waits for the charge if Poller has not made it yet.
        """
        id = self._made(plan)
        charge = wait_until(lambda: charge_of(stripe, id), PATIENCE_S, f"{id} is charged", pause_s=0.5)
        status = "failed" if plan.habit.late == "failed" else "succeeded"
        stripe._call("POST", f"/_sandbox/charges/{charge}/status", json={"status": status})
        with self._lock:
            self._charges[charge] = (id, plan.habit.late)

    def _changed(self, cluster: Cluster) -> list[Change]:
        """Returns all changes with the times recorded by the sandbox."""
        history, found = cluster.sandbox.history(), []
        for id, word, is_waited_for in self._changes:
            wanted = {"authorised": "chargeable", "paid": "succeeded", "failed": "failed"}[word]
            # A refused intent would return to its first status. These runs have no refused intent.
            at_ms = next(row["at_ms"] for row in history[id] if row["status"] == wanted)
            found.append(Change(id, word, at_ms, is_waited_for))
        since = 0
        while True:
            page = cluster.sandbox._call("GET", f"/_sandbox/events?type=charge.*&since={since}&limit=500")
            for event in page["data"]:
                id, word = self._charges.get(event["object"]["id"], (None, None))
                if id and event["type"] in ("charge.succeeded", "charge.failed"):
                    found.append(Change(id, word, event["at_ms"], is_waited_for=False))
            since = page["next"]
            if not page["has_more"]:
                break
        assert len(found) == len(self._changes) + len(self._charges)
        return found

    def _told(self, cluster: Cluster, changes: list[Change]) -> dict[Change, float]:
        """Returns the milliseconds from each change to the first webhook with its payment state."""
        first: dict[tuple[str, str], float] = {}
        for receipt in cluster.webhook.receipts.all():
            first.setdefault((receipt.source, receipt.type), receipt.arrived_ms)
        arrived = {change: first.get((change.payment, f"payment.{change.word}")) for change in changes}
        return {change: at_ms - change.at_ms for change, at_ms in arrived.items() if at_ms}

    def _wait_told(self, cluster: Cluster, changes: list[Change]) -> None:
        wait_until(
            lambda: len(self._told(cluster, changes)) == len(changes), PATIENCE_S, "everything is delivered", pause_s=0.2
        )
        # The last polls of the payments are part of their cost.
        wait_until(
            lambda: all(watch["state"] == "closed" for watch in cluster.api.watches()), PATIENCE_S,
            "everything has ended", pause_s=0.5,
        )

    def _count(self, cluster: Cluster, changes: list[Change]) -> None:
        assert not cluster.webhook.receipts.problems, cluster.webhook.receipts.problems[:3]
        for change, ms in self._told(cluster, changes).items():
            (self.known.waited_s if change.is_waited_for else self.known.later_s).append(ms / 1000)
        asked = self._asked(cluster, "/v1/*")
        self.known.sweeps = sum(request["path"] == "/v1/events" for request in asked)
        self.known.gets = len(asked) - self.known.sweeps

    @staticmethod
    def _asked(cluster: Cluster, path: str) -> list[dict]:
        """Returns Poller's GET requests to the sandbox."""
        listed = cluster.sandbox._call("GET", f"/_sandbox/requests?path={path}")
        assert listed["next"] < 100_000, "the sandbox has forgotten requests"
        return [it for it in listed["data"] if it["method"] == "GET" and KEY.endswith(it["key_suffix"])]


def charge_of(stripe: Sandbox, id: str) -> str | None:
    """Returns the ID of a source's charge, or `None` if it has none."""
    path = "/v1/charges?limit=100"
    while True:
        page = stripe._stripe("GET", path)
        for charge in page["data"]:
            if (charge.get("source") or {}).get("id") == id:
                return charge["id"]
        if not page["has_more"]:
            return None
        path = f"/v1/charges?limit=100&starting_after={page['data'][-1]['id']}"
