"""Tests with a real Prometheus that each alert fires once when its cause is provoked, and then resolves.

The rules are those of `ops/observability`, with their waits and ranges shortened to seconds.
"""

import contextlib
import copy
import json
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
import yaml

from harness.cluster import SHORT_LEASE, Cluster
from harness.console_shop import Shop
from harness.otlp_collector import OTLPCollector
from harness.prometheus import Prometheus, prometheus
from harness.redis_server import free_port
from harness.signed_webhook import signed_webhook
from harness.waiting import wait_until

pytestmark = pytest.mark.skipif(not prometheus(), reason="no prometheus: ops/test gets it where apt or brew is")

RULES = yaml.safe_load((Path(__file__).resolve().parents[2] / "ops/observability/alerts.yml").read_text())
# Longer than the delay of a scrape on a busy machine.
FOR = "3s"
# The range of counters: several scrapes, and long enough for another poll of a refused watch.
SPAN = "12s"
# Lower thresholds for alerts that otherwise need minutes or thousands of items.
LESS = {
    "PollerWatchesLate": ("> 300", "> 3"),
    "PollerSweepBehind": ("> 300", "> 3"),
    "PollerEventsWait": ("> 1000", "> 0"),
    # Only probes still fail, which keeps the rate low.
    "PollerPollsFail": ("> 0.2", "> 0.01"),
}
# Alerts that cannot be provoked within a minute; only their unit tests cover them.
UNPROVOKED = {
    "PollerVersionsDiffer", "PollerWebhooksMissed", "PollerReadBudgetShort", "PollerAuditLost", "PollerIncidentOpen",
}

# Alerts over ranges that have not passed yet when the causes are fixed.
FADING = {"PollerKeyRefused", "PollerPollsFail", "PollerProcessesDie", "PollerEndpointDisabled", "PollerSpansDropped"}

# A valid configuration file, which the processes reload.
GOOD = "upstreams: {}\n"

# The secret of Stripe's webhooks, which the scraped API receives.
SECRET = "whsec_alerts"

# The time limit for an alert: one refresh of the cluster's gauges, plus a margin for a busy machine.
LOOK_S = 90


def hastened() -> dict:
    rules = copy.deepcopy(RULES)
    for rule in (rule for group in rules["groups"] for rule in group["rules"]):
        rule["expr"] = re.sub(r"(\[|offset )\d+[mh]", rf"\g<1>{SPAN}", rule["expr"])
        name = rule.get("alert")
        if name:
            rule["for"] = FOR
        if name in LESS:
            before = rule["expr"]
            rule["expr"] = before.replace(*LESS[name])
            assert rule["expr"] != before, name
    return rules


