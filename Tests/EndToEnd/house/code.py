"""Rules for the code: layers, file names, comments, names, time and randomness."""

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from . import Tree, imports, production, rule, swift, targets

# MARK: - Layers

# From bottom to top. A target may import only targets of lower layers. A cycle does not compile. This list also keeps
# polling and delivery apart, because one of them could import the other.
LAYERS = [
    {"SafeNumbers"},
    {"CHiredis", "CCurl", "CZlib", "CZstd", "JSONText", "SecretFiles", "ChildPrograms", "BenchPlan", "ProgramOutput", "StandardWebhooks", "TLSErrorText"},
    {"RedisClient", "StripeAPI", "PollerWire", "StripeJSON", "PollerHTTP"},
    {"PollerIdentity", "PollerClient", "StripeSandbox"},
    {"PollerQueue", "PollerPayments"},
    {"PollerOperations", "PollerNet"},
    {"PollerWatches"},
    {"Poller", "PollerDeliveries", "PollerIncidents"},
    {"PollerHints"},
    {"PollerPlanning"},
    {"PollerRedis", "PollerLocalization", "PollerTesting"},
    {"PollerUpstreams", "PollerChannels", "PollerGateway", "PollerAPI", "PollerTracing"},
    {"pollerd", "pollerctl", "stripe-sandbox", "pollerd-bench"},
    {"pollerd-program", "pollerctl-program", "stripe-sandbox-program", "poller-program"},
    {"example-watch-payment", "example-follow-events", "example-register-endpoint"},
]
# The targets without I/O.
PRODUCT = tuple(
    f"Sources/{name}" for name in
    ("PollerIdentity", "PollerQueue", "PollerOperations", "PollerPayments", "PollerWatches", "PollerDeliveries",
     "Poller", "PollerHints", "PollerIncidents", "PollerPlanning")
)
# The external modules that targets without I/O may import: no network, Redis or HTTP.
POLLER_MAY_IMPORT = {"Crypto", "Foundation", "Logging", "Metrics", "ServiceLifecycle", "Synchronization"}
# The public libraries, and the internal targets that each may import.
LIBRARIES = {"StripeAPI": {"JSONText", "SafeNumbers"}, "PollerClient": {"PollerWire", "JSONText", "SafeNumbers", "TLSErrorText"}, "PollerWire": {"JSONText", "SafeNumbers"}}


@rule({
    "Sources/PollerRedis/Breach.swift": "import PollerNet\n", "Sources/Poller/Breach.swift": "import PollerDeliveries\n",
    "Sources/PollerNet/Breach.swift": "import PollerDeliveries\n",
})
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
def the_product_imports_no_technology(tree: Tree):
    ours = {target.name for target in targets(tree)}
    for path, text in {path: text for folder in PRODUCT for path, text in swift(tree, folder).items()}.items():
        for name in imports(text) - POLLER_MAY_IMPORT - ours:
            yield f"{path}: {name}"


@rule({"Sources/PollerClient/Breach.swift": "import Poller\n"})
def libraries_do_not_import_the_daemon(tree: Tree):
    ours = {target.name for target in targets(tree)}
    for target in targets(tree):
        if target.name in LIBRARIES:
            for path, text in swift(tree, target.folder).items():
                for name in imports(text) & ours - LIBRARIES[target.name]:
                    yield f"{path}: {name}"


# A type at the top level of a file.
TYPE = re.compile(r"^(?:(?:public|package|internal|open|final|indirect|nonisolated|@[\w.]+(?:\([^)\n]*\))?) +)*(?:struct|enum|class|actor|protocol|typealias) +(\w+)", re.MULTILINE)
# The values of the API contain each other, and all objects of the sandbox are parts of one state.
FOLDERS_MAY_MEET = {"Sources/PollerWire", "Sources/Stripe/StripeSandbox"}


@rule({"Sources/Poller/One/Hen.swift": "struct Hen { let egg: Egg }\n", "Sources/Poller/Two/Egg.swift": "struct Egg { let hen: Hen }\n"})
def folders_of_a_target_form_no_cycle(tree: Tree):
    for target in targets(tree):
        if not target.folder.startswith("Sources/") or target.folder in FOLDERS_MAY_MEET:
            continue
        homes, texts = defaultdict(set), defaultdict(list)
        for path, text in swift(tree, target.folder).items():
            folder = path.removeprefix(target.folder + "/").rpartition("/")[0].partition("/")[0]
            text = re.sub(r'//.*|"(?:[^"\\\n]|\\.)*"', "", text)
            texts[folder].append(text)
            for name in TYPE.findall(text):
                homes[name].add(folder)
        used = defaultdict(dict)
        for folder, parts in texts.items():
            # `Yams.Node` is a type of another module.
            for name in set(re.findall(r"(?<!\.)\b[A-Z]\w+", "\n".join(parts))):
                if folder not in homes[name]:
                    used[folder] |= {home: name for home in homes[name]}
        for folder in texts:
            reached, rest = set(), [folder]
            while rest:
                found = used[rest.pop()].keys() - reached
                reached |= found
                rest += found
            if folder in reached:
                others = sorted((name, home) for home, name in used[folder].items() if home in reached)
                yield f"{target.folder}: {folder or 'the top'} is part of a cycle; it uses {others}"


# The Stripe sandbox and the benchmarks' parts, which run only in separate programs.
NOT_IN_PRODUCTION = {"StripeSandbox", "PollerTesting", "Histogram"}


