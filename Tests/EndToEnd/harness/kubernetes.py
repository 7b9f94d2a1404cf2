"""The manifests of ops/kubernetes, each overlay as Kustomize renders it."""

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
# The folder of a pod's secrets; each file is named after the variable it sets.
SECRETS = "/run/secrets/poller"


@functools.cache
def rendered(overlay: str) -> tuple[dict, ...]:
    """Returns every object of an overlay; skips the test if neither kubectl nor kustomize is installed."""
    commands = {"kubectl": ["kubectl", "kustomize"], "kustomize": ["kustomize", "build"]}
    for name, command in commands.items():
        if shutil.which(name):
            folder = str(FOLDER / "overlays" / overlay)
            done = subprocess.run([*command, folder], capture_output=True, text=True, timeout=60)
            assert done.returncode == 0, done.stderr
            return tuple(yaml.safe_load_all(done.stdout))
    pytest.skip("neither kubectl nor kustomize is here: ops/kubernetes was not rendered")


def of_kind(overlay: str, kind: str) -> dict[str, dict]:
    """Returns the objects of a kind by name."""
    return {found["metadata"]["name"]: found for found in rendered(overlay) if found["kind"] == kind}


def config(overlay: str, name: str = "poller") -> tuple[str, dict[str, str]]:
    """Returns the name and the data of a ConfigMap whose name ends in a digest."""
    (found,) = [
        (full, value["data"])
        for full, value in of_kind(overlay, "ConfigMap").items()
        if re.fullmatch(rf"{name}-[0-9a-z]{{10}}", full)
    ]
    return found


def workloads(overlay: str) -> dict[str, dict]:
    """Returns every Deployment and StatefulSet by name."""
    return of_kind(overlay, "Deployment") | of_kind(overlay, "StatefulSet")


def pod(workload: dict) -> dict:
    return workload["spec"]["template"]["spec"]


def role(overlay: str, name: str) -> tuple[dict, dict]:
    """Returns the pod of a role and its container."""
    spec = pod(of_kind(overlay, "Deployment")[f"poller-{name}"])
    (container,) = spec["containers"]
    return spec, container


def environment(overlay: str, name: str) -> dict[str, str]:
    """Returns the environment of a role's container, including the ConfigMap's values."""
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
    """Returns the key of the Secret that each file holds, by path."""
    spec, container = role(overlay, name)
    (mount,) = [mount for mount in container["volumeMounts"] if mount["mountPath"] == SECRETS]
    (volume,) = [volume for volume in spec["volumes"] if volume["name"] == mount["name"]]
    return {f"{SECRETS}/{item['path']}": item["key"] for item in volume["secret"]["items"]}


def configuration_file(overlay: str, name: str) -> str | None:
    """Returns the text of a role's configuration file, or `None` if it has none."""
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
