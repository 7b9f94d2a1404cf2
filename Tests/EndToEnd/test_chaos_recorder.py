"""Tests that the recorder of a chaos run ignores events that a failover can undo."""

import json
import time
from pathlib import Path

import redis
from chaos.recorder import Recorder
from harness.redis_server import RedisServer
from harness.waiting import wait_until


def _event(seq: int) -> dict:
    return {
        "id": f"evt_{seq}", "source": "src_1", "type": "source.pending", "previous_status": None, "status": "pending",
        "final": False, "closed_reason": None, "seq": seq, "payment": None, "observed": {},
    }


def _record(client: redis.Redis, seq: int) -> None:
    with client.pipeline() as both:
        both.rpush("poller:l{0}item", json.dumps(_event(seq)))
        both.xadd("poller:e{0}", {"i": "item", "l": "default/sources", "q": seq})
        both.execute()


def test_events_that_no_replica_has_are_not_recorded(tmp_path: Path):
    master = RedisServer(tmp_path, tmp_path / "master", name="master").start()
    of_it = {"replicaof": f"127.0.0.1 {master.port}"}
    replica = RedisServer(tmp_path, tmp_path / "replica", name="replica", options=of_it).start()
    heard: list[int] = []
    recorder = Recorder(master.client, 1, lambda event: heard.append(event["seq"]), replicas=1)
    try:
        with master.client() as client:
            wait_until(lambda: client.info("replication")["connected_slaves"] == 1, 60, "the replica follows")
            _record(client, 1)
            wait_until(lambda: heard == [1], 60, "an event of both servers is recorded")
            replica.freeze()
            _record(client, 2)
            time.sleep(2)
            assert heard == [1]
            replica.thaw()
            wait_until(lambda: heard == [1, 2], 60, "it is, once the replica has it")
        recorder.check()
    finally:
        recorder.close()
        for server in (replica, master):
            server.end()
