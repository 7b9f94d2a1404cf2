"""A real Redis with two replicas and three sentinels that perform failovers."""

from pathlib import Path

import redis
import redis.sentinel

from .process import Process
from .redis_server import PROBE_TIMEOUT_S, RedisServer, free_port
from .waiting import wait_until

NAME = "poller"
# The silence after which a sentinel reports a master as down; a failover follows within a second.
DOWN_AFTER_MS = 2000


class RedisSentinel:
    """One master, two replicas and three sentinels, each a process on a free loopback port."""

    def __init__(self, logs: Path, data: Path, fsync: str = "everysec"):
        options = {"repl-diskless-sync-delay": "0", "repl-ping-replica-period": "1"}
        self.servers: list[RedisServer] = []
        # The servers by the port at which other processes connect to them.
        self._found: dict[int, RedisServer] = {}
        for number in range(1, 4):
            port = free_port()
            door = self._door(port)
            told = {"replica-announce-ip": "127.0.0.1", "replica-announce-port": str(door)}
            server = RedisServer(
                logs, data / f"r{number}", f"redis{number}", fsync, port, options | told, timeout_s=PROBE_TIMEOUT_S
            )
            self.servers.append(server)
            self._found[door] = server
        first = next(iter(self._found))
        self.sentinels: list[tuple[int, Process]] = []
        doors = []
        for number in range(1, 4):
            port, folder = free_port(), data / f"s{number}"
            doors.append(self._door(port))
            folder.mkdir(parents=True, exist_ok=True)
            file = folder / "sentinel.conf"
            file.write_text(
                f"bind 127.0.0.1\nport {port}\ndir {folder}\n"
                f"sentinel announce-ip 127.0.0.1\nsentinel announce-port {doors[-1]}\n"
                f"sentinel monitor {NAME} 127.0.0.1 {first} 2\n"
                f"sentinel down-after-milliseconds {NAME} {DOWN_AFTER_MS}\n"
                f"sentinel failover-timeout {NAME} 3000\n"
                f"sentinel parallel-syncs {NAME} 2\n"
            )
            command = ["redis-server", str(file), "--sentinel"]
            self.sentinels.append((port, Process(f"sentinel{number}", command, logs)))
        addresses = ",".join(f"127.0.0.1:{door}" for door in doors)
        self.url = f"redis+sentinel://{addresses}/{NAME}"
        # A message that is published at the master reaches every replica.
        self.listen_url = self.servers[2].url

    def _door(self, port: int) -> int:
        """Returns the port at which other processes reach a listener; a subclass may put a proxy there."""
        return port

    @property
    def processes(self) -> list[Process]:
        return [*self.servers, *(process for _, process in self.sentinels)]

    def start(self) -> "RedisSentinel":
        for server in self.servers:
            server.start()
        for replica in self.servers[1:]:
            with replica.client() as client:
                client.replicaof("127.0.0.1", next(iter(self._found)))
        self.wait_replicas(2)
        for _, sentinel in self.sentinels:
            sentinel.start()
        self._asker = redis.sentinel.Sentinel(
            [("127.0.0.1", port) for port, _ in self.sentinels], socket_timeout=PROBE_TIMEOUT_S
        )
        wait_until(self._is_watched, 60, "the sentinels know each other and the replicas")
        return self

    def _is_watched(self) -> bool:
        try:
            states = [asked.sentinel_master(NAME) for asked in self._asker.sentinels]
        except redis.RedisError:
            return False
        return all(s["num-slaves"] >= 2 and s["num-other-sentinels"] >= 2 for s in states)

    def master(self) -> RedisServer:
        """Returns the server that the sentinels report as the master."""
        _, port = self._asker.discover_master(NAME)
        return self._found[port]

    def client(self) -> redis.Redis:
        """Returns a client that asks the sentinels for the master at every connection."""
        return self._asker.master_for(
            NAME, decode_responses=True, encoding_errors="surrogateescape", socket_timeout=PROBE_TIMEOUT_S
        )

    def wait_failover(self, old: RedisServer, timeout_s: float = 60) -> RedisServer:
        """Waits until another server than `old` is the master and accepts writes."""

        def replaced() -> RedisServer | None:
            try:
                master = self.master()
                if master is old:
                    return None
                with master.client() as client:
                    return master if client.role()[0] == "master" else None
            except (redis.RedisError, redis.sentinel.MasterNotFoundError):
                return None

        return wait_until(replaced, timeout_s, f"a failover from {old.name}", pause_s=0.1)

    def wait_replicas(self, count: int, timeout_s: float = 60) -> None:
        """Waits until this many replicas are synchronised with the master."""

        def in_step() -> bool:
            try:
                master = self.master() if hasattr(self, "_asker") else self.servers[0]
                with master.client() as client:
                    facts = client.info("replication")
            except (redis.RedisError, redis.sentinel.MasterNotFoundError):
                return False
            states = [v for k, v in facts.items() if k.startswith("slave") and isinstance(v, dict)]
            return sum(state["state"] == "online" for state in states) >= count

        wait_until(in_step, timeout_s, f"{count} replicas in step", pause_s=0.1)
