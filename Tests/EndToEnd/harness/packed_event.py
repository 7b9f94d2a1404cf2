"""Reads a recorded event as it is stored, by the form's description and not by the product's code."""

import functools
import json
import re
import zlib
from pathlib import Path

import redis
from redis.crc import key_slot

# The first byte: with a summary before the body, without one, and what is left of many. Another dictionary
# would have another.
SUMMED, ONCE, FOLDED = 1, 2, 3
SWIFT = Path(__file__).resolve().parents[3] / "Sources/PollerRedis"
# Before the length of what is folded: nobody is to be told of it, and it has its bodies.
MARKS, PARTLY = 0xE0, 0x20


@functools.cache
def dictionary(name: str = "EventDictionary") -> bytes:
    """What events are made of, from the text of the one table of it."""
    text = re.search(r'#"""\n(.*?)\n\s*"""#', (SWIFT / f"{name}.swift").read_text(), re.DOTALL).group(1)
    lines = [line[8:] for line in text.split("\n")]
    return "".join(line[:-2] if line.endswith("\\#") else line + "\n" for line in lines).removesuffix("\n").encode()


def unpacked(stream: bytes, length: bytes, words: bytes | None = None) -> bytes:
    text = zlib.decompressobj(-14, zdict=words or dictionary()).decompress(stream)
    assert len(text) == int.from_bytes(length, "big")
    return text


def event(stored: bytes) -> dict:
    """The whole event, with its metadata; one whose body is forgotten has none."""
    mark = stored[0]
    if mark not in (SUMMED, ONCE):
        return json.loads(stored)
    summary, lengths = (int.from_bytes(stored[1:3], "big"), 5) if mark == SUMMED else (0, 1)
    body = int.from_bytes(stored[lengths : lengths + 3], "big")
    assert body > 0, "its body is forgotten"
    start = lengths + 6 + summary
    told = json.loads(unpacked(stored[start : start + body], stored[lengths + 3 : lengths + 6]))
    return told | ({"metadata": json.loads(metadata)} if (metadata := stored[start + body :]) else {})


def left_of(stored: bytes) -> list[dict]:
    """What an entry of a log says of events whose bodies are forgotten."""
    assert stored[0] == FOLDED
    length, words = bytes([stored[2] & ~MARKS]) + stored[3:5], dictionary() + dictionary("FoldedDictionary")
    events = [json.loads(line) for line in unpacked(stored[6 if stored[2] & PARTLY else 5 :], length, words).split(b"\n")]
    assert len(events) == stored[1]
    return events


# As many of a log are asked for first: an event that is read soon is one of the newest.
NEWEST = 3


def outbox_events(client: redis.Redis, stream: str, entries: list[tuple[str, dict[str, str]]]) -> list[dict | None]:
    """The events that entries of the outbox tell, from themselves or from their items' logs; None for one that has left that.

    Texts are of bytes: what is no UTF-8 in them can be had back.
    """
    namespace, partition = re.fullmatch(r"(.*:)e\{(\d+)\}", stream).groups()
    pipeline = server_of(client, stream).pipeline(transaction=False)
    for _, fields in entries:
        if not inline(fields):
            pipeline.lrange(f"{namespace}l{{{partition}}}{fields['i']}", -NEWEST, -1)
    logs = iter(pipeline.execute())
    found = []
    for _, fields in entries:
        if stored := inline(fields):
            found.append(event(stored.encode(errors="surrogateescape")))
        else:
            told = logged(next(logs), fields)
            found.append(told or older_event(client, namespace, int(partition), fields))
    return found


def server_of(client: redis.Redis, key: str) -> redis.Redis:
    """The one that has a key: a pipeline of the client of a whole cluster takes milliseconds a command."""
    if isinstance(client, redis.RedisCluster):
        return client.get_redis_connection(client.get_node_from_key(key))
    return client


def inline(fields: dict[str, str]) -> str | None:
    """What an entry of an older form carries itself."""
    return fields.get("p") or fields.get("e")


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
