"""Makes screenshots small: a PNG with a palette of the most frequent colours."""

import struct
import zlib
from collections import Counter

SIGNATURE = b"\x89PNG\r\n\x1a\n"
# Pages have few colours of their own; the rest are shades at the edges of letters. Beyond the most frequent colours, one
# that is this close to a more frequent one is replaced by it, so that rare but distinct ones, such as a blue dot, stay.
FREQUENT, COLOURS, CLOSE = 24, 128, 300


def reduced(png: bytes) -> bytes:
    """Returns an RGB or RGBA image with 8 bits per channel as one with a palette."""
    width, height, channels, rows = _decoded(png)
    pixels = [row[at : at + 3] for row in rows for at in range(0, len(row), channels)]
    counts = Counter(pixels)
    palette: list[bytes] = []
    for colour, _ in counts.most_common():
        if len(palette) < FREQUENT or (len(palette) < COLOURS and all(_distance(colour, one) > CLOSE for one in palette)):
            palette.append(colour)
    index = {colour: _nearest(colour, palette) for colour in counts}
    body = bytes(index[pixel] for pixel in pixels)
    lines = b"".join(b"\0" + body[at : at + width] for at in range(0, len(body), width))
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    return SIGNATURE + b"".join(
        _chunk(name, data)
        for name, data in [(b"IHDR", header), (b"PLTE", b"".join(palette)), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b"")]
    )


def _nearest(colour: bytes, palette: list[bytes]) -> int:
    return min(range(len(palette)), key=lambda at: _distance(colour, palette[at]))


def _distance(colour: bytes, other: bytes) -> int:
    return sum((a - b) ** 2 for a, b in zip(colour, other, strict=True))


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _decoded(png: bytes) -> tuple[int, int, int, list[bytes]]:
    """Returns width, height, channels and the rows of an image that is not interlaced."""
    at, data, header = len(SIGNATURE), b"", b""
    while at < len(png):
        (size,), name = struct.unpack(">I", png[at : at + 4]), png[at + 4 : at + 8]
        if name == b"IHDR":
            header = png[at + 8 : at + 8 + size]
        elif name == b"IDAT":
            data += png[at + 8 : at + 8 + size]
        at += size + 12
    width, height, depth, kind, _, _, interlaced = struct.unpack(">IIBBBBB", header)
    if depth != 8 or kind not in (2, 6) or interlaced:
        raise ValueError(f"unexpected PNG: {depth} bits, colour type {kind}")
    channels = 3 if kind == 2 else 4
    raw, stride = zlib.decompress(data), width * channels
    rows, above = [], bytes(stride)
    for number in range(height):
        start = number * (stride + 1)
        above = _unfiltered(raw[start], raw[start + 1 : start + 1 + stride], above, channels)
        rows.append(above)
    return width, height, channels, rows


def _unfiltered(kind: int, line: bytes, above: bytes, channels: int) -> bytes:
    """*Source*: PNG specification, §9.2."""
    if kind == 0:
        return line
    row = bytearray(line)
    for at, value in enumerate(line):
        left = row[at - channels] if at >= channels else 0
        up = above[at]
        if kind == 1:
            guess = left
        elif kind == 2:
            guess = up
        elif kind == 3:
            guess = (left + up) // 2
        else:
            corner = above[at - channels] if at >= channels else 0
            guess = _paeth(left, up, corner)
        row[at] = (value + guess) & 255
    return bytes(row)


def _paeth(left: int, up: int, corner: int) -> int:
    expected = left + up - corner
    near = [(abs(expected - one), order, one) for order, one in enumerate((left, up, corner))]
    return min(near)[2]