class Watched:
    """A cluster whose API, worker and notifier are scraped, and the shop that uses it."""

    def __init__(self, cluster: Cluster):
        self.began = time.monotonic()
        self.cluster = cluster
        self.shop = Shop(cluster)
        ports = {name: free_port() for name in ("api", "worker", "notifier")}
        self.file = cluster.logs.parent / "followed.yaml"
        self.file.write_text(GOOD)
        self.traces = free_port()
        self.collector: OTLPCollector | None = None
        followed = {"POLLER_CONFIG_FILE": str(self.file), "POLLER_OTLP_ENDPOINT": f"http://127.0.0.1:{self.traces}"}
        self.api, self.worker, self.notifier = (
            cluster.role(
                f"scraped-{name}", name,
                {"POLLER_ADMIN_BIND": f"127.0.0.1:{port}", "POLLER_API_BIND": f"127.0.0.1:{free_port()}"}
                | followed | ({"STRIPE_WEBHOOK_SECRET": SECRET} if name == "api" else {}),
            )
            for name, port in ports.items()
        )
        for role in (self.worker, self.notifier):
            role.start().wait_ready()
        targets = [f"127.0.0.1:{port}" for port in ports.values()]
        self.prometheus = cluster._add(Prometheus(cluster.logs, cluster.logs.parent / "prometheus", hastened(), targets)).start()
        self.faults: list[str] = []
        self.seen: dict[str, dict] = {}
        self.last: set[str] = set()

    def fault(self, mode: str, match: str, **plan) -> None:
        self.faults.append(self.cluster.sandbox.fault(mode, match, **plan))

    def note(self, what: str) -> None:
        """Prints a line for the report of a failed test."""
        print(f"{time.monotonic() - self.began:5.1f} s  {what}")

    def firing(self) -> set[str]:
        """Returns the alerts that fire now, and prints each change."""
        now = self.prometheus.firing()
        for name in sorted(now.keys() ^ self.last):
            self.note(f"{name} {'fires' if name in now else 'is silent'}")
        self.last = set(now)
        self.seen |= now
        return self.last

    def fires(self, *names: str) -> None:
        wait_until(lambda: self.firing() and set(names) <= self.seen.keys(), LOOK_S, f"{names} fire", pause_s=0.2)

    def is_silent(self, but: frozenset[str] | set[str] = frozenset()) -> None:
        wait_until(lambda: not self.firing() - but, LOOK_S + 20, "all alerts are silent", pause_s=0.2)

    def upstream_fails(self) -> None:
        """Makes requests to the upstream fail in several ways.

        One payment is refused, one is unreadable and one hangs. Intents get errors, setup intents a 429, and the
        event list fails.
        """
        self.fault("status", "/v1/sources/src_refused", status=401)
        self.fault("hang", "/v1/sources/src_hangs")
        self.fault("status", "/v1/payment_intents", status=500)
        self.fault("status", "/v1/setup_intents", status=429)
        self.fault("status", "/v1/events", status=500)
        for source in ["src_refused", "seti_slowed", *(f"pi_silent_{number}" for number in range(12))]:
            self.cluster.enqueue(source, notify=[])
        self.dead = self.shop.quarantines("DEAD-1")
        # Simulates a replay that ended three processes; test_poison_entries.py tests how this happens.
        now = "2026-11-20T09:30:00.125Z"
        entry = {"id": "replay:0:ep_x", "reader": "replay", "deaths": 3, "first_at": now, "set_aside_at": now}
        with self.cluster.redis.client() as client:
            client.hset("poller:Q{0}", entry["id"], json.dumps(entry))

    def receivers_fail(self) -> None:
        """Makes one endpoint refuse an event, one answer 410, and one be down for a dozen deliveries."""
        self.bad = self.shop.endpoint("bad", "/bad", types=["payment.paid"], retry="none")
        self.gone = self.shop.endpoint("gone", "/gone", types=["payment.paid"])
        self.shop.pays("PAID-1", 900)
        self.down = self.shop.endpoint("down", "/down")
        for source in self.cluster.sandbox.create_sources(12):
            self.cluster.enqueue(source, policy="patient", notify=[])

    def operators_slip(self) -> None:
        """Breaks the configuration file while the trace collector is not running yet."""
        self.file.write_text(GOOD + "upstreams: [\n")

    def mend_what_operators_did(self) -> None:
        self.file.write_text(GOOD)
        self.collector = OTLPCollector(self.traces)

    def processes_end(self) -> None:
        """Stops the notifier, creates an event that is not delivered, and kills the worker during a poll."""
        self.notifier.terminate()
        late = self.shop.watches("LATE-1")
        self.cluster.sandbox.authorise(late)
        self.shop.until(late, lambda watch: watch["status"] == "chargeable")
        self.cluster.enqueue("src_hangs", notify=[])

        def holds_a_poll() -> bool:
            """Freezes the worker and returns whether it holds the poll, which would end after two seconds."""
            self.worker.freeze()
            is_held = self.shop.call("GET", "/v1/watches/src_hangs/explain")["place"] == "leased"
            if not is_held:
                self.worker.thaw()
            return is_held

        wait_until(holds_a_poll, 60, "a poll hangs")
        self.worker.kill9()
        self.cluster.enqueue(self.cluster.sandbox.create_source(), notify=[])

        def is_seen() -> bool:
            """Ended processes count as alive for some seconds, and an overdue watch is late only after a while."""
            stats = self.shop.call("GET", "/v1/stats")
            return not stats["workers"] and not stats["notifiers"] and stats["oldest_overdue_ms"] > 3000

        wait_until(is_seen, 60, "every process knows", pause_s=0.2)

    def webhook(self, age_s: int = 0) -> int:
        """Posts a webhook event as Stripe does, signed `age_s` seconds ago."""
        body = json.dumps({"id": f"evt_{time.time():.0f}", "type": "customer.created", "livemode": False, "data": {"object": {}}}).encode()
        headers = signed_webhook(body, SECRET, age_s)
        return requests.post(f"{self.api.address('api')}/v1/stripe/webhook", body, headers=headers, timeout=60).status_code

    def mend_upstream(self) -> None:
        while self.faults:
            self.cluster.sandbox.clear_fault(self.faults.pop())

    def mend(self) -> None:
        """Fixes the causes as the runbook says.

        It starts processes, resumes lanes, repairs endpoints and replays events.
        """
        for role in (self.worker, self.notifier):
            role.start().wait_ready()
        for lane in ("payment_intents", "setup_intents", "charges", "sources"):
            self.shop.call("POST", f"/v1/lanes/default%2F{lane}/resume")
        self.shop.call("POST", f"/v1/quarantine/{self.dead}/redrive")
        self.shop.call("POST", "/v1/quarantine/entries/replay%3A0%3Aep_x/dismiss")
        self.shop.receivers.mended |= {"/bad", "/down"}
        self.shop.call("POST", f"/v1/endpoints/{self.bad}/replay")
        # A requested retry is sent even though the circuit is open, and its success closes the circuit. So does a probe
        # of the open circuit, during which a retry is rejected. A probe that began before the repair fails.
        (waiting, *_) = self.shop.call("GET", f"/v1/deliveries?endpoint={self.down}&limit=1")["data"]

        def is_retried() -> bool:
            answer = requests.post(f"{self.cluster.api.url}/v1/deliveries/{waiting['id']}/retry", timeout=60)
            code = None if answer.ok else answer.json()["code"]
            assert code in (None, "delivery_busy", "nothing_to_retry"), answer.text
            return code != "delivery_busy"

        wait_until(is_retried, 60, "a delivery is retried")
        self.shop.call("DELETE", f"/v1/endpoints/{self.gone}")

        def is_well() -> bool:
            stats = self.shop.call("GET", "/v1/stats")
            lanes = stats["lanes"]
            stopped = sum(lanes[state] for state in ("paused", "open", "probing", "held", "slowed"))
            left = (stopped, stats["quarantined"], stats["deliveries_dead"], stats["endpoints_down"], stats["watches"]["undelivered"])
            self.left = stats
            return not any(left) and stats["oldest_overdue_ms"] < 1000

        try:
            wait_until(is_well, 60, "all is mended", pause_s=0.2)
        except AssertionError:
            print(self.left)
            raise

    @contextlib.contextmanager
    def shop_that_asks(self) -> Iterator[None]:
        """Sends requests to the scraped API continuously."""
        url, over = self.api.address("api") + "/v1/stats", threading.Event()

        def ask() -> None:
            while not over.is_set():
                assert requests.get(url, timeout=60).status_code in (200, 503)

        asking = threading.Thread(target=ask)
        asking.start()
        try:
            yield
        finally:
            over.set()
            asking.join()

    def close(self) -> None:
        self.shop.close()
        if self.collector:
            self.collector.close()


