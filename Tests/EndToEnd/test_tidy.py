"""The house rules that a machine can check: layers, sizes, scripts, keys."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "Sources"

# What each of our targets may import of our targets: arrows only downward, siblings never.
MAY_IMPORT = {
    "Poller": set(),
    "RedisClient": {"CHiredis"},
    "PollerRedis": {"Poller", "RedisClient"},
    "StripeAPI": set(),
    "PollerUpstreams": {"Poller", "StripeAPI"},
    "PollerChannels": {"Poller", "CCurl"},
    "PollerAPI": {"Poller"},
    "PollerClient": set(),
    "StripeSandbox": {"StripeAPI"},
    "PollerTesting": {"Poller"},
    "SecretFiles": set(),
    "pollerctl": {"PollerClient", "SecretFiles", "StripeAPI"},
    "stripe-sandbox": {"SecretFiles", "StripeSandbox"},
}
OURS = set(MAY_IMPORT) | {"CHiredis", "CCurl", "pollerd"}
# The product without I/O: nothing of the network, Redis or HTTP.
POLLER_MAY_IMPORT = {"Crypto", "Foundation", "Logging", "Metrics", "ServiceLifecycle", "Synchronization"}
LINES_MAX = 350


def imports(file: Path) -> set[str]:
    return set(re.findall(r"^(?:\w+ )*import (?:struct |class |enum )?(\w+)", file.read_text(), re.M))


@pytest.mark.parametrize("target", sorted(MAY_IMPORT))
def test_imports_point_downward(target: str):
    files = list(next(SOURCES.glob(f"**/{target}")).rglob("*.swift"))
    assert files
    wrong = {
        f"{file.relative_to(ROOT)}: {name}"
        for file in files
        for name in imports(file) & OURS - MAY_IMPORT[target] - {target}
    }
    assert not wrong


def test_the_product_knows_no_technology():
    files = list((SOURCES / "Poller").rglob("*.swift"))
    assert len(files) > 20
    wrong = {f"{file.name}: {imports(file) - POLLER_MAY_IMPORT}" for file in files if imports(file) - POLLER_MAY_IMPORT}
    assert not wrong


def test_no_file_is_too_long_to_read():
    files = [file for pattern in ("Sources/**/*.swift", "Tests/**/*.swift", "Sources/**/*.lua") for file in ROOT.glob(pattern)]
    assert len(files) > 200
    long = {str(file.relative_to(ROOT)): len(file.read_text().splitlines()) for file in files}
    assert not {name: lines for name, lines in long.items() if lines > LINES_MAX}


SCRIPTS = sorted((SOURCES / "PollerRedis" / "Scripts").glob("*.lua"))
# What stands before other scripts, and never runs alone.
LIBRARIES = {"prelude", "claiming"}


@pytest.mark.parametrize("script", [path for path in SCRIPTS if path.stem not in LIBRARIES], ids=lambda path: path.stem)
def test_each_script_says_what_it_takes_and_costs(script: Path):
    text = script.read_text()
    assert text.startswith("#!lua"), "script flags need the shebang"
    for word in ("KEYS[1]", "RETURNS", "COST"):
        assert re.search(rf"^-- {re.escape(word)} ", text, re.M), f"no {word} in the header"


def test_every_key_of_the_scripts_is_in_the_table():
    table = (SOURCES / "PollerRedis" / "Keys.swift").read_text()
    documented = set(re.findall(r"`<ns>(\w)\{p\}", table))
    used = {kind for script in SCRIPTS for kind in re.findall(r"key\('(\w)'", script.read_text())}
    # The wheels are named once, at the head of the prelude.
    used |= {kind for script in SCRIPTS for line in re.findall(r"^local URGENT, REST = .*$", script.read_text(), re.M) for kind in re.findall(r"'(\w)'", line)}
    assert used and used <= documented, used - documented
    assert documented - {"m"} <= used, "the table has a key that no script uses"


def test_time_and_chance_come_in_from_outside():
    """`Date()`, `ContinuousClock()` and the system's generator belong to the programs."""
    allowed = {"pollerd", "pollerctl", "stripe-sandbox", "StripeSandbox", "PollerClient", "PollerTesting", "StripeAPI", "PollerBench"}
    wrong = [
        f"{file.relative_to(ROOT)}: {match}"
        for file in SOURCES.rglob("*.swift")
        if not allowed.intersection(file.relative_to(SOURCES).parts)
        for match in re.findall(r"\bDate\(\)|ContinuousClock\(\)", file.read_text())
    ]
    assert not wrong
