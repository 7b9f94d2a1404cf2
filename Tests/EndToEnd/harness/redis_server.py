"""A real redis-server of the test's own."""

import socket
from pathlib import Path

import redis

from .process import Process
from .waiting import wait_until


class RedisServer(Process):
    """Keeps its port and its data over restarts.

    The append-only file is synced with every command, so that what was acknowledged before a
    kill -9 must be there afterwards: nothing that is missing then can be blamed on Redis.
    """

    def __init__(self, logs: Path, data: Path):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        data.mkdir(parents=True, exist_ok=True)
        options = {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "dir": str(data),
            "appendonly": "yes",
            "appendfsync": "always",
            "save": "",
            "maxmemory-policy": "noeviction",
        }
        command = ["redis-server"]
        for name, value in options.items():
            command += [f"--{name}", value]
        super().__init__("redis", command, logs)
        self.url = f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> "RedisServer":
        super().start()
        client = redis.Redis.from_url(self.url)

        def answers() -> bool:
            assert self.running, f"redis-server ended\n{self.tail()}"
            try:
                return client.ping()
            # Loading the append-only file is BusyLoadingError, a ConnectionError too.
            except (redis.ConnectionError, redis.TimeoutError):
                return False

        wait_until(answers, 20, "redis-server answers")
        client.close()
        return self

    def client(self) -> redis.Redis:
        return redis.Redis.from_url(self.url, decode_responses=True)