@rule({"Sources/pollerd/Breach.swift": "import StripeSandbox\n"})
def production_links_neither_the_sandbox_nor_the_benchmarks(tree: Tree):
    reached, rest = set(), ["pollerd-program", "pollerctl-program"]
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

@rule({"Sources/Poller/Utils/Breach.swift": "", "Sources/Poller/EventHelpers.swift": ""})
def files_have_specific_names(tree: Tree):
    for path in swift(tree):
        if re.search(r"(Utils?|Helpers?|Common|Misc|Managers?)(/|\.swift)", path):
            yield path


# MARK: - Comments

DECLARATION = re.compile(
    r"^ *(?:@[\w.]+(?:\([^)\n]*\))? +)*(?:(?:final|indirect|nonisolated) +)*public +(?:(?:final|indirect|nonisolated) +)*"
    r"(?:struct|enum|class|actor|protocol) +(\w+)"
)


def undocumented(text: str) -> Iterable[str]:
    """Yields the public types without a doc comment."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        declared = DECLARATION.match(line)
        if not declared or declared[1] == "CodingKeys":
            continue
        above = number - 1
        # Attributes may be between the comment and the declaration.
        while above >= 0 and re.match(r"^ *(@|\)|\"|[\w. ]+: )", lines[above]):
            above -= 1
        if above < 0 or not lines[above].lstrip().startswith("///"):
            yield declared[1]


@rule({"Sources/Poller/Breach.swift": "public struct Breach {}\n"})
def every_public_type_is_documented(tree: Tree):
    for path, text in swift(tree).items():
        for name in undocumented(text):
            yield f"{path}: {name}"


@rule({"Sources/Poller/Breach.swift": "// TO" + "DO: later\n"})
def no_comment_postpones_work(tree: Tree):
    for path, text in tree.items():
        if path.startswith(("Sources/", "Tests/", "ops/")) and not path.endswith(".json"):
            for mark in re.findall(r"(?:#|//|--) *(?:TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b", text):
                yield f"{path}: {mark}"


@rule({"Sources/Poller/Poller.docc/Breach.md": "See sha" + "red/queue/FA" + "CTS.md, FA" + "CTS §3.\n"})
def nothing_refers_to_external_documents(tree: Tree):
    outside = re.compile(r"\bsha" + r"red/\w|\bFA" + r"CTS\b|\bDES" + r"IGN(?:\.md| §)|\bINTER" + r"FACE(?:\.md| says)|(?<![\w.])/(?:wo" + r"rk|ro" + r"ot)/")
    # Every match contains one of these parts, and searching for them is many times faster than the expression.
    parts = ("sha" + "red/", "FA" + "CTS", "DES" + "IGN", "INTER" + "FACE", "/wo" + "rk/", "/ro" + "ot/")
    for path, text in tree.items():
        if any(part in text for part in parts):
            for found in outside.findall(text):
                yield f"{path}: {found}"


# MARK: - Words, time and chance


@rule({"Sources/Poller/Breach.swift": "/// What is held.\nstruct HeldItem {}\n"})
def no_type_uses_a_replaced_name(tree: Tree):
    """Checks that no type uses a name that Vocabulary.md replaces."""
    table = tree["Sources/Poller/Poller.docc/Vocabulary.md"].split("### Words that are not used")[1]
    banned = re.findall(r"^\| `(\w+)` \|", table, re.M)
    assert len(banned) > 5
    words = re.compile(rf"(?<![a-z])(?:{'|'.join(banned)})(?![a-z])")
    declared = re.compile(r"^ *(?:[\w@() ]+ )?(?:struct|enum|class|actor|protocol|typealias) +(\w+)", re.M)
    for path, text in swift(tree).items():
        # In the sandbox, customers visit pages and objects are held, so these words are normal there.
        for name in [] if path.startswith("Sources/Stripe/") else declared.findall(text):
            if words.search(name):
                yield f"{path}: {name}"


# Programs and simulations of the outside world, which may read the system's clock.
CLOCKS = {"pollerd", "pollerctl", "PollerClient", "PollerTesting", "pollerd-bench", "Stripe"}
# The handlers, which create the random generators for the deciders.
HANDLERS = {"PollHandler.swift", "DeliveryHandler.swift", "DeliveryContext.swift"}


@rule({"Sources/Poller/Breach.swift": "let now = Date()\n"})
def time_is_injected(tree: Tree):
    """Checks that only programs read the system's clocks; all other targets receive a clock."""
    for path, text in swift(tree).items():
        if path.split("/")[1] not in CLOCKS:
            for match in re.findall(r"\bDate\(\)|(?:Continuous|Suspending)Clock\(\)", text):
                yield f"{path}: {match}"


@rule({"Sources/Poller/Breach.swift": "let a = Int.random(in: 1...2)\n"})
def randomness_is_injected_into_decisions(tree: Tree):
    """Checks that deciders receive their random generator from a handler, so that a test can repeat a decision."""
    for path, text in {path: text for folder in PRODUCT for path, text in swift(tree, folder).items()}.items():
        for line in text.splitlines():
            if re.search(r"\.(random\(in:|randomElement\(|shuffled\()", line) and "using:" not in line:
                yield f"{path}: {line.strip()}"
        if "SystemRandomNumberGenerator()" in text and Path(path).name not in HANDLERS:
            yield f"{path}: SystemRandomNumberGenerator()"
