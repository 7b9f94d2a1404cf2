"""What is applied to a cluster: each overlay of ops/kubernetes as Kustomize renders it."""

import functools
import re
import shutil
import subprocess

import pytest
import yaml

from .containers import ROOT

FOLDER = ROOT / "ops/kubernetes"
OVERLAYS = ("dev", "production", "cluster")
ROLES = ("api", "worker", "notifier", "gateway")
# Where a pod has its secrets, each file named after the variable it stands for.
SECRETS = "/run/secrets/poller"


@functools.cache
def rendered(overlay: str) -> tuple[dict, ...]:
    """Every object of an overlay; skips where nothing renders it."""
    commands = {"kubectl": ["kubectl", "kustomize"], "kustomize": ["kustomize", "build"]}
    for name, command in commands.items():
        if shutil.which(name):
            folder = str(FOLDER / "overlays" / overlay)
            done = subprocess.run([*command, folder], capture_output=True, text=True, timeout=60)
            assert done.returncode == 0, done.stderr
            return tuple(yaml.safe_load_all(done.stdout))
    pytest.skip("neither kubectl nor kustomize is here: ops/kubernetes was not rendered")


def of_kind(overlay: str, kind: str) -> dict[str, dict]:
    """The objects of a kind by name."""
    return {found["metadata"]["name"]: found for found in rendered(overlay) if found["kind"] == kind}


def config(overlay: str, name: str = "poller") -> tuple[str, dict[str, str]]:
    """The name and the data of a ConfigMap that was made with a digest."""
    (found,) = [
        (full, value["data"])
        for full, value in of_kind(overlay, "ConfigMap").items()
        if re.fullmatch(rf"{name}-[0-9a-z]{{10}}", full)
    ]
    return found


def workloads(overlay: str) -> dict[str, dict]:
    """Everything that has pods."""
    return of_kind(overlay, "Deployment") | of_kind(overlay, "StatefulSet")


def pod(workload: dict) -> dict:
    return workload["spec"]["template"]["spec"]


def role(overlay: str, name: str) -> tuple[dict, dict]:
    """The pod of a role and its container."""
    spec = pod(of_kind(overlay, "Deployment")[f"poller-{name}"])
    (container,) = spec["containers"]
    return spec, container


def environment(overlay: str, name: str) -> dict[str, str]:
    """What the container of a role is told, the ConfigMap included."""
    _, container = role(overlay, name)
    full, data = config(overlay)
    assert container["envFrom"] == [{"configMapRef": {"name": full}}]
    told = dict(data)
    for entry in container["env"]:
        if "value" not in entry:
            source = entry["valueFrom"]["configMapKeyRef"]
            assert source["name"] == full
            entry = {"name": entry["name"], "value": data[source["key"]]}
        told[entry["name"]] = entry["value"]
    return told


def secret_files(overlay: str, name: str) -> dict[str, str]:
    """Which key of the Secret stands in which file, by file."""
    spec, container = role(overlay, name)
    (mount,) = [mount for mount in container["volumeMounts"] if mount["mountPath"] == SECRETS]
    (volume,) = [volume for volume in spec["volumes"] if volume["name"] == mount["name"]]
    return {f"{SECRETS}/{item['path']}": item["key"] for item in volume["secret"]["items"]}


def configuration_file(overlay: str, name: str) -> str | None:
    """What stands in the configuration file of a role; none where it has none."""
    path = environment(overlay, name).get("POLLER_CONFIG_FILE")
    if path is None:
        return None
    spec, container = role(overlay, name)
    folder, _, key = path.rpartition("/")
    (mount,) = [mount for mount in container["volumeMounts"] if mount["mountPath"] == folder]
    (volume,) = [volume for volume in spec["volumes"] if volume["name"] == mount["name"]]
    full, data = config(overlay, "poller-configuration")
    assert volume["configMap"]["name"] == full
    return data[key]
