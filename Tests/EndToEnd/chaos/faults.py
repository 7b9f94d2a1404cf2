"""A schedule of faults: the seed determines their kinds, times and durations."""

import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial

from harness.cluster import Cluster, Role
from harness.distant_redis import DistantRedis, DividedSentinel
from harness.process import Process
from harness.redis_cluster import RedisCluster
from harness.redis_sentinel import RedisSentinel
from harness.redis_server import RedisServer

from . import network, operators
from .peers import Peers

# The relative frequency of each kind.
WEIGHTS = {
    "worker killed": 4,
    "worker frozen": 3,
    "worker drained": 1,
    "notifier killed": 1,
    "notifier frozen": 2,
    "notifier drained": 1,
    "api killed": 2,
    "api frozen": 1,
    "redis killed": 2,
    "redis frozen": 2,
    "slot moved": 3,
    # A master acknowledges writes that its replica never receives, then dies.
    "shard lost": 1,
    # Redis has reached `maxmemory` while a new process starts.
    "redis full": 1,
    # The key may not read some objects for a while, but may read the others.
    "objects forbidden": 2,
    # A master and half of all processes are partitioned from its replicas and the sentinels.
    "master cut off": 3,
    "way to redis slow": 2,
    "way to redis stalled": 2,
    "way to redis cut": 2,
    "way to receiver slow": 1,
    "way to receiver stalled": 2,
    "way to receiver cut": 1,
    # The process changes to the other release, newer or older.
    "worker rolled": 3,
    "notifier rolled": 1,
    "api rolled": 2,
    # A process writes standard error to a full disk, or to a pipe without an active reader.
    "log full": 1,
    "log unread": 1,
    # The first of a receiver's two addresses refuses connections.
    "first address dead": 1,
    # The upstream responds to every read with an HTML page and status 200.
    "maintenance page": 2,
    "relay greylists": 1,
    "relay refuses": 1,
    "relay greets late": 1,
    # Redis may evict keys. A process must refuse to start then.
    "store evicts": 1,
}
# The deliveries of a killed notifier wait until its leases expire after 45 s, too long for a short run.
LONG_ONLY = {"notifier killed"}


