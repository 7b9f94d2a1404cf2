"""One run: a cluster under a traffic, and the resources that its processes and its Redis use."""

import asyncio
import json
import os
import subprocess
import time
from collections import Counter
from dataclasses import dataclass

from plan.traffic import Load, Traffic

from harness.cluster import Cluster, program

# CPUCLOCK_SCHED of clock_getcpuclockid(3): the CPU time of all threads of a process, in nanoseconds.
_SCHED = 2
ROLES = ("worker", "notifier", "api", "gateway", "redis")


def cpu_s(pid: int) -> float:
    """Returns the CPU time of a process so far in seconds, user and system."""
    return time.clock_gettime((~pid << 3) | _SCHED)


@dataclass
class Look:
    """All counters at one time."""

    at: float
    cpu: dict[str, float]
    counts: dict[str, float]
    used: float


@dataclass
class Taken:
    """The resources used in a span: cores by role and units per second.

    `redis_bytes` is the memory of Redis at the end of the span, and `age_s` the time since the start of the traffic.
    """

    cores: dict[str, float]
    rates: dict[str, float]
    redis_bytes: float
    age_s: float


class PlanRun:
    """Runs a cluster under a traffic, and compares its resources with the plan of `pollerd simulate`."""

    # The time to open connections and fill pools, in seconds. The warm-up adds two lifetimes of a payment, so that
    # payments of the first lifetime are observed in the second.
    CONNECTED_S = 4

    def __init__(self, traffic: Traffic, seconds: float, warm_up_s: float | None = None):
        self.traffic = traffic
        self.seconds = seconds
        self.warm_up_s = warm_up_s or 2 * traffic.life_s + self.CONNECTED_S

    def cluster(self) -> Cluster:
        """Returns a cluster with `pollerd`'s defaults, except for lane limits, sweeps and source expiry."""
        env = {
            "POLLER_LOG_LEVEL": "warning", "POLLER_LEASE": "12s", "POLLER_POLL_TIMEOUT": "8s",
            "POLLER_GATEWAY_BIND": "off", "POLLER_STRIPE_SWEEP": "off",
            "POLLER_LANE_RATE": "0", "POLLER_LANE_CONCURRENCY": "256",
            # A source has its creation time in whole seconds, hence one second more.
            "POLLER_SOURCE_EXPIRY": f"ideal={self.traffic.life_s + 1:.0f}s/6h",
        }
        if self.traffic.names:
            env["POLLER_SEARCH"] = ",".join(("order", "customer")[: self.traffic.names])
        count = self.traffic.processes
        return Cluster(workers=count, notifiers=0, apis=count, listen=False, env=env)

    def on(self, cluster: Cluster) -> Taken:
        """Runs the traffic on a cluster and returns the measured resources."""
        here = {"POLLER_GATEWAY_BIND": "127.0.0.1:0"}
        numbers = range(1, self.traffic.processes + 1)
        cluster.notifiers = [cluster.role(f"notifier{n}", "notifier").start() for n in numbers]
        self.gateways = [cluster.role(f"gateway{n}", "gateway", here).start() for n in numbers]
        for role in [*cluster.notifiers, *self.gateways]:
            role.wait_ready()
        return asyncio.run(self._measure(cluster))

    def plan(self, age_s: float) -> dict:
        """Returns the planned cluster for a traffic that has run for the given time."""
        told = [*self.traffic.options, "--age", f"{age_s:.0f}s", "--sample", "3000", "--json"]
        done = subprocess.run(
            [program("pollerd"), "simulate", *told],
            env={"PATH": os.environ["PATH"], "POLLER_STRIPE_SWEEP": "off", "POLLER_LANE_RATE": "0"},
            capture_output=True, text=True, timeout=120, check=True,
        )
        return json.loads(done.stdout)["runs"][0]["cluster"]

    def rows(self, taken: Taken) -> list[tuple[str, str, float, float]]:
        """Returns the compared figures as (name, unit, planned, measured)."""
        plan = self.plan(taken.age_s)
        rows = [
            ("polls", "/s", plan["polls_per_s"], taken.rates["polls"]),
            ("webhooks", "/s", plan["deliveries_per_s"], taken.rates["deliveries"]),
            ("events told live", "/s", plan["frames_per_s"], taken.rates["frames"]),
            ("memory of Redis", "MB", plan["redis_bytes"] / 1e6, taken.redis_bytes / 1e6),
            ("cores of Redis", "", plan["redis_cores"], taken.cores["redis"]),
        ]
        rows += [(f"cores of {role}s", "", plan[role]["cores"], taken.cores[role]) for role in ROLES[:-1]]
        planned, found = (sum(row[place] for row in rows[4:]) for place in (2, 3))
        return [*rows, ("cores in all", "", planned, found)]

    async def _measure(self, cluster: Cluster) -> Taken:
        traffic = self.traffic
        addresses = [gateway.address("gateway") for gateway in self.gateways]
        load = Load(traffic, cluster.api_process.address("api"), cluster.sandbox, addresses)
        await asyncio.sleep(2)
        running = asyncio.create_task(load.run(self.warm_up_s + self.seconds + 3))
        while load.begun == 0:
            await self._pass(0.05, running)
        began = time.monotonic()
        await self._pass(self.warm_up_s, running)
        first = await asyncio.to_thread(self._look, cluster, load)
        await self._pass(self.seconds, running)
        last = await asyncio.to_thread(self._look, cluster, load)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        span = last.at - first.at
        return Taken(
            cores={role: (last.cpu[role] - first.cpu[role]) / span for role in ROLES},
            rates={name: (last.counts[name] - first.counts[name]) / span for name in last.counts},
            redis_bytes=last.used,
            age_s=last.at - began,
        )

    async def _pass(self, seconds: float, running: asyncio.Task) -> None:
        done, _ = await asyncio.wait([running], timeout=seconds)
        for task in done:
            task.result()

    def _look(self, cluster: Cluster, load: Load) -> Look:
        groups = {
            "api": cluster.apis, "worker": cluster.workers, "notifier": cluster.notifiers,
            "gateway": self.gateways, "redis": [cluster.redis],
        }
        cpu = {name: sum(cpu_s(process.pid) for process in group) for name, group in groups.items()}
        counts = Counter(
            payments=load.begun, frames=load.frames, arrivals=load.connections,
            polls=sum(worker.metric("poller_polls_total") for worker in cluster.workers),
            events=sum(one.metric("poller_outbox_entries_total") for one in cluster.notifiers),
            deliveries=sum(one.metric("poller_deliveries_total") for one in cluster.notifiers),
        )
        with cluster.redis.client() as client:
            used = client.info("memory")["used_memory"]
        return Look(time.monotonic(), cpu, counts, used)
