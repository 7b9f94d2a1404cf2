"""The house rules that a machine can check, for every target.

A rule reads the tree, a table from path to text, and returns what breaks it. Each brings the smallest
change that breaks it: `test_the_house_keeps` holds the rule against the tree as it is, and
`test_a_breach_is_noticed` against the tree with that change, so no rule passes because it sees nothing.
"""

import posixpath
import re
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
Tree = dict[str, str]


class Rule(NamedTuple):
    name: str
    find: Callable[[Tree], Iterable[str]]
    breach: Tree


RULES: list[Rule] = []


def rule(breach: Tree):
    """Enters a rule into the list, with files that break it."""

    def enter(find: Callable[[Tree], Iterable[str]]):
        RULES.append(Rule(find.__name__, find, breach))
        return find

    return enter


def read_tree() -> Tree:
    tree = {}
    for top in ("Package.swift", "README.md", "docker-compose.yml", "Sources", "Tests", "ops", ".github"):
        start = ROOT / top
        for path in [start] if start.is_file() else sorted(start.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                try:
                    tree[str(path.relative_to(ROOT))] = path.read_text()
                except UnicodeDecodeError:
                    continue
    # Subject, first line of the body, and hash of each commit since the rule about them was made.
    log = ["git", "-C", str(ROOT), "log", "--no-merges", "--format=%h%x09%s%x09%b%x00", f"{RULE_OF_COMMITS}..HEAD"]
    done = subprocess.run(log, capture_output=True, text=True)
    tree[COMMITS] = done.stdout if done.returncode == 0 else ""
    return tree


# MARK: - Layers

# From the ground up. A target may import what stands below it, never what stands beside it.
LAYERS = [
    {"CHiredis", "CCurl", "JSONText", "SecretFiles", "ChildPrograms", "BenchPlan"},
    {"RedisClient", "StripeAPI", "PollerWire", "StripeJSON"},
    {"Poller", "PollerClient", "StripeSandbox"},
    {"PollerRedis", "PollerNet", "PollerTesting"},
    {"PollerHTTP"},
    {"PollerUpstreams", "PollerDelivery", "PollerGateway", "PollerAPI"},
    {"pollerd", "pollerctl", "stripe-sandbox", "pollerd-bench"},
]
# What the product without I/O may import besides our own targets: nothing of the network, Redis or HTTP.
POLLER_MAY_IMPORT = {"Crypto", "Foundation", "Logging", "Metrics", "ServiceLifecycle", "Synchronization"}
# What others link, and what it may know of us.
LIBRARIES = {"StripeAPI": {"JSONText"}, "PollerClient": {"PollerWire", "JSONText"}, "PollerWire": {"JSONText"}}


class Target(NamedTuple):
    name: str
    kind: str
    folder: str
    dependencies: set[str]


def targets(tree: Tree) -> list[Target]:
    """The targets of Package.swift."""
    found = []
    blocks = re.split(r"\n        \.(?=\w*[tT]arget\(|systemLibrary\()", tree["Package.swift"].split("\n    targets: [")[1])
    for block in blocks[1:]:
        kind, name = re.match(r"(\w+)\(\s*name: \"([^\"]+)\"", block).groups()
        listed = re.search(r"dependencies: \[(.*?)\]", block, re.S)
        path = re.search(r"path: \"([^\"]+)\"", block)
        folder = path[1] if path else ("Tests/" if kind == "testTarget" else "Sources/") + name
        found.append(Target(name, kind, folder, set(re.findall(r'"([^"]+)"', listed[1]) if listed else ())))
    return found


def imports(text: str) -> set[str]:
    return set(re.findall(r"^(?:@\w+(?:\([^)]*\))? )*(?:\w+ )?import (?:struct |class |enum |protocol |func )?(\w+)", text, re.M))


def swift(tree: Tree, folder: str = "Sources") -> Tree:
    return {path: text for path, text in tree.items() if path.startswith(folder + "/") and path.endswith(".swift")}


def production(tree: Tree) -> list[Target]:
    return [target for target in targets(tree) if target.kind != "testTarget" and target.folder.startswith("Sources/")]


@rule({"Sources/PollerRedis/Breach.swift": "import PollerNet\n", "Sources/Poller/Breach.swift": "import PollerRedis\n"})
def arrows_point_downward(tree: Tree):
    ours = {target.name for target in targets(tree)}
    level = {name: number for number, layer in enumerate(LAYERS) for name in layer}
    for target in production(tree):
        if target.name not in level:
            yield f"{target.name} has no layer"
            continue
        used = {(name, "Package.swift") for name in target.dependencies & ours}
        for path, text in swift(tree, target.folder).items():
            used |= {(name, path) for name in imports(text) & ours if name != target.name.replace("-", "_")}
        for name, path in used:
            if level.get(name, len(LAYERS)) >= level[target.name]:
                yield f"{path}: {target.name} stands not above {name}"
            elif name not in target.dependencies:
                yield f"{path}: {name} is not among {target.name}'s dependencies"


@rule({"Sources/Poller/Breach.swift": "package import NIOCore\n"})
def the_product_knows_no_technology(tree: Tree):
    ours = {target.name for target in targets(tree)}
    for path, text in swift(tree, "Sources/Poller").items():
        for name in imports(text) - POLLER_MAY_IMPORT - ours:
            yield f"{path}: {name}"


@rule({"Sources/PollerClient/Breach.swift": "import Poller\n"})
def libraries_know_nothing_of_the_daemon(tree: Tree):
    ours = {target.name for target in targets(tree)}
    for target in targets(tree):
        if target.name in LIBRARIES:
            for path, text in swift(tree, target.folder).items():
                for name in imports(text) & ours - LIBRARIES[target.name]:
                    yield f"{path}: {name}"


# What stands in for Stripe, and what measures: programs of their own beside the one that runs in production.
NOT_IN_PRODUCTION = {"StripeSandbox", "PollerTesting", "Histogram"}


@rule({"Sources/pollerd/Breach.swift": "import StripeSandbox\n"})
def production_links_neither_the_sandbox_nor_the_benchmarks(tree: Tree):
    reached, rest = set(), ["pollerd"]
    known = {target.name: target for target in targets(tree)}
    while rest:
        target = known[rest.pop()]
        reached.add(target.name)
        rest += target.dependencies & known.keys() - reached
        for path, text in swift(tree, target.folder).items():
            for name in imports(text) & NOT_IN_PRODUCTION:
                yield f"{path}: {name}"
    yield from reached & NOT_IN_PRODUCTION


# MARK: - Files

LINES_MAX = 350
# Files that are longer, each with the reason why it is one story all the same.
LONG: dict[str, str] = {}
LINES_MIN = 30
# The share of Swift files of Sources below LINES_MIN, in per cent. It only ever goes down.
SMALL_MAX = 28.2


@rule({"Sources/Poller/Breach.swift": "\n" * 351})
def no_file_is_too_long_to_read(tree: Tree):
    for path, text in tree.items():
        if path.endswith((".swift", ".lua")):
            lines = len(text.splitlines())
            if (lines > LINES_MAX) != (path in LONG):
                yield f"{path} has {lines} lines; LONG has the reasons of those above {LINES_MAX}"


@rule({f"Sources/Poller/Breach{number}.swift": "/// One.\n" for number in range(500)})
def small_rooms_are_few(tree: Tree):
    files = swift(tree)
    small = [path for path, text in files.items() if len(text.splitlines()) < LINES_MIN]
    share = 100 * len(small) / len(files)
    if share > SMALL_MAX:
        yield f"{share:.1f} % of the files have less than {LINES_MIN} lines, at most {SMALL_MAX} %: {small}"


@rule({"Sources/Poller/Utils/Breach.swift": "", "Sources/Poller/EventHelpers.swift": ""})
def files_are_named_after_what_they_are_about(tree: Tree):
    for path in swift(tree):
        if re.search(r"(Utils?|Helpers?|Common|Misc|Managers?)(/|\.swift)", path):
            yield path


# MARK: - Comments

DECLARATION = re.compile(
    r"^ *(?:@[\w.]+(?:\([^)\n]*\))? +)*(?:(?:public|package|internal|private|fileprivate|final|indirect|nonisolated|open) +)*"
    r"(?:struct|enum|class|actor|protocol) +(\w+)"
)
# Comment lines among all lines of Sources that are not blank, in per cent. It only ever goes up.
COMMENTS_MIN = 14.8


def undocumented(text: str) -> Iterable[str]:
    """The types that others see and no doc comment stands before."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        declared = DECLARATION.match(line)
        if not declared or declared[1] == "CodingKeys" or (line[0] == " " and "package " not in line and "public " not in line):
            continue
        above = number - 1
        # Attributes stand between the comment and the declaration.
        while above >= 0 and re.match(r"^ *(@|\)|\"|[\w. ]+: )", lines[above]):
            above -= 1
        if above < 0 or not lines[above].lstrip().startswith("///"):
            yield declared[1]


@rule({"Sources/Poller/Breach.swift": "package struct Breach {}\n"})
def every_type_says_what_it_is(tree: Tree):
    for path, text in swift(tree).items():
        for name in undocumented(text):
            yield f"{path}: {name}"


@rule({"Sources/Poller/Breach.swift": "let a = 1\n" * 20_000})
def comments_say_why(tree: Tree):
    lines = [line.lstrip() for text in swift(tree).values() for line in text.splitlines() if line.strip()]
    share = 100 * sum(line.startswith("//") for line in lines) / len(lines)
    if share < COMMENTS_MIN:
        yield f"{share:.1f} % of the lines are comments, at least {COMMENTS_MIN} %"


@rule({"Sources/Poller/Breach.swift": "// TO" + "DO: later\n"})
def nothing_is_put_off_in_a_comment(tree: Tree):
    for path, text in tree.items():
        if path.startswith(("Sources/", "Tests/", "ops/")) and not path.endswith(".json"):
            for mark in re.findall(r"(?:#|//|--) *(?:TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b", text):
                yield f"{path}: {mark}"


@rule({"Sources/Poller/Poller.docc/Breach.md": "See sha" + "red/queue/FA" + "CTS.md, FA" + "CTS §3.\n"})
def nothing_refers_to_documents_outside(tree: Tree):
    outside = re.compile(r"\bsha" + r"red/\w|\bFA" + r"CTS\b|\bDES" + r"IGN(?:\.md| §)|\bINTER" + r"FACE(?:\.md| says)|(?<![\w.])/(?:wo" + r"rk|ro" + r"ot)/")
    for path, text in tree.items():
        if path.endswith(".swift"):
            continue
        for found in outside.findall(text):
            yield f"{path}: {found}"


# MARK: - Time and chance

# Programs, and what stands for the world around them.
CLOCKS_AND_CHANCE = {"pollerd", "pollerctl", "PollerClient", "PollerTesting", "pollerd-bench", "Stripe"}


@rule({"Sources/Poller/Breach.swift": "let now = Date()\n"})
def time_and_chance_come_in_from_outside(tree: Tree):
    """The system's clock and generator belong to the programs; everybody else is given them."""
    found = re.compile(r"\bDate\(\)|ContinuousClock\(\)|SuspendingClock\(\)")
    for path, text in swift(tree).items():
        if path.split("/")[1] not in CLOCKS_AND_CHANCE:
            for match in found.findall(text):
                yield f"{path}: {match}"


# MARK: - Scripts

SCRIPTS = "Sources/PollerRedis/Scripts/"
# What stands before other scripts, and never runs alone.
PRELUDES = {"prelude", "claiming"}


def scripts(tree: Tree) -> Tree:
    return {path: text for path, text in tree.items() if path.startswith(SCRIPTS) and path.endswith(".lua")}


@rule({SCRIPTS + "breach.lua": "#!lua\nreturn 1\n"})
def each_script_says_what_it_takes_and_costs(tree: Tree):
    for path, text in scripts(tree).items():
        if Path(path).stem in PRELUDES:
            continue
        if not text.startswith("#!lua"):
            yield f"{path}: script flags need the shebang"
        for word in ("KEYS[1]", "RETURNS", "COST"):
            if not re.search(rf"^-- {re.escape(word)} ", text, re.M):
                yield f"{path}: no {word} in the header"


@rule({SCRIPTS + "breach.lua": "local a = key('w', id), key(KEY.forgotten)\n"})
def every_key_of_the_scripts_is_in_the_table(tree: Tree):
    schema = tree["Sources/PollerRedis/StoreSchema.swift"]
    kinds = dict(re.findall(r'^    case (\w+) = "(\w)"', schema[schema.index("enum KeyKind") : schema.index("enum ItemField")], re.M))
    if len(set(kinds.values())) != len(kinds):
        yield "two kinds of keys have one letter"
    used = {kind for text in scripts(tree).values() for kind in re.findall(r"\bKEY\.(\w+)", text)}
    assert used
    yield from (f"{kind} is not in the table" for kind in used - set(kinds))
    # Swift alone makes these.
    yield from (f"{kind} is in the table, and no script uses it" for kind in set(kinds) - {"meta", "replay"} - used)
    for path, text in scripts(tree).items():
        yield from (f"{path}: {call} names a letter instead of a kind" for call in re.findall(r"\bkey\('\w'", text))


# MARK: - Documents

CATALOGUE = "Sources/Poller/Poller.docc/"


@rule({CATALOGUE + "Breach.md": "`test_of_nothing.py`, `NothingTests`, `Sources/Nothing`, `ops/nothing`\n"})
def what_documents_name_is_there(tree: Tree):
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


@rule({CATALOGUE + "Breach.md": "``NoSuchType`` does it.\n", "Sources/Poller/Breach.swift": "/// As ``NoSuchThing/other`` does.\n"})
def links_lead_to_types_that_are_there(tree: Tree):
    """What `docc` sees only where the target was built, and of comments only where there is a catalogue."""
    declared = re.compile(r"\b(?:struct|enum|class|actor|protocol|typealias|associatedtype) +(\w+)|<([A-Z]\w*)[:>,]")
    types = {name for text in (swift(tree) | swift(tree, "Tests")).values() for pair in declared.findall(text) for name in pair}
    types |= {target.name for target in targets(tree)}
    for path, text in tree.items():
        if path.endswith((".md", ".swift")):
            for name in re.findall(r"``([A-Z]\w*)(?:[/.(][^`\n]*)?``", text):
                if name not in types:
                    yield f"{path}: {name}"


@rule({CATALOGUE + "Decisions/Breach.md": "# Nothing is decided\n\nA page.\n"})
def decisions_are_numbered_and_listed(tree: Tree):
    listed = dict(re.findall(r"^\| (\d+ \| \d{4}-\d\d-\d\d) \| <doc:(\w+)> \|$", tree[CATALOGUE + "Decisions.md"], re.M))
    listed = {name: mark.replace(" |", ",") for mark, name in listed.items()}
    curated = set(re.findall(r"^- <doc:(\w+)>$", tree[CATALOGUE + "Decisions.md"], re.M))
    pages = {Path(path).stem: text for path, text in tree.items() if path.startswith(CATALOGUE + "Decisions/")}
    for name, text in pages.items():
        mark = re.search(r"^Decision (\d+, \d{4}-\d\d-\d\d)\.", text, re.M)
        if not mark or listed.get(name) != mark[1]:
            yield f"{name}: {mark and mark[1]} in the page, {listed.get(name)} in the table"
        if name not in curated:
            yield f"{name} is under no topic"
        for part in ("## Context", "## Decision", "## Rejected", "## What would change our mind"):
            if part not in text and not (name == "WrittenForLackOfALibrary" and part == "## Rejected"):
                yield f"{name} has no {part}"
    yield from (f"{name} is listed and is not there" for name in listed.keys() - pages.keys())
    numbers = sorted(int(mark.split(",")[0]) for mark in listed.values())
    if numbers != list(range(1, len(numbers) + 1)):
        yield f"numbers are not consecutive: {numbers}"


# MARK: - Commits

COMMITS = "git log"
# The last commit before this rule was made.
RULE_OF_COMMITS = "b8f7b0c"


@rule({COMMITS: "1234567\tpoller: " + "a long subject, " * 5 + "\twhy\n\0"})
def commits_are_short_and_say_why(tree: Tree):
    for commit in filter(None, (text.strip("\n") for text in tree[COMMITS].split("\0"))):
        name, subject, body = commit.split("\t", 2)
        if len(subject) > 72:
            yield f"{name}: the subject has {len(subject)} columns, at most 72"
        if not re.match(r"[\w, .-]+: \S", subject):
            yield f"{name}: `area: what it does` is the form of a subject: {subject}"
        if not body.strip():
            yield f"{name}: the body says why"


TREE = read_tree()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_house_keeps(rule: Rule):
    assert not list(rule.find(TREE))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_breach_is_noticed(rule: Rule):
    before = set(rule.find(TREE))
    assert set(rule.find(TREE | rule.breach)) - before


def test_nothing_new_stands_at_the_top():
    names = subprocess.run(["git", "-C", str(ROOT), "ls-tree", "--name-only", "HEAD"], capture_output=True, text=True)
    if names.returncode:
        pytest.skip("not a git checkout")
    tops = {name for name in names.stdout.splitlines() if not name.startswith(".")}
    assert tops == {"Package.swift", "README.md", "Sources", "Tests", "docker-compose.yml", "ops"}
