"""Redis behind network proxies that a test controls."""

from pathlib import Path

from .process import Process
from .redis_sentinel import RedisSentinel
from .redis_server import RedisServer
from .way import Island, Way


class DistantRedis(RedisServer):
    """One server that processes reach through a slow, stalled or cut proxy; the test connects directly."""

    def __init__(self, logs: Path, data: Path, **options):
        super().__init__(logs, data, **options)
        self.way = Way(self.port)
        self.ways = [self.way]
        self.url = f"redis://127.0.0.1:{self.way.port}/0"

    @property
    def listen_url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"


class DividedSentinel(RedisSentinel):
    """Servers and sentinels, each behind a proxy that every client uses, so that some can be partitioned off."""

    def __init__(self, logs: Path, data: Path, **options):
        self.island = Island()
        self.ways: list[Way] = []
        super().__init__(logs, data, **options)
        behind = {server.port: server for server in self.servers} | dict(self.sentinels)
        for way in self.ways:
            way.target = behind[way.behind]

    def _door(self, port: int) -> int:
        way = Way(port, island=self.island)
        self.ways.append(way)
        return way.port

    def cut_off(self, master: RedisServer, company: list[Process]) -> None:
        """Separates a master and some of its clients from its replicas, all sentinels and every other client."""
        self.island.cut_off([master, *company])

    def join(self) -> None:
        self.island.join()
