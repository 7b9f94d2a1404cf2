"""Tests `ops/observability`: rules and board use existing metrics and labels, and every alert has a runbook section."""

import copy
import functools
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml

from harness.cluster import program
from harness.prometheus import promtool
from harness.promql import named

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "ops/observability"
GUIDES = ROOT / "Sources/Poller/Poller.docc/Guides"
RULES = yaml.safe_load((FOLDER / "alerts.yml").read_text())
TESTS = yaml.safe_load((FOLDER / "alerts_test.yml").read_text())
BOARD = json.loads((FOLDER / "board.json").read_text())

# Labels that Prometheus adds to each target, and the label that separates several clusters.
TARGET = {"job", "instance", "cluster"}
needs_promtool = pytest.mark.skipif(not promtool(), reason="no promtool: ops/test gets it where apt or brew is")


def rules(kind: str, of: dict = RULES) -> list[dict]:
    return [rule for group in of["groups"] for rule in group["rules"] if kind in rule]


@functools.cache
def known() -> dict[str, set[str]]:
    """Returns every metric that a query may use, with its labels."""
    found: dict[str, set[str]] = {"up": set(TARGET), "ALERTS": {"alertname", "alertstate", "severity", *TARGET}}
    for name, kind, labels in re.findall(r"^\| `(\w+)` \| (\w+) \| ([^|]*) \|", (GUIDES / "Metrics.md").read_text(), re.M):
        own = set(re.findall(r"`(\w+)`", labels)) | TARGET
        if kind == "histogram":
            found |= {f"{name}_bucket": own | {"le"}, f"{name}_sum": own, f"{name}_count": own}
        else:
            found[name] = own
    exporters = (ROOT / "Sources/PollerAPI/Admin/ProcessMetrics.swift").read_text()
    found |= {name: set(TARGET) for name in re.findall(r'"(process_\w+)"', exporters)}
    return found | {rule["record"]: {"cluster"} for rule in rules("record")}


def queries_of(board: dict) -> list[str]:
    found = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
    return found + [it["expr"] for it in board["annotations"]["list"]]


@functools.cache
def label_values_of_the_code() -> set[str]:
    """Returns the possible label values: the strings and enum cases of the sources."""
    text = "\n".join(path.read_text() for path in (ROOT / "Sources").rglob("*.swift"))
    return set(re.findall(r'"(\w+)"', text)) | set(re.findall(r"^ +case (\w+)$", text, re.M))


def unknown(expressions: Iterable[str]) -> list[str]:
    """Returns the metrics, labels and values that the expressions use and the code does not export."""
    metrics, words = known(), label_values_of_the_code()
    found = []
    for expression in expressions:
        it = named(expression)
        assert it.metrics, f"no metric is found in {expression}"
        found += [f"{name}: no such metric" for name in it.metrics - metrics.keys()]
        for metric, label, value in it.matchers:
            if label not in metrics.get(metric, set()):
                found.append(f"{metric}: no label {label}")
            if label not in TARGET and metric != "ALERTS":
                found += [f"{metric}: {label} is never {word}" for word in value.split("|") if word.isidentifier() and word not in words]
        has = set().union(*(metrics.get(name, set()) for name in it.metrics))
        found += [f"{expression}: nothing has a label {label}" for label in it.labels - has]
    return found


def test_rules_and_board_use_existing_metrics_labels_and_values():
    assert not unknown(rule["expr"] for rule in rules("record") + rules("alert"))
    assert not unknown(queries_of(BOARD))


@pytest.mark.parametrize(
    "expression",
    [
        "max(poller_watches_lost) > 0",
        'rate(poller_polls_total{outcome="gone"}[5m])',
        'rate(poller_polls_total{result="unauthorised"}[5m])',
        "sum by (endpoint) (rate(poller_deliveries_total[5m]))",
        "histogram_quantile(0.9, sum by (le) (rate(poller_due_lag_seconds[5m])))",
        "max by (cluster) (cluster:poller_polls:rate1m)",
        "poller_reads_30d / on (region) poller_read_budget_30d",
    ],
)
def test_a_query_of_an_unknown_metric_is_detected(expression: str):
    assert unknown([expression])


def test_every_alert_names_its_problem_and_its_runbook_section():
    page = (GUIDES / "Runbook.md").read_text()
    sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^### |\Z)", page, re.M | re.S))
    alerts = rules("alert")
    for alert in alerts:
        notes = alert["annotations"]
        assert set(notes) == {"summary", "description", "runbook"}, alert["alert"]
        assert alert["labels"]["severity"] in ("critical", "warning"), alert["alert"]
        path, _, anchor = notes["runbook"].partition("#")
        assert ROOT / path == GUIDES / "Runbook.md" and anchor == alert["alert"].lower(), notes["runbook"]
        section = sections.get(alert["alert"], "")
        for part in ("**Symptom.**", "**Look at.**", "**Do.**", "**Over**"):
            assert part in section, f"the section of {alert['alert']} has no {part}"
    names = [alert["alert"] for alert in alerts]
    assert len(set(names)) == len(names)
    assert {name for name in sections if name.startswith("Poller")} == set(names), "no section without an alert"


# The incidents whose cause has an alert of its own.
ALERTED = {
    "no_worker": "PollerNoWorker",
    "no_notifier": "PollerNoNotifier",
    "credentials_refused": "PollerKeyRefused",
    "backlog": "PollerWatchesLate",
    "lane_stopped": "PollerLaneStopped",
    "quarantine": "PollerWatchesQuarantined",
    "set_aside": "PollerEntriesSetAside",
    "dead_letters": "PollerDeadLetters",
    "endpoint_failing": "PollerEndpointDown",
    "endpoint_disabled": "PollerEndpointDisabled",
    "webhooks_refused": "PollerWebhooksRefused",
}


