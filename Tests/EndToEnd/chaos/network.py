"""Network faults: slow, stalled and cut connections, and a partitioned master."""

import time
from contextlib import suppress

from harness.cluster import Cluster
from harness.redis_server import RedisServer
from harness.waiting import wait_until
from harness.way import Way

# The delay of each piece of bytes in seconds, as on a bad connection to another continent.
SLOW_S = (0.0, 0.2)
# The duration of a stall in seconds. The range goes beyond a lease (2 s) and the timeout of a command of Redis (5 s).
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
    """Cuts the connections several times, while the processes reconnect."""
    for _ in range(CUTS):
        way.cut()
        time.sleep(0.05 + span * pause)


def recorded(server: RedisServer) -> int:
    """Returns the number of events a server has written into outboxes, as a master or by replication."""
    with server.client() as client:
        found = client.info("commandstats").get("cmdstat_xadd", {})
    return int(found.get("calls", 0))


def divide(cluster: Cluster, pause: float, which: float) -> int:
    """Partitions the master and every second process from the rest, until some seconds after its replacement.

    These processes continue to use the old master. Returns the number of events that it recorded after its replacement.
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
            # On a busy machine the partitioned processes need a while until they record an event. Without one the fault
            # tests nothing.
            wait_until(lambda: recorded(old) > before, 10, "the master on its island records")
        return recorded(old) - before
    finally:
        redis.join()
        # Until the sentinels turn the old master into a replica, every process reaches two masters that accept writes.
        redis.wait_replicas(2)
