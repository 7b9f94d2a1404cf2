"""Tests the Redis Cluster script of ops/kubernetes with six servers on separate addresses.

A restarted pod has another address, so each server restarts at another address of the loopback network.
"""

import os
import platform
import signal
import subprocess
from pathlib import Path

import pytest
import redis
from redis.crc import key_slot

from harness.kubernetes import FOLDER, of_kind, pod
from harness.process import Process
from harness.redis_server import free_port
from harness.waiting import wait_until

NODES = 6
# Characters with a meaning for a shell or in a configuration file of Redis.
PASSWORD = """a 'password' of "a test": $HOME `id` \\n \\x41 \\" # end\\"""


class Nodes:
    """The pods of the StatefulSet, with persistent data and changing addresses."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.port = free_port(bus=True)
        self.pods: list[Process] = []
        (folder / "password").write_text(PASSWORD)
        for number in range(NODES):
            (folder / f"data{number}").mkdir()
            (folder / f"run{number}").mkdir()

    def address(self, number: int, turn: int) -> str:
        return f"127.77.{turn}.{number + 1}"

    def start(self, turn: int) -> None:
        self.turn = turn
        # The addresses that the nodes' names resolve to.
        peers = " ".join(self.address(number, turn) for number in range(NODES))
        for number in range(NODES):
            address = self.address(number, turn)
            env = {
                "POD_NAME": f"redis-cluster-{number}", "POD_IP": address, "PEERS": peers, "BIND": address,
                "PORT": str(self.port), "DATA": str(self.folder / f"data{number}"), "MAXMEMORY": "50mb", "PAUSE": "1",
                "RUN": str(self.folder / f"run{number}"), "PASSWORD_FILE": str(self.folder / "password"),
            }
            script = str(FOLDER / "components/redis-cluster/node.sh")
            self.pods.append(Process(f"node{number}-{turn}", ["sh", script], self.folder, env).start())

    def stop(self) -> None:
        for process in self.pods:
            process.end()
        self.pods.clear()

    def client(self, number: int) -> redis.Redis:
        return redis.Redis(self.address(number, self.turn), self.port, password=PASSWORD, socket_timeout=5, decode_responses=True)

    def are_whole(self) -> bool:
        """Returns whether every node knows the others' current addresses and all slots are served."""
        try:
            for number in range(NODES):
                with self.client(number) as client:
                    info = client.execute_command("CLUSTER INFO")
                    nodes = client.execute_command("CLUSTER NODES")
                    if info["cluster_state"] != "ok" or info["cluster_known_nodes"] != str(NODES):
                        return False
                    here = {address.split(":")[0] for address in nodes}
                    if here != {self.address(other, self.turn) for other in range(NODES)}:
                        return False
            return True
        except redis.RedisError:
            return False


@pytest.fixture
def nodes(tmp_path: Path):
    if platform.system() != "Linux":
        pytest.skip("only Linux has all of 127.0.0.0/8: the nodes' script was not run")
    made = Nodes(tmp_path)
    yield made
    made.stop()


def test_the_first_node_creates_the_cluster_which_survives_new_addresses(nodes: Nodes):
    nodes.start(turn=1)
    wait_until(nodes.are_whole, 120, "the cluster is made", pause_s=0.5)
    peer = nodes.address(0, 1)
    write = ["redis-cli", "-c", "-h", peer, "-p", str(nodes.port), "set", "kept", "yes"]
    env = os.environ | {"REDISCLI_AUTH": PASSWORD}
    assert subprocess.run(write, env=env, capture_output=True, text=True).stdout == "OK\n"
    with nodes.client(0) as client:
        # Access requires the password, and Redis never evicts keys.
        assert client.config_get("maxmemory-policy")["maxmemory-policy"] == "noeviction"
        with pytest.raises(redis.AuthenticationError):
            redis.Redis(peer, nodes.port).ping()
    for process in nodes.pods:
        os.kill(process.pid, signal.SIGTERM)
    nodes.stop()
    nodes.start(turn=2)
    wait_until(nodes.are_whole, 120, "they have found each other again", pause_s=0.5)
    read = ["redis-cli", "-c", "-h", nodes.address(0, 2), "-p", str(nodes.port), "get", "kept"]
    assert subprocess.run(read, env=env, capture_output=True, text=True).stdout == "yes\n"


def test_a_lost_shard_does_not_stop_others(nodes: Nodes):
    nodes.start(turn=1)
    wait_until(nodes.are_whole, 120, "the cluster is made", pause_s=0.5)
    with nodes.client(0) as client:

        def everybody() -> dict | None:
            """Returns the nodes after this one has learned the master of each replica."""
            known = client.execute_command("CLUSTER NODES")
            return known if sum(each["master_id"] != "-" for each in known.values()) == 3 else None

        known = wait_until(everybody, 60, "the node knows the replicas")
    masters = {address: each for address, each in known.items() if "master" in each["flags"].split(",")}
    gone, stays = list(masters)[0], list(masters)[1]
    lost = {gone, *(address for address, each in known.items() if each["master_id"] == masters[gone]["node_id"])}
    assert len(lost) == 2
    for address in lost:
        nodes.pods[int(address.split(":")[0].split(".")[-1]) - 1].kill9()
    peer = stays.split(":")[0]
    with redis.Redis(peer, nodes.port, password=PASSWORD, socket_timeout=5, decode_responses=True) as client:

        def is_known_lost() -> bool:
            return "fail" in client.execute_command("CLUSTER NODES")[gone]["flags"].split(",")

        wait_until(is_known_lost, 60, "the others know that it is lost", pause_s=0.5)
        ranges = [(int(first), int(last)) for first, last in masters[stays]["slots"]]
        here = next(key for key in map(str, range(1000)) if any(first <= key_slot(key.encode()) <= last for first, last in ranges))
        assert client.set(here, "kept") is True
        assert client.execute_command("CLUSTER INFO")["cluster_state"] == "ok"


def test_no_machine_runs_two_nodes():
    """Checks that nodes run on separate machines, so that a lost one does not take a master and its replica."""
    (workload,) = of_kind("cluster", "StatefulSet").values()
    (rule,) = pod(workload)["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert rule["topologyKey"] == "kubernetes.io/hostname"
    assert rule["labelSelector"]["matchLabels"].items() <= workload["spec"]["template"]["metadata"]["labels"].items()


def test_node_names_match_the_stateful_set():
    (workload,) = of_kind("cluster", "StatefulSet").values()
    (container,) = pod(workload)["containers"]
    env = {entry["name"]: entry.get("value") for entry in container["env"]}
    name = workload["metadata"]["name"]
    names = [f"{name}-{number}.{workload['spec']['serviceName']}" for number in range(workload["spec"]["replicas"])]
    assert env["PEERS"].split() == names and len(names) == NODES
    service = of_kind("cluster", "Service")[workload["spec"]["serviceName"]]
    assert service["spec"]["clusterIP"] == "None" and service["spec"]["publishNotReadyAddresses"]
