"""One chaos run: load, faults, settlement, and a verdict by the independent checker."""

import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.cluster import Cluster
from harness.history_checker import HistoryChecker, is_mailed, polled_ms
from harness.poller_api import PollerAPI
from harness.waiting import wait_until

from .bank import Bank
from .faults import LONG_ONLY, WEIGHTS, Faults
from .figures import Figures
from .peers import Peers
from .recorder import Recorder
from .shop import Shop
from .splitting import Splitting

LEASE_S = 2
POLL_TIMEOUT_S = 1
# A watch's log keeps the last 100 events. Each source ends before that, so that its log is complete.
CHANGES_MAX = 80
# The longest delay until a lasting status is recorded: the poll interval (15 s, at most a tenth more), the lease, a
# second, and 30 s for a Redis outage with an election on a busy machine.
NOTICED_WITHIN_S = 16.5 + LEASE_S + 1 + 30

# The deliveries of a killed notifier wait until their lease expires after 45 s. The same applies if the response to a
# claim is lost with a connection to Redis. A short run usually has neither case.
DELIVERED_WITHIN_S = 150
# After three failures in a row, a delivery has been retried after 5, 30 and 120 s, each at most a fifth later.
RETRIED_WITHIN_S = 190
# After two failures in a row, a mail has been retried after 60 and 300 s, each at most a fifth later.
MAILED_WITHIN_S = 450
# One in this many sources with a webhook has mails as well, because a mail costs more than a webhook.
MAILED_OF = 4


@dataclass(frozen=True)
class Plan:
    """The size of a run.

    The seed determines all random choices.
    """

    store: str = "standalone"
    seed: int = 1
    seconds: float = 20
    # The run lasts longer if fewer faults have begun, because on a busy machine a fault takes a while.
    faults_min: int = 2
    sources: int = 120
    # One in this many sources has webhooks. In a short run each other channel receives all events.
    told_of: int = 2
    is_long: bool = False
    fsync: str = "always"
    wait_replicas: int = 0
    workers: int = 3
    apis: int = 2
    kinds: frozenset[str] | None = None
    # The folder of an older release's programs. Every second process then runs that release.
    previous: Path | None = None
    # The initial number of partitions, and the number into which the run splits the store.
    partitions: int | None = None
    split_to: int | None = None


