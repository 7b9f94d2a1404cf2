"""A real redis-server for a test."""

import os
import random
import socket
from collections import deque
from pathlib import Path

import redis

from .process import Process
from .waiting import wait_until


# The ports that this process has given out last. A server opens its port only later.
_given: deque[int] = deque(maxlen=500)
# Each test process uses only the ports whose remainder is its number.
_PROCESSES = 8
_process = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % _PROCESSES

# The timeout of commands to a server with replicas. A test asks each of them in turn during a failover, and one that is
# frozen must not delay the others.
PROBE_TIMEOUT_S = 5


def free_port(bus: bool = False) -> int:
    """Returns a free loopback port; with `bus`, the cluster bus port 10,000 above it is free too.

    No port is given again soon, also not by another process of the same test run.
    """
    # Below the range of ephemeral ports, so that no client's socket takes a port meanwhile. A bus port has the same
    # remainder, because 10,000 is a multiple of the number of processes.
    end = 22_000 if bus else 32_000
    for port in random.SystemRandom().sample(range(16_000 + _process, end, _PROCESSES), 200):
        wanted = {port, port + 10_000} if bus else {port}
        if wanted.intersection(_given):
            continue
        try:
            for number in wanted:
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", number))
            _given.extend(wanted)
            return port
        except OSError:
            continue
    raise AssertionError("no free port in 200 tries")


class RedisServer(Process):
    """A redis-server that keeps its port and data across restarts.

    A test that kills it needs `fsync="always"`, which syncs the append-only file with every command. Then every
    acknowledged write must survive a kill -9, so a missing one is not Redis' fault. Other tests sync every second,
    because a slow disk would delay each command.
    """

    def __init__(
        self,
        logs: Path,
        data: Path,
        name: str = "redis",
        fsync: str = "everysec",
        port: int | None = None,
        options: dict[str, str] | None = None,
        env: dict[str, str] | None = None,
        # A busy machine may stop a server for seconds.
        timeout_s: float = 30,
    ):
        self._timeout_s = timeout_s
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
        """The URL at which published messages can be received."""
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
                # While the server loads the append-only file it answers BusyLoadingError, which is a
                # ConnectionError too.
                except (redis.ConnectionError, redis.TimeoutError):
                    return False

            # Loading a long append-only file can take more than half a minute on a busy machine.
            wait_until(answers, 180, f"{self.name} answers")
        return self

    def client(self) -> redis.Redis:
        # A frozen server does not answer, so a client without a timeout would hang with it.
        return redis.Redis.from_url(
            self.listen_url, decode_responses=True, encoding_errors="surrogateescape", socket_timeout=self._timeout_s
        )
