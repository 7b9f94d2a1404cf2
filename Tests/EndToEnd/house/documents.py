"""Rules for script headers, documents, decisions and commits."""

import posixpath
import re
from pathlib import Path

from . import COMMITS, Tree, rule, swift, targets

# MARK: - Scripts

SCRIPTS = "Sources/PollerRedis/"
# The prefix of scripts that are prepended to others, as the prelude is, and never run alone.
LIBRARY = "lib_"


def scripts(tree: Tree) -> Tree:
    return {path: text for path, text in tree.items() if path.startswith(SCRIPTS) and path.endswith(".lua")}


@rule({SCRIPTS + "breach.lua": "#!lua\nreturn 1\n"})
def each_script_documents_arguments_and_cost(tree: Tree):
    for path, text in scripts(tree).items():
        if Path(path).stem == "prelude" or Path(path).stem.startswith(LIBRARY):
            continue
        if not text.startswith("#!lua"):
            yield f"{path}: script flags need the shebang"
        for word in ("KEYS[1]", "RETURNS", "COST"):
            if not re.search(rf"^-- {re.escape(word)} ", text, re.M):
                yield f"{path}: no {word} in the header"


@rule({SCRIPTS + "breach.lua": "table.sort(entries)\n"})
def scripts_sort_texts_by_their_bytes(tree: Tree):
    """Without a function, Lua compares texts by the locale of the server."""
    for path, text in scripts(tree).items():
        if re.search(r"table\.sort\([^,()]*\)", text):
            yield f"{path}: pass a function to table.sort"


@rule({SCRIPTS + "breach.lua": "local a = key('w', id), key(KEY.forgotten)\n"})
def every_key_of_the_scripts_is_documented(tree: Tree):
    schema = tree["Sources/PollerRedis/Store/StoreSchema.swift"]
    kinds = dict(re.findall(r'^    case (\w+) = "(\w)"', schema[schema.index("enum KeyKind") : schema.index("enum ItemField")], re.M))
    if len(set(kinds.values())) != len(kinds):
        yield "two kinds of keys have one letter"
    used = {kind for text in scripts(tree).values() for kind in re.findall(r"\bKEY\.(\w+)", text)}
    assert used
    yield from (f"{kind} is not in the table" for kind in used - set(kinds))
    # Only Swift uses these kinds.
    yield from (f"{kind} is in the table, and no script uses it" for kind in set(kinds) - {"meta", "replay"} - used)
    for path, text in scripts(tree).items():
        yield from (f"{path}: {call} names a letter instead of a kind" for call in re.findall(r"\bkey\('\w'", text))


# MARK: - Documents

CATALOGUE = "Sources/Poller/Poller.docc/"


@rule({CATALOGUE + "Breach.md": "`test_of_nothing.py`, `NothingTests`, `Sources/Nothing`, `ops/nothing`\n"})
def names_in_documents_exist(tree: Tree):
    suites = set(re.findall(r"(?:struct|class|enum) (\w+Tests)\b", "\n".join(swift(tree, "Tests").values())))
    folders = {str(parent) for path in tree for parent in Path(path).parents}
    for path, text in tree.items():
        if not path.endswith(".md"):
            continue
        code = "\n".join(re.findall(r"`([^`\n]+)`", text))
        for name in re.findall(r"\btest_\w+\.py\b", code):
            if f"Tests/EndToEnd/{name}" not in tree:
                yield f"{path}: {name}"
        for name in re.findall(r"(?<![\w.])\w+Tests\b(?!/)", code):
            if name not in suites and not any(folder.endswith(f"/{name}") for folder in folders):
                yield f"{path}: {name}"
        for name in re.findall(r"(?<![\w./-])(?:Sources|Tests|ops|\.github)/[\w./+-]*\w", code):
            if name not in tree and name not in folders:
                yield f"{path}: {name}"
        for link in re.findall(r"\]\((?!https?:|#)([^)]+)\)", text):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(path), link.split("#")[0]))
            if target not in tree and target not in folders:
                yield f"{path}: {link}"


PROMISES = CATALOGUE + "Guarantees.md"


@rule({PROMISES: "| promise | why it holds | shown by |\n|---|---|---|\n| It holds | we say so | conformance \"hope\" |\n"})
def each_promise_names_its_test(tree: Tree):
    suite = "\n".join(swift(tree, "Tests/PollerRedisTests/Conformance").values())
    topics = set(re.findall(r"static let (\w+): \[ConformanceCase\]", suite))
    table = tree[PROMISES].split("| promise |", 1)[1].split("\n\n", 1)[0]
    for row in table.splitlines()[2:]:
        promise, shown = row.split("|")[1].strip(), row.split("|")[-2]
        named = re.findall(r"`(?:test_\w+\.py|\w+Tests)`", shown)
        cases = [topic for part in re.findall(r'conformance ("\w+"(?: and "\w+")*)', shown) for topic in re.findall(r"\w+", part.replace(" and ", " "))]
        if not named and not cases:
            yield f"{promise[:60]}: no test is named"
        yield from (f"{promise[:60]}: there is no conformance {topic}" for topic in cases if topic not in topics)


@rule({CATALOGUE + "Breach.md": "``NoSuchType`` does it.\n", "Sources/Poller/Breach.swift": "/// As ``NoSuchThing/other`` does.\n"})
def links_lead_to_existing_types(tree: Tree):
    """Checks links that `docc` checks only for built targets, and in comments only with a catalogue."""
    declared = re.compile(r"\b(?:struct|enum|class|actor|protocol|typealias|associatedtype) +(\w+)|<([A-Z]\w*)[:>,]")
    types = {name for text in (swift(tree) | swift(tree, "Tests")).values() for pair in declared.findall(text) for name in pair}
    types |= {target.name for target in targets(tree)}
    for path, text in tree.items():
        if path.endswith((".md", ".swift")):
            for name in re.findall(r"``([A-Z]\w*)(?:[/.(][^`\n]*)?``", text):
                if name not in types:
                    yield f"{path}: {name}"