class Faults:
    """Causes faults one after another, some at the same time, and repairs each of them.

    The durations of the faults and of the pauses between them are random. `log` has (kind, target, start, end), with
    times in ms since 1970. `counts` has the number of faults of each kind.
    """

    PAUSE_S = (0.4, 2.0)
    # The time beyond a worker's lease for which it is frozen. By then other workers have claimed its items.
    BEYOND_LEASE_S = (0.3, 1.5)
    # One in this many faults overlaps with the next one.
    TOGETHER = 4
    # The number of forbidden objects, more than are needed to open their lane's circuit.
    FORBIDDEN = 20

    def __init__(
        self,
        cluster: Cluster,
        seed: int,
        lease_s: float,
        kinds: set[str] | None = None,
        sources: Callable[[], list[str]] = lambda: [],
        peers: Peers | None = None,
    ):
        self.counts: Counter = Counter()
        # The number of events recorded by masters after their replacement.
        self.stray = 0
        self.log: list[tuple[str, str, float, float]] = []
        # The times at which the key could read an object again, by source, in ms since 1970.
        self.refused: dict[str, list[float]] = {}
        self._cluster = cluster
        self._chance = random.Random(seed)
        self._lease_s = lease_s
        self._kinds = kinds
        # Returns the open sources.
        self._sources = sources
        is_far = isinstance(cluster.redis, DistantRedis)
        receivers = peers.ways if peers else []
        self._ways = {"redis": cluster.redis.ways if is_far else [], "receiver": receivers}
        self._relay = peers.relay if peers else None
        self._two_addresses = peers.two_addresses if peers else None
        self._busy: set[str] = set()

    @property
    def _roles(self) -> dict[str, list[Role]]:
        cluster = self._cluster
        return {"worker": cluster.workers, "notifier": cluster.notifiers, "api": cluster.apis}

    def _actions(self) -> dict[str, Callable]:
        found: dict[str, Callable] = {}
        for name, processes in self._roles.items():
            found[f"{name} killed"] = lambda ps=processes: self._any(ps, self._kill)
            found[f"{name} frozen"] = lambda ps=processes: self._any(ps, self._freeze)
            found[f"{name} drained"] = lambda ps=processes: self._any(ps, self._drain)
            if self._cluster.previous:
                found[f"{name} rolled"] = lambda ps=processes: self._any(ps, self._roll)
        found["redis killed"] = lambda: self._redis(self._kill_redis)
        found["redis frozen"] = lambda: self._redis(self._freeze_redis)
        if isinstance(self._cluster.redis, RedisCluster):
            found["slot moved"] = lambda: self._redis(self._move_slot)
            found["shard lost"] = lambda: self._redis(self._lose_shard)
        if isinstance(self._cluster.redis, RedisServer):
            found["redis full"] = lambda: self._redis(self._fill_redis)
        if isinstance(self._cluster.redis, DividedSentinel):
            found["master cut off"] = lambda: self._redis(self._divide)
        works = {"slow": network.slow, "stalled": network.stall, "cut": network.cut}
        for end, ways in self._ways.items():
            for name, work in works.items():
                if ways:
                    found[f"way to {end} {name}"] = lambda e=end, w=work: self._way(e, w)
        found["objects forbidden"] = self._objects
        if not self._cluster.previous:
            # An older release may not handle these faults.
            found |= self._reported()
        wanted = self._kinds if self._kinds is not None else set(WEIGHTS)
        return {kind: found[kind] for kind in WEIGHTS if kind in wanted and kind in found}

    def _reported(self) -> dict[str, Callable]:
        """Returns the faults from operators' reports that have a target in this run."""
        found: dict[str, Callable] = {"maintenance page": lambda: self._sole("upstream", self._maintain)}
        if sys.platform == "linux":
            # These need /dev/full and a pipe with a configurable size.
            found["log full"] = lambda: self._any_role(operators.fill_log)
            found["log unread"] = lambda: self._any_role(operators.stall_log)
        if receiver := self._two_addresses:
            refuse = partial(operators.refuse_first_address, receiver)
            found["first address dead"] = lambda: self._sole("first address", refuse)
        works = (operators.greylist, operators.refuse_by_policy, operators.greet_late)
        for kind, work in zip(("relay greylists", "relay refuses", "relay greets late"), works):
            if self._relay:
                found[kind] = lambda w=work: self._sole("relay", partial(w, self._relay))
        if isinstance(self._cluster.redis, RedisServer):
            found["store evicts"] = self._evicting
        return found

    def run(self, seconds: float) -> None:
        """Causes faults for the given time, and returns when everything runs again."""
        end = time.monotonic() + seconds
        actions = self._actions()
        kinds = list(actions)
        assert kinds, f"none of these faults is possible in this run: {self._kinds}"
        weights = [WEIGHTS[kind] for kind in kinds]
        running: list[threading.Thread] = []
        errors: list[BaseException] = []

        def act(kind: str, target: str, prepared: Callable) -> None:
            began = time.time() * 1000
            try:
                prepared()
            except BaseException as error:
                error.add_note(f"in the fault: {kind}")
                errors.append(error)
            finally:
                self.log.append((kind, target, began, time.time() * 1000))

        while time.monotonic() < end and not errors:
            time.sleep(self._chance.uniform(*self.PAUSE_S))
            kind = self._chance.choices(kinds, weights)[0]
            prepared = actions[kind]()
            if prepared is None:
                continue
            target, work = prepared
            self.counts[kind] += 1
            thread = threading.Thread(target=act, args=(kind, target, work), daemon=True)
            thread.start()
            running.append(thread)
            if self._chance.randrange(self.TOGETHER):
                thread.join()
        for thread in running:
            thread.join(120)
        if errors:
            raise errors[0]

    @property
    def detours(self) -> int:
        """The number of connections to a receiver's second address while the first one refused connections."""
        return self._two_addresses.detours if self._two_addresses else 0

    def between(self, begin_ms: float, end_ms: float) -> str:
        """Returns the faults of a span as text, each with its start and end in seconds since the span's start."""
        found = sorted((began, ended, kind, name) for kind, name, began, ended in self.log)
        return ", ".join(
            f"{kind} ({name}) {(began - begin_ms) / 1000:.1f}–{(ended - begin_ms) / 1000:.1f}"
            for began, ended, kind, name in found
            if began < end_ms and ended > begin_ms
        )

    def _any(self, processes: list[Role], work: Callable) -> tuple[str, Callable] | None:
        """Selects a process without a fault.

        Of several processes, at least one other stays without a fault.
        """
        free = [p for p in processes if p.name not in self._busy]
        if not free or (len(processes) > 1 and len(free) < 2):
            return None
        chosen = self._chance.choice(free)
        # Drawn here and not in the thread, so that only the seed determines the values.
        spans = [self._chance.random() for _ in range(2)]
        return chosen.name, lambda: self._hold(chosen.name, lambda: work(chosen, *spans))

    def _any_role(self, work: Callable) -> tuple[str, Callable] | None:
        """Selects a process of a random role under the rules of `_any`."""
        return self._any(self._chance.choice(list(self._roles.values())), work)

    def _redis(self, work: Callable) -> tuple[str, Callable] | None:
        return self._sole("redis", work)

    def _sole(self, name: str, work: Callable) -> tuple[str, Callable] | None:
        """Selects the only target of its kind, unless it already has a fault."""
        if name in self._busy:
            return None
        spans = [self._chance.random() for _ in range(2)]
        return name, lambda: self._hold(name, lambda: work(*spans))

    def _evicting(self) -> tuple[str, Callable] | None:
        """Selects Redis if no other fault is active, because a fault's restarted process would refuse to start."""
        if self._busy:
            return None
        span = self._chance.random()
        names = [process.name for processes in self._roles.values() for process in processes]
        names += ["redis", "way to redis"]
        return "redis", lambda: self._hold(names, lambda: operators.start_while_evicting(self._cluster, span))

    def _way(self, end: str, work: Callable) -> tuple[str, Callable] | None:
        name = f"way to {end}"
        if name in self._busy:
            return None
        chosen = self._chance.choice(self._ways[end])
        spans = [self._chance.random() for _ in range(2)]
        return name, lambda: self._hold(name, lambda: work(chosen, *spans))

    def _objects(self) -> tuple[str, Callable] | None:
        if "objects" in self._busy or not (sources := self._sources()):
            return None
        chosen = self._chance.sample(sources, min(len(sources), self.FORBIDDEN))
        span = self._chance.random()
        return "objects", lambda: self._hold("objects", lambda: self._forbid(chosen, span))

    def _hold(self, names: str | list[str], work: Callable) -> None:
        held = {names} if isinstance(names, str) else set(names)
        self._busy.update(held)
        try:
            work()
        finally:
            self._busy.difference_update(held)

    def _kill(self, process: Role, pause: float, _: float) -> None:
        process.kill9()
        time.sleep(pause * 1.5)
        process.start().wait_ready(timeout_s=60)

    def _drain(self, process: Role, pause: float, _: float) -> None:
        operators.restart(process, pause)

    def _roll(self, process: Role, pause: float, way: float) -> None:
        self._cluster.change_release(process)
        # Half of the rolls kill the process, as an orchestrator does after its grace period.
        if way < 0.5:
            self._kill(process, pause, way)
        else:
            self._drain(process, pause, way)

    def _divide(self, pause: float, which: float) -> None:
        self.stray += network.divide(self._cluster, pause, which)

    def _freeze(self, process: Process, span: float, _: float) -> None:
        low, high = self.BEYOND_LEASE_S
        process.freeze()
        time.sleep(self._lease_s + low + (high - low) * span)
        process.thaw()

    def _kill_redis(self, pause: float, which: float) -> None:
        redis = self._cluster.redis
        if isinstance(redis, RedisServer):
            redis.kill9()
            time.sleep(pause)
            redis.start()
        else:
            self._fail_over(redis, which, lambda server: server.kill9(), lambda s: s.start())

    def _freeze_redis(self, pause: float, which: float) -> None:
        redis = self._cluster.redis
        if isinstance(redis, RedisServer):
            redis.freeze()
            time.sleep(0.5 + 2 * pause)
            redis.thaw()
        else:
            # The freeze outlasts the failover. The thawed server still considers itself the master.
            self._fail_over(redis, which, lambda s: s.freeze(), lambda s: s.thaw())

    def _fail_over(
        self,
        redis: RedisSentinel | RedisCluster,
        which: float,
        down: Callable[[RedisServer], object],
        up: Callable[[RedisServer], object],
    ) -> None:
        if isinstance(redis, RedisSentinel):
            redis.wait_replicas(2)
            old = redis.master()
        else:
            redis.wait_whole()
            # Two times in three the master that has the watches, otherwise any master.
            masters = redis.masters()
            old = self._cluster.busy_master() if which < 0.67 else masters[int(which * 97) % 3]
        down(old)
        try:
            redis.wait_failover(old)
        finally:
            up(old)
        if isinstance(redis, RedisSentinel):
            redis.wait_replicas(2)
        else:
            redis.wait_whole()

    def _fill_redis(self, span: float, _: float) -> None:
        newcomer = self._cluster.role("newcomer", "worker")
        with self._cluster.redis.client() as client:
            client.config_set("maxmemory", 1)
            try:
                newcomer.start().wait_ready(timeout_s=60)
                time.sleep(1 + span)
            finally:
                newcomer.end()
                self._cluster.processes.remove(newcomer)
                client.config_set("maxmemory", 0)

    def _forbid(self, sources: list[str], span: float) -> None:
        sandbox = self._cluster.sandbox
        family = {"p": "payment_intents", "s": "sources"}
        faults = [
            sandbox.fault("status", f"/v1/{family[source[0]]}/{source}", status=403)
            for source in sources
        ]
        try:
            time.sleep(1 + span)
        finally:
            for fault in faults:
                sandbox.clear_fault(fault)
            for source in sources:
                self.refused.setdefault(source, []).append(time.time() * 1000)

    def _maintain(self, span: float, _: float) -> None:
        ended = operators.show_maintenance_page(self._cluster.sandbox, span)
        for source in self._sources():
            self.refused.setdefault(source, []).append(ended)

    def _lose_shard(self, pause: float, which: float) -> None:
        redis = self._cluster.redis
        redis.wait_whole()
        master = redis.masters()[int(which * 97) % 3]
        replica = redis.part(master)
        time.sleep(0.2 + 0.6 * pause)
        master.kill9()
        replica.thaw()
        redis.wait_failover(master)
        master.start()
        redis.wait_whole()

    def _move_slot(self, pause: float, which: float) -> None:
        redis = self._cluster.redis
        redis.wait_whole()
        tags = self._cluster.busy_partitions()
        # The slow move lets scripts run while half of the slot's keys are already on the other server.
        redis.move_slot(tags[int(which * len(tags))], pause_s=0.05 * pause)
        redis.wait_whole()
