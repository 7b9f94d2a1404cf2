"""What goes wrong, when, and for how long: a schedule that a seed decides."""

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

# How often each kind comes, in relation to the others.
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
    # A master that acknowledges for a while what its replica never hears, and dies.
    "shard lost": 1,
    # No memory left, while a process starts anew into it.
    "redis full": 1,
    # Objects that the key may not see for a while, beside those it may.
    "objects forbidden": 2,
    # A master, with half of all processes, that its replicas and the sentinels cannot see.
    "master cut off": 3,
    "way to redis slow": 2,
    "way to redis stalled": 2,
    "way to redis cut": 2,
    "way to receiver slow": 1,
    "way to receiver stalled": 2,
    "way to receiver cut": 1,
    # To the other release, forward or back.
    "worker rolled": 3,
    "notifier rolled": 1,
    "api rolled": 2,
    # Standard error of a process is on a full disk, or a pipe that is not read.
    "log full": 1,
    "log unread": 1,
    # The first of a receiver's two addresses refuses connections.
    "first address dead": 1,
    # The upstream answers every read with a page of HTML and 200.
    "maintenance page": 2,
    "relay greylists": 1,
    "relay refuses": 1,
    "relay greets late": 1,
    # A process that starts while Redis may evict must refuse to.
    "store evicts": 1,
}
# A delivery of a killed notifier waits for the end of its lease, 45 s: too long for a short run.
LONG_ONLY = {"notifier killed"}


class Faults:
    """Does one thing after the other, some at once, and puts everything right again.

    It sleeps for as long as a fault is to last, or as nothing is to happen: the spans are drawn.
    `log` has (kind, target, from when, to when in ms since 1970); `counts` how often each kind was done.
    """

    PAUSE_S = (0.4, 2.0)
    # Longer than any lease of a worker here: what it held has been taken by somebody else.
    BEYOND_LEASE_S = (0.3, 1.5)
    # Of one fault in so many, the next does not wait for the end.
    TOGETHER = 4
    # More of them than it takes to open the circuit of their lane.
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
        # Events recorded by masters that had been replaced.
        self.stray = 0
        self.log: list[tuple[str, str, float, float]] = []
        # When the key might see an object again, by source, in ms since 1970.
        self.refused: dict[str, list[float]] = {}
        self._cluster = cluster
        self._chance = random.Random(seed)
        self._lease_s = lease_s
        self._kinds = kinds
        # Those that are open.
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
            # A former release may not know what to do about them.
            found |= self._reported()
        wanted = self._kinds if self._kinds is not None else set(WEIGHTS)
        return {kind: found[kind] for kind in WEIGHTS if kind in wanted and kind in found}

    def _reported(self) -> dict[str, Callable]:
        """The faults that operators have reported, as far as this run has their targets."""
        found: dict[str, Callable] = {"maintenance page": lambda: self._sole("upstream", self._maintain)}
        if sys.platform == "linux":
            # Needs /dev/full, and a pipe whose size can be set.
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
        """Until the time is over and everything runs again."""
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
        """How often a receiver was connected at its second address while the first one refused."""
        return self._two_addresses.detours if self._two_addresses else 0

    def between(self, begin_ms: float, end_ms: float) -> str:
        """What went wrong in a span, each with its seconds from the beginning of that."""
        found = sorted((began, ended, kind, name) for kind, name, began, ended in self.log)
        return ", ".join(
            f"{kind} ({name}) {(began - begin_ms) / 1000:.1f}–{(ended - begin_ms) / 1000:.1f}"
            for began, ended, kind, name in found
            if began < end_ms and ended > begin_ms
        )

    def _any(self, processes: list[Role], work: Callable) -> tuple[str, Callable] | None:
        """One that nothing is being done to, while another of its kind is left in peace."""
        free = [p for p in processes if p.name not in self._busy]
        if not free or (len(processes) > 1 and len(free) < 2):
            return None
        chosen = self._chance.choice(free)
        # Chosen here, so that the seed alone decides, whatever the threads do.
        spans = [self._chance.random() for _ in range(2)]
        return chosen.name, lambda: self._hold(chosen.name, lambda: work(chosen, *spans))

    def _any_role(self, work: Callable) -> tuple[str, Callable] | None:
        """A process of any role, chosen as `_any` does."""
        return self._any(self._chance.choice(list(self._roles.values())), work)

    def _redis(self, work: Callable) -> tuple[str, Callable] | None:
        return self._sole("redis", work)

    def _sole(self, name: str, work: Callable) -> tuple[str, Callable] | None:
        """A target of which there is only one."""
        if name in self._busy:
            return None
        spans = [self._chance.random() for _ in range(2)]
        return name, lambda: self._hold(name, lambda: work(*spans))

    def _evicting(self) -> tuple[str, Callable] | None:
        """Redis, while no other fault is in force: each process that a fault starts would refuse to start."""
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
        # As an orchestrator does, that has no patience half of the time.
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
            # Longer than anybody waits for it: it comes back and takes itself for the master.
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
            # Two times in three the one that has the watches; else any.
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
        # So slowly that scripts meet the slot with half of its keys gone.
        redis.move_slot(tags[int(which * len(tags))], pause_s=0.05 * pause)
        redis.wait_whole()
