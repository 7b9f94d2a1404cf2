"""Reads a recorded event as it is stored, by the form's description and not by the product's code."""

import functools
import json
import re
import zlib
from pathlib import Path

import redis
from redis.crc import key_slot

# The first byte; an event that cannot be packed is JSON.
PACKED = 1
DICTIONARY = Path(__file__).resolve().parents[3] / "Sources/PollerRedis/EventDictionary.swift"


@functools.cache
def dictionary() -> bytes:
    """What events are made of, from the text of the one table of it."""
    text = re.search(r'#"""\n(.*?)\n\s*"""#', DICTIONARY.read_text(), re.DOTALL).group(1)
    lines = [line[8:] for line in text.split("\n")]
    return "".join(line[:-2] if line.endswith("\\#") else line + "\n" for line in lines).removesuffix("\n").encode()


def event(stored: bytes) -> dict:
    """The whole event, with its metadata."""
    if stored[0] != PACKED:
        return json.loads(stored)
    end = 7 + int.from_bytes(stored[1:4], "big")
    text = zlib.decompressobj(-14, zdict=dictionary()).decompress(stored[7:end])
    assert len(text) == int.from_bytes(stored[4:7], "big")
    metadata = stored[end:]
    return json.loads(text) | ({"metadata": json.loads(metadata)} if metadata else {})


# As many of a log are asked for first: an event that is read soon is one of the newest.
NEWEST = 3


def outbox_events(client: redis.Redis, stream: str, entries: list[tuple[str, dict[str, str]]]) -> list[dict | None]:
    """The events that entries of the outbox name, from their items' logs; None for one that has left its log.

    Texts are of bytes: what is no UTF-8 in them can be had back.
    """
    namespace, partition = re.fullmatch(r"(.*:)e\{(\d+)\}", stream).groups()
    pipeline = server_of(client, stream).pipeline(transaction=False)
    for _, fields in entries:
        pipeline.lrange(f"{namespace}l{{{partition}}}{fields['i']}", -NEWEST, -1)
    return [
        logged(log, fields) or older_event(client, namespace, int(partition), fields)
        for (_, fields), log in zip(entries, pipeline.execute())
    ]


def server_of(client: redis.Redis, key: str) -> redis.Redis:
    """The one that has a key: a pipeline of the client of a whole cluster takes milliseconds a command."""
    if isinstance(client, redis.RedisCluster):
        return client.get_redis_connection(client.get_node_from_key(key))
    return client


def older_event(client: redis.Redis, namespace: str, partition: int, fields: dict[str, str]) -> dict | None:
    """The event of an entry from the whole of its log, wherever that is."""
    for home in (partition, moved_to(client, namespace, fields["l"])):
        if told := logged(client.lrange(f"{namespace}l{{{home}}}{fields['i']}", 0, -1), fields):
            return told
    return None


def logged(log: list[str], fields: dict[str, str]) -> dict | None:
    """The event of an entry among those of a log, of which the newest stands last and none is missing."""
    wanted, place = int(fields["q"]), -1
    while -len(log) <= place:
        told = event(log[place].encode(errors="surrogateescape"))
        if told["seq"] == wanted:
            return told
        if told["seq"] < wanted or place != -1:
            return None
        place -= told["seq"] - wanted
    return None


def moved_to(client: redis.Redis, namespace: str, lane: str) -> int:
    """The partition of a lane, once the store has been given as many as it says."""
    # A slot is the checksum modulo 16,384, of which the partitions here are a divisor.
    return key_slot(lane.encode()) % int(client.hget(f"{namespace}layout", "partitions"))
