"""What goes wrong between the parts: ways that are slow, stalled and cut, and a master on an island."""

import time
from contextlib import suppress

from harness.cluster import Cluster
from harness.redis_server import RedisServer
from harness.waiting import wait_until
from harness.way import Way

# Of each piece of bytes, beside what is behind it: a way to another continent on a bad day.
SLOW_S = (0.0, 0.2)
# Shorter and longer than a lease (2 s), and than anybody waits for Redis (POLLER_REDIS_TIMEOUT).
STALL_S = (2.0, 8.0)
CUTS = 4


def slow(way: Way, span: float, _: float) -> None:
    way.delay_s = SLOW_S
    time.sleep(2 + 3 * span)
    way.delay_s = (0.0, 0.0)


def stall(way: Way, span: float, _: float) -> None:
    shortest, longest = STALL_S
    way.is_stalled = True
    time.sleep(shortest + (longest - shortest) * span)
    way.is_stalled = False


def cut(way: Way, span: float, pause: float) -> None:
    """Once and again, while what was cut comes back."""
    for _ in range(CUTS):
        way.cut()
        time.sleep(0.05 + span * pause)


def recorded(server: RedisServer) -> int:
    """How many events a server has written into outboxes as a master, or heard of from one."""
    with server.client() as client:
        found = client.info("commandstats").get("cmdstat_xadd", {})
    return int(found.get("calls", 0))


def divide(cluster: Cluster, pause: float, which: float) -> int:
    """Cuts the master off together with every second process, until some seconds after it was replaced.

    Its company goes on to work with it. Gives how many events it recorded when it was none any more.
    """
    redis = cluster.redis
    redis.wait_replicas(2)
    old = redis.master()
    company = [*cluster.workers, *cluster.notifiers, *cluster.apis][int(which * 2) :: 2]
    redis.cut_off(old, company)
    try:
        redis.wait_failover(old)
        before = recorded(old)
        time.sleep(1 + 3 * pause)
        with suppress(AssertionError):
            # On a busy machine its company takes a while to poll what lies there; without trouble it is none.
            wait_until(lambda: recorded(old) > before, 10, "the master on its island records")
        return recorded(old) - before
    finally:
        redis.join()
        # Until the sentinels have made a replica of it, both take writes, and everybody reaches both.
        redis.wait_replicas(2)
