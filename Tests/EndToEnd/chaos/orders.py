"""Orders of every kind, while processes are killed at every step and payers read their pages.

Each payer places an order, pays or does not, and reads the page until it shows the result. The shop receives webhooks,
and the payer receives mails. At the end every statement is checked against Stripe's ledger: it was true at its time,
the last payment state was delivered, and no order was charged twice.
"""

import contextlib
import itertools
import json
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field

from chaos.fire import Fire
from chaos.kinds import KINDS
from chaos.payers import Payer, Sold, seq_of

from harness.cluster import SHORT_LEASE, Cluster
from harness.history_checker import is_mailed
from harness.ledger import Span, read
from harness.ledger_checker import LedgerChecker
from harness.poller_api import PollerAPI
from harness.redis_server import free_port
from harness.shop import with_webhooks
from harness.statements import of_event, of_html, of_mail, of_page, seen_ms
from harness.waiting import wait_until

# The fields of a watch that are reported for an unfinished order.
WATCHED = ("state", "run", "seq", "attempts", "last_polled_at", "next_poll_at", "last_error", "charge", "status")
# A delivery that failed several times, or met a busy relay, is retried only after minutes.
DELIVERY_S = 900
# The longest duration of a poll. It ends with its lease, and a charge is made within a poll.
LOOK_MS = 10_000
# The number of threads that read recorded events.
JUDGES = 8


@dataclass
class OrderFigures:
    """The counts of a run of orders.

    All fields of the second block must be 0.
    """

    orders: int
    seed: int
    seconds: float = 0
    kinds: int = len(KINDS)
    charges: int = 0
    kills: dict[str, int] = field(default_factory=dict)
    events: int = 0
    webhooks: int = 0
    mails: int = 0
    looks: int = 0

    charged_twice: int = 0
    false: int = 0
    doubled: int = 0
    untold: int = 0
    unfinished: int = 0
    fsck: int = 0

    def json(self) -> str:
        return json.dumps(asdict(self))

    def text(self) -> str:
        """Returns the figures as an aligned table."""
        rows = [(name.replace("_", " "), value) for name, value in asdict(self).items()]
        return "\n".join(f"{name:<14}  {value}" for name, value in rows)


