"""Rules against expressions that crash the process if an external value is out of range."""

import re
from collections.abc import Iterable
from functools import cache

from . import Tree, rule, swift

# Targets that read external input: HTTP, Redis, DNS, files, the command line.
READS_FROM_OUTSIDE = {
    "SafeNumbers", "JSONText", "SecretFiles", "ChildPrograms", "RedisClient", "PollerWire", "PollerHTTP", "PollerClient",
    "PollerRedis", "PollerNet", "PollerGateway", "PollerTracing", "pollerd", "pollerctl",
    "PollerIdentity", "PollerQueue", "Poller", "PollerUpstreams", "PollerLocalization", "PollerAPI", "PollerChannels",
    "PollerOperations", "PollerPayments", "PollerWatches", "PollerDeliveries", "PollerHints", "PollerIncidents", "PollerPlanning",
    "StandardWebhooks", "Stripe/StripeAPI", "Stripe/StripeSandbox",
}
# The number of lines above a subscript in which the collection's count must be checked.
CHECKED_ABOVE = 16

INTEGER = r"(?<![\w.])U?Int(?:8|16|32|64|128)?"
# Labels of safe conversions, which return `nil`, clamp the number or copy bits.
LABELS = re.compile(
    r"\s*(?:decimal|safe|exactly|clamping|clampingSafe|saturating|truncatingIfNeeded|bitPattern|ascii"
    r"|count|countOrNothing|littleEndian|bigEndian):"
)
LITERAL = re.compile(r"\s*-?(?:0[xb])?[0-9a-fA-F_]+\s*$")


# The characters at which code, code in an interpolation, and the text of a string may end.
OF_CODE, OF_INTERPOLATION, OF_STRING = re.compile(r'[/"#]'), re.compile(r'[/"#()]'), re.compile(r'[\\"]')


@cache
def code_of(text: str) -> str:
    """Returns the code with comments and string text replaced by spaces; interpolated code remains."""
    kept = list(text)
    place, end = 0, len(text)
    # The delimiters of the open strings, and the number of open parentheses in each interpolation.
    strings: list[tuple[str, str]] = []
    depths: list[int] = []

    def blank(start: int, stop: int):
        for index in range(start, min(stop, end)):
            if kept[index] != "\n":
                kept[index] = " "

    while place < end:
        inside = len(strings) > len(depths)
        if inside:
            quote, hashes = strings[-1]
            if text.startswith("\\" + hashes + "(", place):
                blank(place, place + 1 + len(hashes))
                place += 2 + len(hashes)
                depths.append(1)
            elif text.startswith("\\", place) and not hashes:
                blank(place, place + 2)
                place += 2
            elif text.startswith(quote + hashes, place):
                strings.pop()
                place += len(quote) + len(hashes)
            else:
                after = OF_STRING.search(text, place + 1)
                stop = after.start() if after else end
                blank(place, stop)
                place = stop
            continue
        if text.startswith("//", place):
            stop = text.find("\n", place)
            stop = end if stop < 0 else stop
            blank(place, stop)
            place = stop
        elif text.startswith("/*", place):
            stop = text.find("*/", place)
            stop = end if stop < 0 else stop + 2
            blank(place, stop)
            place = stop
        elif opened := re.compile(r'(#*)("""|")').match(text, place):
            strings.append((opened[2], opened[1]))
            place = opened.end()
        else:
            if depths and text[place] in "()":
                depths[-1] += 1 if text[place] == "(" else -1
                if depths[-1] == 0:
                    depths.pop()
            after = (OF_INTERPOLATION if depths else OF_CODE).search(text, place + 1)
            place = after.start() if after else end
    return "".join(kept)


def arguments(code: str, start: int) -> str:
    """Returns the text between an opening parenthesis and its counterpart."""
    depth = 1
    for place in range(start, len(code)):
        depth += {"(": 1, ")": -1}.get(code[place], 0)
        if depth == 0:
            return code[start:place]
    return code[start:]


def line(code: str, place: int) -> int:
    return code.count("\n", 0, place)


def unchecked_conversions(text: str) -> Iterable[tuple[int, str]]:
    """Yields the line and text of integer conversions whose value may not fit."""
    code = code_of(text)
    for found in re.finditer(rf"{INTEGER}(?:\.init)?\(", code):
        given = arguments(code, found.end())
        if not LABELS.match(given) and not LITERAL.match(given) and not re.search(r"\bradix:", given):
            yield line(code, found.start()), f"{found[0]}{given.strip()[:40]})"
    for found in re.finditer(rf"{INTEGER}\.init(?!\()", code):
        yield line(code, found.start()), found[0]


def forced(text: str) -> Iterable[tuple[int, str]]:
    """Yields expressions that trap for `nil`, an error, another type or the smallest integer."""
    code = code_of(text)
    for found in re.finditer(r"(?<![\w.])abs\(|\b(?:try|as)!|[\w)\]}>?]!(?![=\w])", code):
        yield line(code, found.start()), found[0]


def unchecked_subscripts(text: str) -> Iterable[tuple[int, str]]:
    """Yields subscripts with a literal index without a check of the count above or an explaining comment."""
    code, written = code_of(text), text.splitlines()
    lines = code.splitlines()
    for found in re.finditer(r"(\w*)([)\]?]?)\[\d+\]", code):
        number = line(code, found.start())
        name, closing = found[1], found[2]
        # An array literal has neither a name nor a closing bracket before it.
        if not name and not closing or name in {"in", "return", "case", "else"}:
            continue
        above = lines[max(0, number - CHECKED_ABOVE) : number + 1]
        is_counted = name and not closing and any(re.search(rf"\b{name}\.(?:count|isEmpty)\b", at) for at in above)
        if not is_counted and not any("// Safe: " in at for at in written[max(0, number - 1) : number + 1]):
            yield number, found[0]


def found_in(tree: Tree, traps) -> Iterable[str]:
    for path, text in swift(tree).items():
        within = path.removeprefix("Sources/")
        reads = any(within.startswith(f"{target}/") for target in READS_FROM_OUTSIDE)
        if reads:
            for number, what in traps(text):
                yield f"{path}:{number + 1}: {what}"


@rule({"Sources/PollerRedis/Breach.swift": 'let a = "\\(Int64(seconds * 1000))"\n'})
def no_number_from_outside_is_converted_unchecked(tree: Tree):
    """Reports unchecked conversions. A trap ends the process, and after a restart it reads the same value again."""
    yield from found_in(tree, unchecked_conversions)


@rule({"Sources/PollerRedis/Breach.swift": "let a = b!.c\n"})
def nothing_from_outside_is_unwrapped_by_force(tree: Tree):
    yield from found_in(tree, forced)


@rule({"Sources/PollerRedis/Breach.swift": "let a = parts[1]\n"})
def no_element_is_read_before_its_collection_is_counted(tree: Tree):
    yield from found_in(tree, unchecked_subscripts)
