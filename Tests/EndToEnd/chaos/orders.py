"""Orders of every kind while processes die at every step, and payers who look on all the while.

Each payer gives an order, pays or does not, and reads the page until it says how that ended; the shop hears
webhooks, the payer gets mails. In the end Stripe's own ledger judges every one of these words: was it
true when it was said, was the last word told, and was anybody charged twice?
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

from harness.cluster import Cluster
from harness.history_checker import is_mailed
from harness.ledger import Span, read
from harness.ledger_checker import LedgerChecker
from harness.poller_api import PollerAPI
from harness.redis_server import free_port
from harness.shop import with_webhooks
from harness.statements import of_event, of_html, of_mail, of_page, seen_ms
from harness.waiting import wait_until

# What is said of the watch of an order that did not end.
WATCHED = ("state", "run", "seq", "attempts", "last_polled_at", "next_poll_at", "last_error", "charge", "status")
# What has failed several times, or found the relay busy, is tried again after minutes.
DELIVERY_S = 900
# A look ends with its lease, and a charge is made within one.
LOOK_MS = 10_000
# Who read what was recorded, at the same time.
JUDGES = 8


@dataclass
class OrderFigures:
    """What a run of orders did and what came of it; all of the second block must be 0."""

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
        """For a person."""
        rows = [(name.replace("_", " "), value) for name, value in asdict(self).items()]
        return "\n".join(f"{name:<14}  {value}" for name, value in rows)


class OrderRun:
    """A shop's busy hour: so many orders, so many at once, and a fire."""

    def __init__(self, orders: int, seed: int, at_once: int = 48, say=lambda text: None):
        self.figures = OrderFigures(orders, seed)
        self.violations: list[str] = []
        self._at_once = at_once
        self._say = say

    def cluster(self) -> Cluster:
        """A cluster that may lose any of its processes: each comes back where it was."""
        env = {
            "POLLER_STRIPE_SWEEP": "1s", "POLLER_LOG_LEVEL": "warning",
            "POLLER_API_BIND": f"127.0.0.1:{free_port()}",
        }
        return Cluster(workers=3, notifiers=2, listen=False, env=env)

    def on(self, cluster: Cluster) -> None:
        with_webhooks(cluster)
        # Each charge takes effect at once and is answered late, and some answers never come.
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
                # Whoever charges next, and most who do have no other chance: it is spent soon.
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
        """Waits until shop and payers have been told all there is for them."""
        ids = {event["id"] for row in recorded.values() for event in row}
        hooked = cluster.webhook.receipts
        try:
            wait_until(lambda: ids <= hooked.ids(), DELIVERY_S, "every event has reached the shop", pause_s=1)
            # Of the mails a newer one may have taken the place of those that were still to be sent.
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
        """Every webhook, mail and page, in the order in which they came."""
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
        """What was true of a payment and what was told of it, each with its time: for whoever looks why."""
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
        """Each order ends as its kind has to, and its last word is told as often as it came true."""
        last, told = sold.kind.last, Counter(event["type"] for event in row)
        if last not in truths:
            checker.note(sold.id, f"{sold.kind} ended as {truths}", "false")
        if row[-1]["payment"]["state"] != last:
            checker.note(sold.id, f"{sold.kind} was last told as {row[-1]['payment']['state']}", "untold")
        if told[f"payment.{last}"] != sold.kind.times:
            checker.note(sold.id, f"{sold.kind} was told {told[f'payment.{last}']} times as {last}", "doubled")
