"""A real redis-server of the test's own."""

import random
import socket
from pathlib import Path

import redis

from .process import Process
from .waiting import wait_until


def free_port(bus: bool = False) -> int:
    """A loopback port nobody listens on; with `bus`, the cluster bus' 10,000 above is free too."""
    # Below what the system hands out by itself, so that no client's socket takes it meanwhile.
    for port in random.SystemRandom().sample(range(16_000, 32_000), 200):
        try:
            for wanted in (port, port + 10_000) if bus else (port,):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", wanted))
            return port
        except OSError:
            continue
    raise AssertionError("no free port in 200 tries")


class RedisServer(Process):
    """Keeps its port and its data over restarts.

    The append-only file is synced with every command unless `fsync` says otherwise, so that what
    was acknowledged before a kill -9 must be there afterwards: nothing that is missing then can be
    blamed on Redis.
    """

    def __init__(
        self,
        logs: Path,
        data: Path,
        name: str = "redis",
        fsync: str = "always",
        port: int | None = None,
        options: dict[str, str] | None = None,
        env: dict[str, str] | None = None,
    ):
        self.port = port or free_port()
        self.folder = data
        data.mkdir(parents=True, exist_ok=True)
        settings = {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "dir": str(data),
            "appendonly": "yes",
            "appendfsync": fsync,
            "save": "",
            "maxmemory-policy": "noeviction",
        } | (options or {})
        command = ["redis-server"]
        for option, value in settings.items():
            command += [f"--{option}", *value.split()] if value else [f"--{option}", ""]
        super().__init__(name, command, logs, env)
        self.url = f"redis://127.0.0.1:{self.port}/0"

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def listen_url(self) -> str:
        """Where what is published can be heard."""
        return self.url

    @property
    def processes(self) -> list[Process]:
        return [self]

    def start(self) -> "RedisServer":
        super().start()
        with self.client() as client:

            def answers() -> bool:
                assert self.running, f"redis-server ended\n{self.tail()}"
                try:
                    return client.ping()
                # Loading the append-only file is BusyLoadingError, a ConnectionError too.
                except (redis.ConnectionError, redis.TimeoutError):
                    return False

            # A long append-only file on a busy machine is read for half a minute and more.
            wait_until(answers, 180, f"{self.name} answers")
        return self

    def client(self) -> redis.Redis:
        # A frozen server answers nothing: without a timeout its client would be frozen with it.
        return redis.Redis.from_url(self.url, decode_responses=True, encoding_errors="surrogateescape", socket_timeout=5)
