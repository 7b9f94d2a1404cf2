"""Prometheus' tool, and what it and its library say of our metrics."""

import re
import shutil
import subprocess
import time
from pathlib import Path

from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

ROOT = Path(__file__).resolve().parents[3]
# Where ops/test puts the programs of Debian's package, without installing its service.
UNPACKED = ROOT / ".venv/prometheus/usr/bin"


def find(name: str) -> str | None:
    """A program of Prometheus': installed, or unpacked by ops/test; nil where there is none."""
    return shutil.which(name) or shutil.which(name, path=str(UNPACKED))


def promtool() -> str | None:
    return find("promtool")



REFERENCE = ROOT / "Sources/Poller/Poller.docc/Guides/Metrics.md"


def labels_of_the_reference() -> dict[str, set[str]]:
    """The labels of each metric, by the name that Prometheus' library gives its family."""
    rows = re.findall(r"^\| `(\w+)` \| \w+ \| ([^|]*) \|", REFERENCE.read_text(), re.M)
    return {name.removesuffix("_total"): set(re.findall(r"`(\w+)`", labels)) for name, labels in rows}


def check_metrics(role) -> dict[str, Metric]:
    """What a process tells, which must be as Prometheus and our reference want it.

    Read by Prometheus' own library, and by `promtool` where there is one.
    """
    answer = role.admin("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")
    families = {family.name: family for family in text_string_to_metric_families(answer.text)}
    assert any(name.startswith("poller_") for name in families), f"{role.name} has no metrics"
    reference = labels_of_the_reference()
    for name, family in families.items():
        assert family.documentation, f"{role.name} says nothing of {name}"
        used = {label for sample in family.samples for label in sample.labels} - {"le", "overflow"}
        assert name.startswith("process_") or used <= reference[name], f"{role.name}: {name} has labels {used}"
    (build,) = families["poller_build_info"].samples
    assert build.labels["version"] and build.value == 1
    for name in ("cpu_seconds", "resident_memory_bytes", "open_fds", "start_time_seconds"):
        assert families[f"process_{name}"].samples[0].value > 0
    assert abs(time.time() - families["process_start_time_seconds"].samples[0].value) < 3600
    if tool := promtool():
        done = subprocess.run([tool, "check", "metrics"], input=answer.text, capture_output=True, text=True)
        assert done.returncode == 0, f"{role.name}: {done.stdout}{done.stderr}"
    return families
