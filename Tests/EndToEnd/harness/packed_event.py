"""Reads a recorded event as it is stored, by the form's description and not by the product's code."""

import functools
import json
import re
import zlib
from pathlib import Path

# The first byte; another dictionary would have another.
MARK = 1
HEAD = 11
SWIFT = Path(__file__).resolve().parents[3] / "Sources/PollerRedis/EventDictionary.swift"


@functools.cache
def dictionary() -> bytes:
    """What events are made of, from the text of the one table of it."""
    text = re.search(r'#"""\n(.*?)\n\s*"""#', SWIFT.read_text(), re.DOTALL).group(1)
    return "".join(line[8:].removesuffix("\\#") for line in text.split("\n")).encode()


def event(stored: bytes) -> dict:
    """The whole event, with its metadata; one whose body is forgotten has none."""
    if stored[0] != MARK:
        return json.loads(stored)
    summary, body = (int.from_bytes(stored[at : at + width], "big") for at, width in ((1, 2), (5, 3)))
    assert body > 0, "its body is forgotten"
    start = HEAD + summary
    unpacked = zlib.decompressobj(-14, zdict=dictionary()).decompress(stored[start : start + body])
    assert len(unpacked) == int.from_bytes(stored[8:11], "big")
    told = json.loads(unpacked)
    return told | ({"metadata": json.loads(metadata)} if (metadata := stored[start + body :]) else {})
