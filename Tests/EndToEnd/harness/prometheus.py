"""A real Prometheus server for a test, and promtool."""

import re
import shutil
import subprocess
import time
from pathlib import Path

import requests
import yaml
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from .process import Process
from .redis_server import free_port
from .waiting import wait_until

ROOT = Path(__file__).resolve().parents[3]
# The folder in which ops/test unpacks Debian's package without installing its service.
UNPACKED = ROOT / ".venv/prometheus/usr/bin"


def find(name: str) -> str | None:
    """Returns the path of a Prometheus program, installed or unpacked by ops/test, or `None`."""
    return shutil.which(name) or shutil.which(name, path=str(UNPACKED))


def promtool() -> str | None:
    return find("promtool")


def prometheus() -> str | None:
    return find("prometheus")


REFERENCE = ROOT / "Sources/Poller/Poller.docc/Guides/Metrics.md"


def labels_of_the_reference() -> dict[str, set[str]]:
    """Returns the labels of each metric, by the family name that Prometheus' library uses."""
    rows = re.findall(r"^\| `(\w+)` \| \w+ \| ([^|]*) \|", REFERENCE.read_text(), re.M)
    return {name.removesuffix("_total"): set(re.findall(r"`(\w+)`", labels)) for name, labels in rows}


def check_metrics(role) -> dict[str, Metric]:
    """Returns a process's metrics after checking them against Prometheus' format and our reference.

    Prometheus' own library parses them, and `promtool` checks them if it is available.
    """
    answer = role.admin("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")
    families = {family.name: family for family in text_string_to_metric_families(answer.text)}
    assert any(name.startswith("poller_") for name in families), f"{role.name} has no metrics"
    reference = labels_of_the_reference()
    for name, family in families.items():
        assert family.documentation, f"{role.name} has no metric {name}"
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


class Prometheus(Process):
    """Scrapes its targets every two seconds and evaluates the given rules every second."""

    def __init__(self, logs: Path, folder: Path, rules: dict, targets: list[str]):
        folder.mkdir(parents=True)
        (folder / "rules.yml").write_text(yaml.safe_dump(rules))
        configuration = {
            "global": {"scrape_interval": "2s", "scrape_timeout": "2s", "evaluation_interval": "1s"},
            "rule_files": ["rules.yml"],
            "scrape_configs": [{"job_name": "poller", "static_configs": [{"targets": targets}]}],
        }
        (folder / "prometheus.yml").write_text(yaml.safe_dump(configuration))
        self.url = f"http://127.0.0.1:{(port := free_port())}"
        command = [
            prometheus() or "prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn",
        ]
        super().__init__("prometheus", command, logs)
        self._http = requests.Session()
        self._http.trust_env = False

    def start(self) -> "Prometheus":
        super().start()

        def is_ready() -> bool:
            assert self.running, f"prometheus ended\n{self.tail()}"
            try:
                return self._http.get(f"{self.url}/-/ready", timeout=2).ok
            except requests.RequestException:
                return False

        wait_until(is_ready, 60, "prometheus is ready")
        return self

    def get(self, path: str, **parameters) -> dict | list:
        answer = self._http.get(f"{self.url}/api/v1/{path}", params=parameters, timeout=30)
        assert answer.ok, f"{path}: {answer.status_code} {answer.text}"
        return answer.json()["data"]

    def query(self, expression: str) -> list[dict]:
        """Returns the current series of an expression."""
        return self.get("query", query=expression)["result"]

    def firing(self) -> dict[str, dict]:
        """Returns the annotations of the alerts that fire now, by alert name."""
        alerts = self.get("alerts")["alerts"]
        return {it["labels"]["alertname"]: it["annotations"] for it in alerts if it["state"] == "firing"}

    def fired(self) -> dict[str, int]:
        """Returns how often each alert fired over the whole run.

        The key is its name and, if present, account, instance and loop.
        """

        def by_labels(selector: str) -> dict[str, dict[float, float]]:
            found = {}
            for series in self.query(f"{selector}[1h]"):
                labels = series["metric"]
                key = " ".join(labels[name] for name in ("alertname", "account", "instance", "loop") if name in labels)
                found[key] = {at: float(value) for at, value in series["values"]}
            return found

        # ALERTS_FOR_STATE holds the time of activation, which differs for each activation.
        since = by_labels("ALERTS_FOR_STATE")
        times = by_labels('ALERTS{alertstate="firing"}')
        return {key: len({since[key][at] for at in values if at in since[key]}) for key, values in times.items()}
