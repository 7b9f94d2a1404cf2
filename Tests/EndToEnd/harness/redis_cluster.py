"""A real Redis Cluster: by default three masters with one replica each."""

import subprocess
import time
from pathlib import Path

import redis
import redis.cluster
from redis.crc import key_slot

from .process import Process
from .redis_server import PROBE_TIMEOUT_S, RedisServer, free_port
from .waiting import wait_until

MASTERS = 3
# The silence after which other nodes report a node as down; its replica takes over a second later.
NODE_TIMEOUT_MS = 2000


class RedisCluster:
    """Masters and replicas, each a process on a free loopback port."""

    def __init__(self, logs: Path, data: Path, fsync: str = "everysec", masters: int = MASTERS, replicas: int = 1):
        self.replicas = replicas
        options = {
            "cluster-enabled": "yes",
            "cluster-config-file": "nodes.conf",
            "cluster-node-timeout": str(NODE_TIMEOUT_MS),
            # A replica takes over even if its link to the master was down for long.
            "cluster-replica-validity-factor": "0",
            "repl-diskless-sync-delay": "0",
            "repl-ping-replica-period": "1",
        }
        self.servers = [
            RedisServer(
                logs, data / f"n{n}", f"redis{n}", fsync, free_port(bus=True), options, timeout_s=PROBE_TIMEOUT_S
            )
            for n in range(1, masters * (1 + replicas) + 1)
        ]
        self.url = "redis+cluster://" + ",".join(server.address for server in self.servers)
        # A message that is published at one node reaches all nodes.
        self.listen_url = self.servers[-1].url

    @property
    def processes(self) -> list[Process]:
        return list(self.servers)

    def start(self) -> "RedisCluster":
        for server in self.servers:
            server.start()
        nodes = [server.address for server in self.servers]
        command = ["redis-cli", "--cluster", "create", *nodes, "--cluster-replicas", str(self.replicas)]
        made = subprocess.run(
            [*command, "--cluster-yes"], capture_output=True, text=True, timeout=180
        )
        assert made.returncode == 0, made.stdout + made.stderr
        self.wait_whole()
        return self

    def client(self) -> redis.cluster.RedisCluster:
        nodes = [redis.cluster.ClusterNode("127.0.0.1", s.port) for s in self.servers if s.running]
        return redis.cluster.RedisCluster(
            startup_nodes=nodes, decode_responses=True, encoding_errors="surrogateescape", socket_timeout=PROBE_TIMEOUT_S
        )

    def _by_port(self, port: int) -> RedisServer:
        return next(server for server in self.servers if server.port == port)

    def nodes(self, asked: RedisServer | None = None) -> list[dict]:
        """Returns the cluster from the view of a running node: `{id, port, flags, master, slots}`."""
        asked = asked or next(server for server in self.servers if server.running)
        with asked.client() as client:
            text = client.execute_command("CLUSTER NODES")
        if isinstance(text, dict):
            return [
                {
                    "id": facts["node_id"],
                    "port": int(address.split(":")[1].split("@")[0]),
                    "flags": facts["flags"].split(","),
                    "master": facts["master_id"],
                    "slots": facts["slots"],
                }
                for address, facts in text.items()
            ]
        raise AssertionError(f"CLUSTER NODES answered {text!r}")

    def master_of(self, tag: str) -> RedisServer:
        """Returns the master of a hash tag's slot; the tag is, for example, the number of a partition."""
        slot = key_slot(tag.encode())
        asked = next(server for server in self.servers if server.running)
        with asked.client() as client:
            for first, last, node, *_ in client.execute_command("CLUSTER SLOTS"):
                if int(first) <= slot <= int(last):
                    return self._by_port(int(node[1]))
        raise AssertionError(f"no server has slot {slot}")

    def masters(self) -> list[RedisServer]:
        return [
            self._by_port(n["port"])
            for n in self.nodes()
            if "master" in n["flags"] and "fail" not in n["flags"] and n["slots"]
        ]

    def replica_of(self, master: RedisServer) -> RedisServer:
        nodes = self.nodes(master)
        own = next(n["id"] for n in nodes if n["port"] == master.port)
        return self._by_port(next(n["port"] for n in nodes if n["master"] == own))

    def part(self, master: RedisServer) -> RedisServer:
        """Freezes a master's replica, so that it misses every write acknowledged from now on."""
        replica = self.replica_of(master)
        replica.freeze()
        with master.client() as client:
            # Otherwise the writes would wait in the frozen replica's socket, and it would read them later.
            client.execute_command("CLIENT", "KILL", "TYPE", "replica")
        return replica

    def wait_failover(self, old: RedisServer, timeout_s: float = 60) -> None:
        """Waits until every running node sees `old` replaced and all slots served."""

        def replaced() -> bool:
            try:
                return all(
                    not (n["port"] == old.port and n["slots"])
                    for server in self.servers
                    if server.running and server is not old
                    for n in self.nodes(server)
                ) and self._is_served(old)
            except redis.RedisError:
                return False

        wait_until(replaced, timeout_s, f"a failover from {old.name}", pause_s=0.1)

    def _is_served(self, apart_from: RedisServer | None = None) -> bool:
        for server in self.servers:
            if not server.running or server is apart_from:
                continue
            with server.client() as client:
                facts = client.execute_command("CLUSTER INFO")
            if facts["cluster_state"] != "ok" or facts["cluster_slots_ok"] != "16384":
                return False
        return True

    def wait_whole(self, timeout_s: float = 60) -> None:
        """Waits until all slots are served and every master has a synchronised replica."""

        def whole() -> bool:
            try:
                if not self._is_served():
                    return False
                for server in self.masters() if self.replicas else []:
                    with server.client() as client:
                        facts = client.info("replication")
                    if not any(
                        key.startswith("slave") and isinstance(facts[key], dict)
                        and facts[key]["state"] == "online"
                        for key in facts
                    ):
                        return False
                return True
            except redis.RedisError:
                return False

        wait_until(whole, timeout_s, "the cluster is whole", pause_s=0.1)

    def move_slot(
        self, tag: str, pause_s: float = 0, step: int = 10
    ) -> tuple[RedisServer, RedisServer, int]:
        """Moves the slot of a hash tag to another master, as `redis-cli --cluster reshard` does.

        Returns the source, the target and the number of moved keys. It pauses `pause_s` after each `step` keys.
        """
        slot = key_slot(tag.encode())
        source = self.master_of(tag)
        target = next(server for server in self.masters() if server is not source)
        ids = {n["port"]: n["id"] for n in self.nodes(source)}
        moved = 0
        with source.client() as at_source, target.client() as at_target:
            at_target.execute_command("CLUSTER SETSLOT", slot, "IMPORTING", ids[source.port])
            at_source.execute_command("CLUSTER SETSLOT", slot, "MIGRATING", ids[target.port])
            while keys := at_source.execute_command("CLUSTER GETKEYSINSLOT", slot, step):
                where = ("127.0.0.1", target.port, "", 0, 5000)
                at_source.execute_command("MIGRATE", *where, "REPLACE", "KEYS", *keys)
                moved += len(keys)
                time.sleep(pause_s)
            at_target.execute_command("CLUSTER SETSLOT", slot, "NODE", ids[target.port])
            at_source.execute_command("CLUSTER SETSLOT", slot, "NODE", ids[target.port])
        for server in self.masters():
            if server not in (source, target):
                with server.client() as client:
                    client.execute_command("CLUSTER SETSLOT", slot, "NODE", ids[target.port])
        return source, target, moved