class OrderRun:
    """A number of orders, of which `at_once` run concurrently, while processes are killed."""

    def __init__(self, orders: int, seed: int, at_once: int = 48, say=lambda text: None):
        self.figures = OrderFigures(orders, seed)
        self.violations: list[str] = []
        self._at_once = at_once
        self._say = say

    def cluster(self) -> Cluster:
        """Returns a cluster in which every process may be killed.

        The API keeps its address after a restart.
        """
        env = SHORT_LEASE | {
            "POLLER_STRIPE_SWEEP": "1s", "POLLER_LOG_LEVEL": "warning",
            "POLLER_API_BIND": f"127.0.0.1:{free_port()}",
        }
        return Cluster(workers=3, notifiers=2, listen=False, fsync="always", env=env)

    def on(self, cluster: Cluster) -> None:
        with_webhooks(cluster)
        # Each charge takes effect immediately, but its response is late, and some responses are lost.
        slow = cluster.sandbox.fault("delay", match="/v1/charges", method="POST", delay_ms=300)
        began = time.monotonic()
        fire = Fire(cluster, self.figures.seed)
        try:
            sales = self._sell(cluster)
        finally:
            self.figures.kills = dict(sorted(fire.put_out().items()))
            cluster.sandbox.clear_fault(slow)
        self.figures.seconds = round(time.monotonic() - began, 1)
        self._judge(cluster, sales)

    def _sell(self, cluster: Cluster) -> list[Sold]:
        sales = [Sold(number, KINDS[number % len(KINDS)]) for number in range(self.figures.orders)]
        local, done = threading.local(), itertools.count(1)

        def sell(sold: Sold) -> None:
            if not hasattr(local, "payer"):
                local.payer = Payer(cluster)
            if sold.number % 10 == 0:
                # The next charge of any payer loses its response. The fault applies once, so it is soon used up.
                cluster.sandbox.fault("reset", match="/v1/charges", method="POST", times=1, after=True)
            try:
                local.payer.buy(sold)
            except Exception as failure:
                sold.failure = f"{type(failure).__name__}: {failure}"
                with contextlib.suppress(Exception):
                    watch = cluster.api.watch(sold.id)
                    sold.failure += f"; its watch: { {name: watch.get(name) for name in WATCHED} }"
            if (count := next(done)) % 500 == 0:
                self._say(f"{count} orders have ended")

        with ThreadPoolExecutor(self._at_once) as pool:
            list(pool.map(sell, sales))
        return sales

    def _judge(self, cluster: Cluster, sales: list[Sold]) -> None:
        self._say("held against the ledger")
        for sold in sales:
            if sold.failure:
                self.figures.unfinished += 1
                self.violations.append(f"{sold.order} {sold.id}: {sold.failure}")
        by_id = {sold.id: sold for sold in sales if not sold.failure}
        ledger = read(cluster.sandbox, set(by_id))
        self._say("the ledger is read")
        with ThreadPoolExecutor(JUDGES) as pool:
            recorded = dict(zip(by_id, pool.map(PollerAPI(cluster.api.url).events, by_id)))
        self._wait_told(cluster, recorded)
        self._say("everything has been told")
        checker = LedgerChecker(ledger, look_ms=LOOK_MS)
        self._hear(cluster, checker, by_id, recorded)
        checker.told_once(recorded)
        mailed = {id for id, row in recorded.items() if is_mailed(self._last_word(row))}
        checker.ended(["webhook", "page"], among=set(by_id))
        checker.ended(["mail"], among=mailed)
        for id, row in recorded.items():
            self._check_last(checker, by_id[id], row, {truth.word for truth in ledger.last(id)})
        checker.charged_once()
        self.figures.charges = sum(map(len, ledger.money_by_order().values()))
        self.violations += checker.violations
        for id in list(checker.accused)[:10]:
            if id in recorded:
                self.violations.append(f"{id}: {self._story(ledger.spans(id), recorded[id])}")
        for kind in ("false", "doubled", "untold", "charged_twice"):
            setattr(self.figures, kind, checker.counts[kind])
        self.figures.events = sum(map(len, recorded.values()))
        fsck = cluster.fsck()
        self.figures.fsck = fsck.returncode
        if fsck.returncode:
            self.violations.append(f"fsck: {fsck.stdout[-2000:]}")

    def _wait_told(self, cluster: Cluster, recorded: dict[str, list[dict]]) -> None:
        """Waits until the shop and the payers have received all their events."""
        ids = {event["id"] for row in recorded.values() for event in row}
        hooked = cluster.webhook.receipts
        try:
            wait_until(lambda: ids <= hooked.ids(), DELIVERY_S, "every event has reached the shop", pause_s=1)
            # A newer mail may have replaced pending ones, so only the last mail is required.
            last = {
                [event for event in row if is_mailed(event)][-1]["id"]
                for row in recorded.values() if any(map(is_mailed, row))
            }
            wait_until(lambda: last <= cluster.mail.receipts.ids(), DELIVERY_S, "the last mails have come", pause_s=1)
        except AssertionError as late:
            self.violations.append(str(late)[:300])
            self.figures.unfinished += 1
        for problem in hooked.problems + cluster.mail.receipts.problems:
            self.violations.append(problem)
            self.figures.false += 1

    def _hear(self, cluster: Cluster, checker: LedgerChecker, sales: dict[str, Sold], recorded: dict) -> None:
        """Passes every webhook, mail and page to the checker, in the order of arrival."""
        events = {event["id"]: event for row in recorded.values() for event in row}
        hooks = [receipt for receipt in cluster.webhook.receipts.all() if receipt.source in sales]
        for receipt in hooks:
            if receipt.body != events.get(receipt.event):
                checker.note(receipt.source, f"{receipt.event} was sent and recorded otherwise", "false")
        checker.hear([of_event(receipt.body, receipt.arrived_ms) for receipt in hooks], doubles=True)
        mails = [
            (receipt, mail)
            for receipt, mail in zip(cluster.mail.receipts.all(), cluster.mail.messages)
            if receipt.source in sales
        ]
        checker.hear(
            [
                of_mail(mail, events[receipt.event], sales[receipt.source].language, receipt.arrived_ms)
                for receipt, mail in mails
            ],
            doubles=True,
        )
        for id, sold in sales.items():
            by_seq = {event["seq"]: event for event in recorded[id]}
            said = [
                of_page(id, it.shown, sold.language, it.told_ms, by_seq[it.shown["seq"]])
                if it.shown
                else of_html(id, it.html, sold.language, it.told_ms, by_seq.get(seq_of(it.html)))
                for it in sold.looks
            ]
            checker.hear(said, doubles=True)
            self.figures.looks += len(sold.looks)
        self.figures.webhooks, self.figures.mails = len(hooks), len(mails)

    @staticmethod
    def _story(spans: list[Span], row: list[dict]) -> str:
        """Returns the true states of a payment and its recorded events with their times, to explain a violation."""
        truths = [(span.begin_ms, f"was {sorted(truth.word for truth in span.truths)}") for span in spans]
        told = [
            (
                seen_ms(event),
                f"looked, told {event['type']} ({event['seq']}) of {event['payment'] and event['payment']['state']}",
            )
            for event in row
        ]
        moments = sorted(truths + told, key=lambda moment: moment[0])
        return "; ".join(f"{(at_ms - moments[0][0]) / 1000:.3f} s {text}" for at_ms, text in moments)

    @staticmethod
    def _last_word(row: list[dict]) -> dict:
        return [event for event in row if event["type"].startswith("payment.")][-1]

    def _check_last(self, checker: LedgerChecker, sold: Sold, row: list[dict], truths: set[str]) -> None:
        """Checks that the order ends in its kind's last state, with the expected number of events for that state."""
        last, told = sold.kind.last, Counter(event["type"] for event in row)
        if last not in truths:
            checker.note(sold.id, f"{sold.kind} ended as {truths}", "false")
        if row[-1]["payment"]["state"] != last:
            checker.note(sold.id, f"{sold.kind} was last told as {row[-1]['payment']['state']}", "untold")
        if told[f"payment.{last}"] != sold.kind.times:
            checker.note(sold.id, f"{sold.kind} was told {told[f'payment.{last}']} times as {last}", "doubled")