def test_every_kind_of_incident_has_an_alert():
    source = (ROOT / "Sources/PollerIncidents/Incident.swift").read_text()
    enum = re.search(r"^package enum IncidentKind.*?^}", source, re.M | re.S)[0]
    kinds = {value or case for case, value in re.findall(r'^    case (\w+)(?: = "(\w+)")?$', enum, re.M)}
    alerts = {rule["alert"]: rule["expr"] for rule in rules("alert")}
    rest = set(re.search(r'kind=~"([^"]+)"', alerts["PollerIncidentOpen"])[1].split("|"))
    assert ALERTED.keys() | rest == kinds and not ALERTED.keys() & rest
    assert set(ALERTED.values()) <= alerts.keys()


def test_the_alert_and_the_history_count_the_same_polls_as_failed():
    source = (ROOT / "Sources/pollerd/Running/Node+figures.swift").read_text()
    results = re.findall(r'"(\w+)"', re.search(r"failedPolls = \[(.*?)\]", source, re.S)[1])
    [ratio] = [rule["expr"] for rule in rules("record") if rule["record"] == "cluster:poller_polls_failed:ratio5m"]
    assert set(re.search(r'result=~"([^"]+)"', ratio)[1].split("|")) == set(results)


def test_commands_of_the_runbook_exist():
    page = (GUIDES / "Runbook.md").read_text()
    told = {command for command in re.findall(r"`((?:pollerctl|pollerd) [^`]+)`", page)}
    assert len(told) > 20
    for command in sorted(told):
        # Keep the words before the first placeholder: a name in capitals, an option or a number.
        words = []
        for word in command.split():
            if word.isupper() or word.startswith("-"):
                break
            words.append(word)
        done = subprocess.run(
            [program(words[0]), "help", *words[1:]], capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0 and f"USAGE: {' '.join(words)}" in done.stdout, command
        for option in re.findall(r" (--[\w-]+)", command):
            assert option in done.stdout, f"{command}: no option {option}"


def test_every_alert_has_a_test_of_firing_and_resolving():
    tested = {test["name"]: test for test in TESTS["tests"]}
    for alert in rules("alert"):
        name = alert["alert"]
        assert name in tested, f"{name} has no test"
        looks = [look for look in tested[name]["promql_expr_test"] if f'alertname="{name}"' in look["expr"]]
        fires = [bool(look.get("exp_samples")) for look in looks]
        assert fires[0] is False and any(fires) and fires[-1] is False, f"{name}: silent, firing, silent"


@needs_promtool
def test_rules_configuration_and_their_unit_tests_pass(tmp_path: Path):
    for command in (
        ["check", "rules", "--lint=all", "--lint-fatal", "alerts.yml"],
        ["check", "config", "--lint=all", "prometheus.yml"],
        ["test", "rules", "alerts_test.yml"],
    ):
        done = subprocess.run([promtool(), *command], cwd=FOLDER, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    # The board's queries must be valid PromQL too.
    recorded = [
        {"record": f"board:query:{number}", "expr": re.sub(r"\$__\w+", "5m", query)}
        for number, query in enumerate(queries_of(BOARD))
    ]
    board = tmp_path / "board.yml"
    board.write_text(yaml.safe_dump({"groups": [{"name": "board", "rules": recorded}]}))
    done = subprocess.run([promtool(), "check", "rules", str(board)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


# For each alert, a change that breaks it. The alert's own unit test must detect the change.
FLAWS = {
    "PollerNoWorker": ("worker", "gateway"),
    "PollerStoreAway": ("max by", "min by"),
    "PollerConfigurationRefused": ("> 0", ">= 0"),
    "PollerSpansDropped": ("[5m]", "[30m]"),
    "PollerTooFewWorkers": ("max by (cluster) (poller_workers_wanted)", "sum by (cluster) (poller_workers_wanted)"),
    "PollerVersionsDiffer": ("count by (cluster, version)", "count by (cluster, version, instance)"),
    "PollerLaneStopped": ("open|probing", "open"),
    "PollerSweepBehind": ("max by (cluster, account)", "sum by (cluster, account)"),
}


@needs_promtool
@pytest.mark.parametrize("name", FLAWS)
def test_a_wrong_rule_fails_its_test(name: str, tmp_path: Path):
    flawed = copy.deepcopy(RULES)
    (rule,) = [rule for rule in rules("alert", flawed) if rule["alert"] == name]
    before = rule["expr"]
    rule["expr"] = before.replace(*FLAWS[name])
    assert rule["expr"] != before
    (tmp_path / "alerts.yml").write_text(yaml.safe_dump(flawed))
    shutil.copy(FOLDER / "alerts_test.yml", tmp_path)
    done = subprocess.run([promtool(), "test", "rules", "alerts_test.yml"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and name in done.stdout + done.stderr


def test_the_board_is_the_output_of_its_generator():
    done = subprocess.run([sys.executable, FOLDER / "board.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    ids = [panel["id"] for panel in BOARD["panels"]]
    assert len(set(ids)) == len(ids)
    taken: dict[tuple[int, int], str] = {}
    for panel in BOARD["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert taken.setdefault((x, y), panel["title"]) == panel["title"], f"{panel['title']} overlaps"
    drawn = {name for query in queries_of(BOARD) for name in named(query).metrics}
    shown = {re.sub(r"_bucket$", "", name) for name in drawn}
    table = set(re.findall(r"^\| `(\w+)` \|", (GUIDES / "Metrics.md").read_text(), re.M))
    assert table <= shown, f"not on the board: {table - shown}"
