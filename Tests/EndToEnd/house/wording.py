"""Rules of the language: the share of phrases that readers have to translate, by place.

A phrase counts as a mark when plain English has a noun, a verb or an actor for it. The list finds places to look at;
it cannot judge a sentence.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import PurePosixPath

from . import COMMITS, Tree, rule

MARKS = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # Clauses used as nouns; questions are allowed.
        r"(?<![?\w])(?:what(?:ever)?|who(?:ever|se|m)?)\b(?! (?:is|are|does|happens|it does)\b[^.]*\?)",
        r"\b(?:nobody|somebody|anybody|everybody|whosoever)\b",
        r"\b(?:told|tells?|telling|untold)\b",
        r"\b(?:beside|anew|thereof|therein|likewise|thrice|hither|nought|farewell)\b",
        r"\bof (?:ours|theirs|its own|their own|our own|his|hers|which|whom)\b",
        r"\b(?:goes by|comes? to its|becomes? of|became of|comes? round|lets? in|goes? its way|holds? up)\b",
    )
]
# The most marks per 1,000 words.
MOST = {"comments": 4, "documents": 4, "texts": 5}
# Parts of these places that have been rewritten.
PLAIN_PARTS = ("Sources/PollerAPI/Console/", "Sources/PollerAPI/Timeline/")
COMMENT = {".swift": r"\s*///?\s?(.*)", ".js": r"\s*//\s?(.*)", ".lua": r"\s*--\s?(.*)"}
# Too short to have a share.
FEWEST_WORDS = 200


def words_of(path: str, text: str) -> Iterator[tuple[str, str]]:
    """The kind and text of each line that people read in a file."""
    suffix, lines = PurePosixPath(path).suffix, text.splitlines()
    if suffix == ".md":
        in_code = False
        for line in lines:
            if line.startswith("```"):
                in_code = not in_code
            elif not in_code:
                yield "documents", line
        return
    comment = COMMENT.get(suffix, r"\s*#\s(.*)" if suffix in (".py", ".sh", ".yml", ".yaml", "") else None)
    for line in lines:
        found = comment and re.match(comment, line)
        if found:
            yield "comments", found[1]
        elif suffix in (".swift", ".js"):
            for literal in re.findall(r'"((?:[^"\\]|\\.)*)"', line):
                if literal.count(" ") >= 2:
                    yield "texts", literal
        elif suffix in (".html", ".txt"):
            yield "texts", re.sub(r"<[^>]*>", " ", line)


@rule({f"{place}Breach{suffix}": f"{start} What is told to whoever asks, and what became of it.\n" * 400
       for place, suffix, start in [("Sources/JSONText/", ".swift", "///"), (".github/", ".md", "")]})
def people_read_plain_words(tree: Tree):
    words: dict[tuple[str, str], int] = defaultdict(int)
    marks: dict[tuple[str, str], int] = defaultdict(int)
    for path, text in tree.items():
        if path == COMMITS or path.endswith("house/wording.py"):
            continue
        for kind, line in words_of(path, text):
            place = place_of(path)
            words[place, kind] += len(re.findall(r"\w+", line))
            marks[place, kind] += sum(len(mark.findall(line)) for mark in MARKS)
    for (place, kind), count in words.items():
        if count >= FEWEST_WORDS and (share := 1000 * marks[place, kind] / count) > MOST[kind]:
            yield f"{place}: {share:.1f} marks in 1,000 words of {kind}"


def place_of(path: str) -> str:
    """The target or top folder of a file, or the rewritten part of a target."""
    part = next((part for part in PLAIN_PARTS if path.startswith(part)), None)
    parts = path.split("/")
    return part or ("/".join(parts[:2]) + "/" if parts[0] in ("Sources", "Tests") else parts[0])


NAME = re.compile(r"\b(?:func|var|let|struct|enum|class|protocol|case|actor)\s+`?([A-Za-z]\w*)")
PARTS = "tell told telling hear hears heard said says nobody beside owed news wish anew unsaid untold company crowd desk sighting".split()
ODD = re.compile(f"(?:^(?:{'|'.join(PARTS)})|(?:{'|'.join(part.capitalize() for part in PARTS)}))(?![a-z])")


@rule({"Sources/JSONText/Breach.swift": "func tellNews() {}\n"})
def names_are_standard_terms(tree: Tree):
    for path, text in tree.items():
        if path.endswith(".swift") and path.startswith("Sources/"):
            for name in NAME.findall(text):
                if ODD.search(name):
                    yield f"{path}: {name}"