def test_each_alert_fires_once_when_provoked_and_then_resolves(chaos):
    env = SHORT_LEASE | {"POLLER_STRIPE_SWEEP": "1s", "POLLER_QUARANTINE_AFTER": "0s"}
    cluster = chaos(workers=0, notifiers=0, listen=False, fsync="always", env=env)
    it = Watched(cluster)
    try:
        it.receivers_fail()
        it.upstream_fails()
        it.shop.call("POST", "/v1/lanes/default%2Fcharges/pause")
        it.operators_slip()
        it.fires(
            "PollerSweepBehind", "PollerKeyRefused", "PollerPollsFail", "PollerEndpointDisabled",
            "PollerConfigurationRefused", "PollerSpansDropped",
        )
        it.mend_what_operators_did()
        wait_until(lambda: "PollerConfigurationRefused" not in it.firing(), LOOK_S, "the mended file is followed")
        disabled = it.notifier.metric("poller_endpoints_disabled_total")
        assert disabled == 1, f"one endpoint was disabled, {disabled:g} are counted"
        it.processes_end()
        it.fires("PollerFiguresMissing", "PollerProcessDown")
        it.api.start().wait_ready()
        assert it.webhook(age_s=600) == 400
        it.fires(
            "PollerNoWorker", "PollerNoNotifier", "PollerWatchesLate", "PollerTooFewWorkers", "PollerLaneStopped",
            "PollerLanePaused", "PollerUpstreamSlows", "PollerWatchesQuarantined", "PollerEventsWait",
            "PollerEntriesSetAside", "PollerDeadLetters", "PollerEndpointDown", "PollerWebhooksRefused",
        )
        it.note("everything is in trouble")
        it.mend_upstream()
        assert it.webhook() == 200
        it.mend()
        it.fires("PollerProcessesDie")
        it.is_silent(but=FADING)
        it.note("all is well")
        cluster.redis.kill9()
        with it.shop_that_asks():
            it.fires("PollerStoreAway", "PollerRequestsFail")
        it.note("Redis is missed")
        cluster.redis.start()
        it.is_silent()
        it.note("all is well at the end")

        alerts = {rule["alert"] for group in RULES["groups"] for rule in group["rules"] if "alert" in rule}
        assert it.seen.keys() == alerts - UNPROVOKED
        for name, notes in it.seen.items():
            assert "<error" not in str(notes) and "{{" not in str(notes), f"{name}: {notes}"
        fired = it.prometheus.fired()
        # The sweep cannot read while Redis is unavailable, and its metric keeps growing.
        assert fired.pop("PollerSweepBehind default") > 1
        # Leases that expire during the outage are recovered like those of dead processes. A status refresh before
        # the next heartbeat finds no process, and one before the first polls finds late watches. Such a result lasts
        # 15 s. The real rules wait a minute, these only seconds.
        again = {"PollerProcessesDie worker", "PollerNoWorker", "PollerNoNotifier", "PollerTooFewWorkers", "PollerWatchesLate"}
        often = {name: count for name, count in fired.items() if count != 1 and not (count == 2 and name in again)}
        assert not often, f"fired more than once: {often}"
    finally:
        it.close()
