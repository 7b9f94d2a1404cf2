"""Decodes a stored event from the description of its format, without the product's code."""

import base64
import ctypes
import ctypes.util
import functools
import json
import re
from pathlib import Path

import redis
from redis.crc import key_slot

# The first byte of a packed event; an event that cannot be packed is stored as JSON.
PACKED = 1
# The first byte of events that are packed together, and the bits of the length that say more about them.
TOGETHER = 2
WHOLE, RESTORED_PARTLY, RESTORED = 0x400000, 0x200000, 0x800000
# The byte of an event that represents the ID of its source.
SOURCE = b"\x01"
SOURCES = Path(__file__).resolve().parents[3] / "Sources/PollerRedis"


def dictionary(*files: str) -> bytes:
    """Returns the compression dictionary of some Swift files: the head of the last one and the texts of all."""
    parts = [parts_of(file) for file in files]
    return parts[-1][0] + b"".join(text for _, text in parts)


@functools.cache
def parts_of(file: str) -> tuple[bytes, bytes]:
    """Returns the head and the text of a dictionary, read from the Swift file that defines it."""
    source = (SOURCES / "Event" / f"{file}.swift").read_text()
    head = "".join(re.findall(r'^ +\+ "([\w-]+)"$', source, re.MULTILINE))
    text = re.search(r'#"""\n(.*?)\n\s*"""#', source, re.DOTALL).group(1)
    lines = [line[8:] for line in text.split("\n")]
    text = "".join(line[:-2] if line.endswith("\\#") else line + "\n" for line in lines).removesuffix("\n")
    return base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)), text.encode()


@functools.cache
def fragments() -> dict[int, bytes]:
    """Returns the text that each control character of short metadata represents."""
    source = (SOURCES / "Store/ShortText.swift").read_text()
    table = source[source.index("static let fragments") : source.index("byLength")]
    pairs = re.findall(r'(\d+): ("(?:[^"\\]|\\.)*")', table)
    assert len(pairs) > 20, "the table of fragments was not found"
    return {int(byte): json.loads(text).encode() for byte, text in pairs}


@functools.cache
def zstd() -> ctypes.CDLL:
    """Returns the library that the programs use; Python's own module needs Python 3.14."""
    library = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    library.ZSTD_createDCtx.restype = ctypes.c_void_p
    library.ZSTD_freeDCtx.argtypes = [ctypes.c_void_p]
    library.ZSTD_decompress_usingDict.restype = ctypes.c_size_t
    library.ZSTD_decompress_usingDict.argtypes = [
        ctypes.c_void_p, *[ctypes.c_char_p, ctypes.c_size_t] * 3,
    ]
    return library


def unpacked(frame: bytes, length: int, *files: str) -> bytes:
    """Unpacks a frame of Zstandard (RFC 8878) that is stored without its magic number, with a dictionary."""
    known = dictionary(*files)
    whole = bytes.fromhex("28b52ffd") + frame
    context, text = zstd().ZSTD_createDCtx(), ctypes.create_string_buffer(length)
    try:
        count = zstd().ZSTD_decompress_usingDict(context, text, length, whole, len(whole), known, len(known))
    finally:
        zstd().ZSTD_freeDCtx(context)
    assert count == length, "the stored event is damaged"
    return text.raw


def events(stored: bytes, source: str) -> list[dict]:
    """Returns the complete events of an entry in the log of a source, oldest first."""
    if stored[0] == TOGETHER:
        length = int.from_bytes(stored[2:5], "big")
        assert length & WHOLE, "the events of this entry were reduced"
        frame = stored[6 if length & RESTORED_PARTLY else 5 :]
        text = unpacked(frame, length & ~(WHOLE | RESTORED_PARTLY | RESTORED), "EventDictionary", "CompactedDictionary")
        return [json.loads(line) for line in text.split(b"\n")]
    if stored[0] != PACKED:
        return [json.loads(stored)]
    end = 7 + int.from_bytes(stored[1:4], "big")
    text = unpacked(stored[7:end], int.from_bytes(stored[4:7], "big"), "EventDictionary")
    text = text.replace(SOURCE, source.encode())
    metadata = b"".join(fragments().get(byte, bytes([byte])) for byte in stored[end:])
    return [json.loads(text) | ({"metadata": json.loads(metadata)} if metadata else {})]


# The number of log entries to read first; an event that is read soon is one of the newest.
NEWEST = 3


def outbox_events(client: redis.Redis, stream: str, entries: list[tuple[str, dict[str, str]]]) -> list[dict | None]:
    """Returns the events that outbox entries refer to, read from their items' logs.

    An event that has left its log is `None`. Texts are decoded with `surrogateescape`, so that bytes that are not
    UTF-8 can be restored.
    """
    namespace, partition = re.fullmatch(r"(.*:)e\{(\d+)\}", stream).groups()
    pipeline = server_of(client, stream).pipeline(transaction=False)
    for _, fields in entries:
        pipeline.lrange(f"{namespace}l{{{partition}}}{fields['i']}", -NEWEST, -1)
        pipeline.hget(f"{namespace}w{{{partition}}}{fields['i']}", "s")
    replies = pipeline.execute()
    return [
        logged(log, source, fields) or older_event(client, namespace, int(partition), fields)
        for (_, fields), log, source in zip(entries, replies[::2], replies[1::2])
    ]


def server_of(client: redis.Redis, key: str) -> redis.Redis:
    """Returns the client of the server that stores a key.

    A pipeline of a whole cluster's client takes milliseconds per command.
    """
    if isinstance(client, redis.RedisCluster):
        return client.get_redis_connection(client.get_node_from_key(key))
    return client


def older_event(client: redis.Redis, namespace: str, partition: int, fields: dict[str, str]) -> dict | None:
    """Searches the complete log of an entry's item, in its old and its new partition."""
    for home in (partition, moved_to(client, namespace, fields["l"])):
        source = client.hget(f"{namespace}w{{{home}}}{fields['i']}", "s")
        if told := logged(client.lrange(f"{namespace}l{{{home}}}{fields['i']}", 0, -1), source, fields):
            return told
    return None


def logged(log: list[str], source: str | None, fields: dict[str, str]) -> dict | None:
    """Returns the event of an entry from a log, whose newest event is last."""
    for entry in reversed(log):
        for told in reversed(events(entry.encode(errors="surrogateescape"), source or "")):
            if told["seq"] <= int(fields["q"]):
                return told if told["seq"] == int(fields["q"]) else None
    return None


def moved_to(client: redis.Redis, namespace: str, lane: str) -> int:
    """Returns the current partition of a lane, which changes when the store is split."""
    # A slot is the checksum modulo 16,384, which the number of partitions divides.
    return key_slot(lane.encode()) % int(client.hget(f"{namespace}layout", "partitions"))