class Run:
    """Runs a plan and stores its results in `figures` and `violations`."""

    # The stores that may lose acknowledged writes.
    WITH_FAILOVERS = {"sentinel", "cluster", "divided"}

    def __init__(self, plan: Plan, say: Callable[[str], None] = lambda _: None):
        self.plan = plan
        self.figures = Figures(plan.store, plan.seed)
        self.violations: list[str] = []
        self._say = say
        self._chance = random.Random(plan.seed)

    @property
    def _may_lose(self) -> bool:
        """Whether a failover may lose acknowledged writes."""
        return self.plan.store in self.WITH_FAILOVERS

    @property
    def _may_forget(self) -> bool:
        """Whether a failover may lose a watch that was accepted."""
        return self._may_lose and not self.plan.wait_replicas

    def cluster(self, make: Callable[..., Cluster] = Cluster) -> Cluster:
        """Returns the cluster of this plan.

        The caller enters it as a context manager, unless `make` does so.
        """
        env = {
            "POLLER_LEASE": f"{LEASE_S}s",
            "POLLER_POLL_TIMEOUT": f"{POLL_TIMEOUT_S}s",
            "POLLER_LANE_RATE": "0",
            "POLLER_LANE_CONCURRENCY": "2000",
            "POLLER_OUTBOX_RETENTION": "300s",
            "POLLER_LOG_LEVEL": "warning",
        }
        if self.plan.partitions:
            env["POLLER_PARTITIONS"] = str(self.plan.partitions)
        if self.plan.wait_replicas:
            env |= {
                "POLLER_WAIT_REPLICAS": str(self.plan.wait_replicas),
                "POLLER_WAIT_TIMEOUT": "500ms",
            }
        # Receivers are as distant as the store. Mails are checked only if no accepted watch may be lost. An older
        # release sends mails for other events, and does not try every address.
        is_new = not self.plan.previous
        self._peers = Peers(self.plan.store == "distant", is_new and not self._may_forget, is_new)
        env |= self._peers.env
        return make(
            workers=self.plan.workers,
            notifiers=2,
            apis=self.plan.apis,
            env=env,
            listen=not self.plan.is_long,
            store=self.plan.store,
            fsync=self.plan.fsync,
            previous=self.plan.previous,
        )

    def alone(self) -> None:
        """Runs the plan on a new cluster, and prints the cluster's report after a failure or a violation."""
        with self.cluster() as cluster:
            try:
                self.on(cluster)
            except BaseException:
                print(cluster.report(), file=sys.stderr)
                raise
            if self.violations:
                print(cluster.report(), file=sys.stderr)

    def on(self, cluster: Cluster) -> None:
        """Runs the plan on a cluster: load, faults, settlement, and the verdict."""
        self._cluster = cluster
        self._told: set[str] = set()
        # The subset of `_told` with mails to the payers as well.
        self._mailed: set[str] = set()
        self._all: list[str] = []
        self._renewed: set[str] = set()
        with cluster.redis.client() as client:
            partitions = self.plan.split_to or int(client.hget("poller:layout", "partitions"))
        self._bank = Bank(cluster.sandbox.url, self.plan.seed, CHANGES_MAX)
        self._shop = Shop(self._addresses)
        # Writes that one replica has are kept, because the most complete replica is promoted. A partitioned master has
        # no replicas.
        kept = min(1, self.plan.wait_replicas)
        self._recorder = Recorder(cluster.redis.client, partitions, self._recorded, replicas=kept)
        try:
            self._load(self.plan.sources)
            # A recorder that has failed would wait in vain.
            wait_until(lambda: self._recorder.check() or self._recorder.count >= self.plan.sources, 60, "the load began")
            splitting = Splitting(cluster, self.plan.split_to, self.plan.seed) if self.plan.split_to else None
            faults = self._play()
            if splitting:
                self.figures.splits = splitting.end()
            self._end(faults)
            self._judge(faults)
        finally:
            self._shop.close()
            self._recorder.close()
            self._peers.close()

    def _addresses(self) -> list[str]:
        """Returns the addresses of the running APIs.

        A starting API has no address yet.
        """
        found = []
        for role in self._cluster.apis:
            if role.running and "pollerd ready" in role.stdout():
                found.append(role.address("api"))
        return found

    def _recorded(self, event: dict) -> None:
        """Reports a recorded event to the bank, which may then change the source again."""
        self._bank.recorded(event["source"])

    def _load(self, count: int) -> None:
        """Creates sources, up to a third of them intents, enqueues their watches, and starts their changes."""
        sandbox = self._cluster.sandbox
        intents = [sandbox.create_intent() for _ in range(min(count // 3, 100))]
        made = [*sandbox.create_sources(count - len(intents)), *intents]
        watches = []
        for source in made:
            watch = {"source": source, "policy": "interactive", "timeout": "24h"}
            if self._chance.randrange(self.plan.told_of) == 0:
                self._told.add(source)
                watch["notify"] = [self._chance.choice(self._peers.urls)]
                if self._peers.relay and len(self._told) % MAILED_OF == 1:
                    self._mailed.add(source)
                    watch["notify"].append(f"mailto:customer+{source}@example.com")
            watches.append(watch)
        self._all += made
        self._shop.order(watches)
        self._bank.take(made)

    def _play(self) -> Faults:
        """Causes the faults, and replaces closed sources by new ones."""
        plan = self.plan
        kinds = plan.kinds
        if kinds is None:
            kinds = set(WEIGHTS) if plan.is_long else set(WEIGHTS) - LONG_ONLY
        if plan.split_to:
            # The command that splits the store would also refuse to start, and the run does not repeat it.
            kinds = kinds - {"store evicts"}
        faults = Faults(self._cluster, plan.seed, LEASE_S, kinds, self._open, self._peers)
        began = time.monotonic()
        while (left := plan.seconds - (time.monotonic() - began)) > 0 or sum(faults.counts.values()) < plan.faults_min:
            faults.run(min(max(left, 1), 10))
            self._recorder.check()
            # The history is read regularly, because the sandbox keeps only the last million changes.
            self._cluster.sandbox.history()
            ended = len(self._recorder.closed)
            open_now = len(self._all) - ended
            # New sources are added only if a failover cannot lose an accepted watch.
            if open_now < plan.sources and not self._may_forget:
                self._load(plan.sources - open_now)
            self._say(
                f"{time.monotonic() - began:5.0f} s  {self._recorder.count:,} recorded, "
                f"{self._bank.changes:,} made, {len(self._all):,} sources, "
                f"{sum(faults.counts.values())} faults"
            )
        self.figures.seconds = time.monotonic() - began
        return faults

    def _open(self) -> list[str]:
        """Returns the sources whose watches are open."""
        return [source for source in self._all if source not in self._recorder.closed]

    def _end(self, faults: Faults) -> None:
        """Settles every source, and waits until everything is recorded and delivered."""
        wait_until(lambda: self._shop.is_idle, 60, "everything ordered was accepted")
        self._bank.settle()
        if self._may_forget:
            self._renew()
        self._wait(
            lambda: self._recorder.closed >= set(self._all), 180, "every source settled on record"
        )
        api = self._api()
        # The recorder may have missed events that a failover dropped. Each watch's own log is complete.
        checked = self._all if self._may_lose else self._sample(200)
        self._logs = {source: api.events(source) for source in checked}
        wanted = {self._last(source) for source in self._told}
        is_cut = self._peers.ways or faults.counts["first address dead"]
        within_s = DELIVERED_WITHIN_S + (RETRIED_WITHIN_S if is_cut else 0)
        self._wait(lambda: self._peers.has_received(wanted), within_s, "every last event delivered")
        mails = {source: [event["id"] for event in self._log(source) if is_mailed(event)] for source in self._mailed}
        self._last_mails = {source: ids[-1] for source, ids in mails.items() if ids}
        self._wait(lambda: not self._missing_mails(), MAILED_WITHIN_S, "every last mail delivered")

    def _wait(self, fact: Callable[[], bool], timeout_s: float, what: str) -> None:
        """Waits for a fact.

        After the timeout the run continues to the verdict, which explains more than a timeout.
        """
        try:
            wait_until(fact, timeout_s, what, pause_s=0.2)
        except AssertionError:
            self._say(f"not within {timeout_s:g} s: {what}")

    def _log(self, source: str) -> list[dict]:
        return self._logs.get(source) or self._recorder.events[source]

    def _last(self, source: str) -> str:
        return self._log(source)[-1]["id"]

    def _missing_mails(self) -> dict[str, str]:
        """Returns the sources whose last mail is missing, with its event.

        A newer mail may replace a failed one.
        """
        arrived = self._peers.relay.receipts.ids() if self._peers.relay else set()
        return {source: event for source, event in self._last_mails.items() if event not in arrived}

    def _sample(self, count: int) -> list[str]:
        return self._chance.sample(self._all, min(count, len(self._all)))

    def _api(self) -> PollerAPI:
        return PollerAPI(wait_until(self._addresses, 60, "an API")[0])

    def _renew(self) -> None:
        """Enqueues again the watches that a failover lost after they were accepted.

        The store allows that loss.
        """
        api = self._api()
        for source in self._all:
            if api.request("GET", f"/v1/watches/{source}").status_code == 404:
                self._renewed.add(source)
        notify = [self._peers.urls[0]]
        self._shop.order(
            [
                {"source": s, "policy": "interactive", "timeout": "24h"}
                | ({"notify": notify} if s in self._told else {})
                for s in self._renewed
            ]
        )

    def _judge(self, faults: Faults) -> None:
        recorder, cluster, figures = self._recorder, self._cluster, self.figures
        recorder.close()
        recorder.check()
        recorded = {source: recorder.events.get(source, []) for source in self._all}
        if self._may_lose:
            recorded = {source: recorded[source] + self._logs[source] for source in self._all}
        history = HistoryChecker(
            cluster.sandbox.history(),
            recorded,
            lineages=self._may_lose,
            two_masters=self.plan.store == "divided" and not self.plan.wait_replicas,
            seen_within_ms=LEASE_S * 1000,
            noticed_within_ms=NOTICED_WITHIN_S * 1000,
            refused=faults.refused,
        )
        for source, log in self._logs.items():
            history.agrees(source, log)
        told = self._peers.webhooks()
        # After a crash, at-least-once delivery allows a repeat with the same ID.
        may_repeat = bool(faults.counts)
        history.channel(
            "webhook", told, doubles=may_repeat, foreign=self._may_forget, among=self._told
        )
        if relay := self._peers.relay:
            history.channel("email", relay.receipts, gaps=True, doubles=may_repeat, among=self._mailed)
            for source, event in self._missing_mails().items():
                history.violations.append(f"{source}: its last mail, {event}, is missing")
                history.counts["lost"] += 1
            figures.mails = len(relay.receipts.ids())
        if not self.plan.is_long:
            stream, pubsub = cluster.stream.receipts, cluster.pubsub.receipts
            loose = {"doubles": self._may_lose, "foreign": self._may_lose}
            history.channel("websocket", stream, gaps=self._may_lose, **loose)
            # Pub/sub may lose messages. The received ones must still be true and in order.
            history.channel("redis", pubsub, gaps=True, **loose)
        fsck = cluster.fsck()
        if fsck.returncode != 0:
            history.violations.append(f"fsck: {fsck.stdout}{fsck.stderr}")
            history.counts["false"] += 1
        ended = [p.name for p in cluster.processes if not p.running]
        if ended:
            history.violations.append(f"ended on their own: {ended}")
        self._fill(figures, history, told, faults, fsck.stdout)
        for source, begin, end in history.late:
            seen = [f"{(polled_ms(e) - begin) / 1000:.1f} {e['status']}" for e in recorded[source]]
            refused = [f"{(at - begin) / 1000:.1f}" for at in faults.refused.get(source, [])]
            history.violations.append(
                f"{source}: recorded at {'; '.join(seen)}; refused until {refused}; meanwhile "
                + faults.between(begin, end)
            )
        self.violations = history.violations

    def _fill(self, figures, history, told, faults, fsck) -> None:
        times: dict[tuple, int] = {}
        for receipt in told.all():
            times[receipt.source, receipt.event] = times.get((receipt.source, receipt.event), 0) + 1
        present = history.recorded
        figures.sources = len(self._all)
        figures.changes = self._bank.changes
        figures.recorded = sum(len(events) for events in present.values())
        figures.told = sum(len(present[source]) for source in self._told)
        figures.delivered = len(times)
        figures.repeated = sum(times.values()) - len(times)
        figures.rewound = history.rewound
        figures.refusals = self._shop.refusals
        figures.faults = dict(faults.counts)
        figures.stray = faults.stray
        figures.detours = faults.detours
        figures.fsck = "; ".join(fsck.split("\n")).strip("; ")
        for kind in ("lost", "doubled", "disordered", "false"):
            setattr(figures, kind, history.counts[kind])
        spans = sorted(history.noticed_ms)
        if spans:
            p50, p99 = (round(spans[int((len(spans) - 1) * share)]) for share in (0.5, 0.99))
            figures.noticed_ms = {"p50": p50, "p99": p99, "max": round(spans[-1])}

    def verdict(self) -> None:
        """Fails if there are violations, with their number and the first twenty."""
        shown = "\n".join(self.violations[:20])
        assert not self.violations, (
            f"{len(self.violations)} violations, seed {self.plan.seed}\n{shown}\n"
            + self.figures.text()
        )
