"""Tests the house rules that a machine can check, for every target. The rules are in `house`.

`test_the_tree_obeys_each_rule` checks each rule against the tree. `test_a_breach_is_detected` checks it against the tree with a
change that breaks the rule, so a rule that detects nothing fails.
"""

import subprocess
from functools import cache

import pytest

from house import ROOT, RULES, Rule, read_tree
from house import code, documents, traps, wording  # noqa: F401  (they enter their rules)

TREE = read_tree()


@cache
def findings(name: str) -> frozenset[str]:
    """Returns the findings of a rule in the unchanged tree."""
    [rule] = [each for each in RULES if each.name == name]
    return frozenset(rule.find(TREE))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_tree_obeys_each_rule(rule: Rule):
    assert not findings(rule.name)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_breach_is_detected(rule: Rule):
    assert set(rule.find(TREE | rule.breach)) - findings(rule.name)


@pytest.mark.parametrize(
    ("code", "see"),
    [
        ("Int(text)", traps.unchecked_conversions),
        ("Int64(\n    seconds * 1000\n)", traps.unchecked_conversions),
        ("UInt16.init(port)", traps.unchecked_conversions),
        ("texts.map(Int.init)", traps.unchecked_conversions),
        ('"a \\(Int(rate)) b"', traps.unchecked_conversions),
        ("abs(amount)", traps.forced),
        ("found!.name", traps.forced),
        ("list[0]!", traps.forced),
        ("try! read()", traps.forced),
        ("value as! String", traps.forced),
        ("parts[1]", traps.unchecked_subscripts),
        ("text.split(separator: \",\")[0]", traps.unchecked_subscripts),
    ],
)
def test_each_form_of_a_trap_is_detected(code: str, see):
    assert list(see(f"let a = {code}\n"))


@pytest.mark.parametrize(
    "code",
    [
        "Int(exactly: number) ?? Int(clamping: other) + Int(text, radix: 16)",
        "UInt8(ascii: \"a\") + UInt8(0x20)",
        "a != b && !c // Int(text), abs(x), parts[0]",
        '"Int(text) abs(x) parts[0] done!"',
        '#"a \\(Int(x)) "quoted" b"#',
        "[0, 1].contains(b)",
        "c.count == 2 ? c[1] : d",
    ],
)
def test_safe_forms_are_accepted(code: str):
    every = (traps.unchecked_conversions, traps.forced, traps.unchecked_subscripts)
    assert not [found for see in every for found in see(f"let a = {code}\n")]


def test_no_new_entry_is_at_the_top_level():
    names = subprocess.run(["git", "-C", str(ROOT), "ls-tree", "--name-only", "HEAD"], capture_output=True, text=True)
    if names.returncode:
        pytest.skip("not a git checkout")
    tops = {name for name in names.stdout.splitlines() if not name.startswith(".")}
    assert tops == {"Package.swift", "README.md", "Sources", "Tests", "docker-compose.yml", "ops"}
