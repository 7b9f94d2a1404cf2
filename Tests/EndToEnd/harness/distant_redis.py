"""Redis behind a network of the test's own."""

from pathlib import Path

import redis

from .process import Process
from .redis_sentinel import RedisSentinel
from .redis_server import RedisServer
from .way import Island, Way


class DistantRedis(RedisServer):
    """One server, which processes reach on a way that may be slow, stalled or cut; the test itself has its own."""

    def __init__(self, logs: Path, data: Path, **options):
        super().__init__(logs, data, **options)
        self.way = Way(self.port)
        self.ways = [self.way]
        self.url = f"redis://127.0.0.1:{self.way.port}/0"

    @property
    def listen_url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def client(self) -> redis.Redis:
        return redis.Redis.from_url(
            self.listen_url, decode_responses=True, encoding_errors="surrogateescape", socket_timeout=5
        )


class DividedSentinel(RedisSentinel):
    """Servers and sentinels with a way before each, which everybody takes, so that a part can be cut off."""

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
        """A master and some of who use it, from its replicas, all sentinels and everybody else."""
        self.island.cut_off([master, *company])

    def join(self) -> None:
        self.island.join()