DECISIONS = CATALOGUE + "Decisions/"
DECISION_SECTIONS = ["Context", "Decision", "Consequences", "Alternatives rejected"]
DECISION_STATUS = r"^Status: (?:proposed|accepted|superseded by <doc:[\w-]+>), \d{4}-\d\d-\d\d(?:; last changed \d{4}-\d\d-\d\d)?\."


@rule({DECISIONS + "0000-breach.md": "# Decide nothing\n\nA page.\n"})
def decisions_have_one_format_and_are_listed(tree: Tree):
    index = tree[CATALOGUE + "Decisions.md"]
    tabled = re.findall(r"^\| <doc:([\w-]+)> \| [^|]+ \|$", index, re.M)
    curated = re.findall(r"^- <doc:([\w-]+)>$", index, re.M)
    pages = {Path(path).stem: text for path, text in tree.items() if path.startswith(DECISIONS) and path.endswith(".md")}
    for name, text in pages.items():
        if not re.fullmatch(r"\d{4}(?:-[a-z0-9]+)+", name):
            yield f"{name}: name the page NNNN-topic"
        if not re.search(DECISION_STATUS, text, re.M):
            yield f"{name} has no line `Status: accepted, YYYY-MM-DD.`"
        if (sections := re.findall(r"^## (.+)$", text, re.M)) != DECISION_SECTIONS:
            yield f"{name} has the sections {sections}"
    for place, listed in (("table", tabled), ("topics", curated)):
        if listed != sorted(pages):
            yield f"the {place} and the pages differ: {sorted(set(listed) ^ set(pages)) or 'their order'}"
    numbers = sorted(int(name[:4]) for name in pages if name[:4].isdecimal())
    if numbers != list(range(1, len(numbers) + 1)):
        yield f"numbers are not consecutive: {numbers}"
    history = re.findall(r"^\| (\d+) \| \d{4}-\d\d-\d\d \| \w+ \| <doc:([\w-]+)>[^|]*\|$", index, re.M)
    yield from (f"the history of {number} leads to {name}" for number, name in history if name not in pages)
    if [int(number) for number, _ in history] != list(range(1, len(history) + 1)) or not history:
        yield "the history does not list each former number once"


CONFORMANCE = "Sources/Stripe/StripeAPI/StripeAPI.docc/Conformance/"
# The number of statements in the guides. A row can be removed only together with a change of this number.
STATEMENTS = 153
VERDICTS = ("yes", "otherwise", "not yet")


@rule({CONFORMANCE + "ConformanceBreach.md": "| 154 | it works | yes | `SourcePollStateTests/nothing` |\n"})
def each_statement_of_the_guides_names_an_existing_test(tree: Tree):
    suites: dict[str, str] = {}
    for text in swift(tree, "Tests").values():
        for name in re.findall(r"(?:struct|class|enum|extension) (\w+Tests)\b", text):
            suites[name] = suites.get(name, "") + text
    rows, told = [], {}
    for path, text in tree.items():
        if not (path.startswith(CONFORMANCE) and path.endswith(".md")):
            continue
        told |= {verdict: int(count) for verdict, count in re.findall(r"^\| `([\w ]+)` \| [^|]+ \| (\d+) \|$", text, re.M)}
        for number, here, tests in re.findall(r"^\| (\d+) \| [^|]+ \| ([^|]+) \| ([^|]+) \|$", text, re.M):
            verdict, _, reason = here.partition(": ")
            rows.append((int(number), verdict))
            if verdict not in VERDICTS or (verdict != "yes" and not reason):
                yield f"{path}: {number} is {here!r}"
            names = re.findall(r"`([^`]+)`", tests)
            if not names and verdict != "not yet":
                yield f"{path}: {number} has no test"
            for name in names:
                place, _, test = name.partition("/" if "::" not in name else "::")
                found = tree.get(f"Tests/EndToEnd/{place}", "") if "::" in name else suites.get(place, "")
                if not re.search(rf"\b(?:def|func) {re.escape(test)}\b", found):
                    yield f"{path}: {number} names {name}, which is not there"
    if sorted(number for number, _ in rows) != list(range(1, STATEMENTS + 1)):
        yield f"not each statement from 1 to {STATEMENTS} once: {len(rows)} rows"
    for verdict in VERDICTS:
        if (count := sum(it == verdict for _, it in rows)) != told.get(verdict):
            yield f"{count} statements are {verdict!r}, and {told.get(verdict)} are said to be"


# MARK: - Commits


# Commits without a body from the time before this rule was complete.
BEFORE_BODIES = {
    "cae07017c9eed268ed88d7bd11605da99a825fae",
    "627745dafeda2e06e295c7ecca438e608b5aaffb",
    "d919e6cce9ead8d2df78ef47ec50d36b838fc09f",
}


@rule({COMMITS: "1234567\tpoller: " + "a long subject, " * 5 + "\twhy\n\0"})
def commits_are_short_and_give_a_reason(tree: Tree):
    for commit in filter(None, (text.strip("\n") for text in tree[COMMITS].split("\0"))):
        name, subject, body = commit.split("\t", 2)
        if len(subject) > 72:
            yield f"{name}: the subject has {len(subject)} columns, at most 72"
        if not re.match(r"[\w, .-]+: \S", subject):
            yield f"{name}: `area: what it does` is the form of a subject: {subject}"
        if not body.strip() and name not in BEFORE_BODIES:
            yield f"{name}: the body says why"
