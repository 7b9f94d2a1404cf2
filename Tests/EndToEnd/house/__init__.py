"""The source tree as the house rules read it, and the list of rules.

A rule reads the tree, a table from path to text, and yields its violations. Each rule has a small change that
violates it, so that test_tidy.py can check that the rule notices it.
"""

import re
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[3]
Tree = dict[str, str]


class Rule(NamedTuple):
    name: str
    find: Callable[[Tree], Iterable[str]]
    breach: Tree


RULES: list[Rule] = []


def rule(breach: Tree):
    """Registers a rule, together with files that violate it."""

    def enter(find: Callable[[Tree], Iterable[str]]):
        RULES.append(Rule(find.__name__, find, breach))
        return find

    return enter


# The key of the tree under which the commits since RULE_OF_COMMITS are stored.
COMMITS = "git log"
# The last commit before the rule about commits was added.
RULE_OF_COMMITS = "b8f7b0c"


def read_tree() -> Tree:
    tree = {}
    for top in ("Package.swift", "README.md", "docker-compose.yml", "Sources", "Tests", "ops", ".github"):
        start = ROOT / top
        for path in [start] if start.is_file() else sorted(start.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                try:
                    tree[str(path.relative_to(ROOT))] = path.read_text()
                except UnicodeDecodeError:
                    # A binary file, such as a picture that a document links to.
                    tree[str(path.relative_to(ROOT))] = ""
    # Hash, subject and body of each commit since the rule about commits was added.
    log = ["git", "-C", str(ROOT), "log", "--no-merges", "--format=%H%x09%s%x09%b%x00", f"{RULE_OF_COMMITS}..HEAD"]
    done = subprocess.run(log, capture_output=True, text=True)
    tree[COMMITS] = done.stdout if done.returncode == 0 else ""
    return tree


class Target(NamedTuple):
    name: str
    kind: str
    folder: str
    dependencies: set[str]


def targets(tree: Tree) -> list[Target]:
    """Returns the targets of Package.swift."""
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
