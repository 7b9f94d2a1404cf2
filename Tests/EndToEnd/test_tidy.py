"""The house rules that a machine can check, for every target; the rules are in `house`.

`test_the_house_keeps` holds each rule against the tree as it is, and `test_a_breach_is_noticed` against
the tree with a change that breaks it: no rule passes because it sees nothing.
"""

import subprocess

import pytest

from house import ROOT, RULES, Rule, read_tree
from house import code, documents  # noqa: F401  (they enter their rules)

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
