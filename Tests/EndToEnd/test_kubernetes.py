"""Tests that the manifests in ops/kubernetes are valid and match the programs.

No cluster runs here. The overlays are rendered as `kubectl apply -k` does and validated against the schemas of the
oldest and the newest supported Kubernetes. Their settings are tried with the programs.
"""

import base64
import os
import re
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import jsonschema
import kubernetes_validate
import pytest
import yaml

from harness.cluster import Cluster, program
from harness.containers import ROOT, of
from harness.kubernetes import (
    FOLDER, OVERLAYS, ROLES, SECRETS, config, configuration_file, environment, of_kind, pod, rendered, role, secret_files,
    workloads,
)

# The first version with evictions of unready pods, and the newest with available schemas.
VERSIONS = ("1.30", "1.37")
# The parts of the Secret that each role receives, and no others.
EVERY_ROLE = {"POLLER_REDIS_URL", "POLLER_MASTER_KEY"}
HANDED = {
    "api": EVERY_ROLE | {"POLLER_API_KEYS", "STRIPE_API_KEY", "STRIPE_WEBHOOK_SECRET", "POLLER_SMTP_URL"},
    "worker": EVERY_ROLE | {"STRIPE_API_KEY", "STRIPE_WEBHOOK_SECRET"},
    "notifier": EVERY_ROLE | {"POLLER_SMTP_URL"},
    "gateway": EVERY_ROLE | {"POLLER_API_KEYS"},
}
# The rules of KEDA's reference for the fields in use, because no package has its schemas.
# https://keda.sh/docs/latest/reference/scaledobject-spec/ and …/scalers/prometheus/
POLICY = {"enum": ["Percent", "Pods"]}
SCALED_OBJECT = {
    "type": "object",
    "required": ["apiVersion", "kind", "metadata", "spec"],
    "properties": {
        "apiVersion": {"const": "keda.sh/v1alpha1"},
        "spec": {
            "type": "object",
            "required": ["scaleTargetRef", "triggers"],
            "additionalProperties": False,
            "properties": {
                "scaleTargetRef": {"required": ["name"], "properties": {"name": {"type": "string"}}},
                "minReplicaCount": {"type": "integer", "minimum": 0},
                "maxReplicaCount": {"type": "integer", "minimum": 1},
                "pollingInterval": {"type": "integer", "minimum": 1},
                "fallback": {"required": ["failureThreshold", "replicas"]},
                "advanced": {"properties": {"horizontalPodAutoscalerConfig": {"properties": {"behavior": {"type": "object"}}}}},
                "triggers": {
                    "type": "array",
                    "items": {
                        "required": ["type", "metadata"],
                        "properties": {
                            "type": {"const": "prometheus"},
                            # Required for a fallback.
                            "metricType": {"const": "AverageValue"},
                            "metadata": {
                                "required": ["serverAddress", "query", "threshold"],
                                "additionalProperties": {"type": "string"},
                            },
                        },
                    },
                },
            },
        },
    },
}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_object_is_valid_for_kubernetes(overlay: str):
    for found in rendered(overlay):
        if found["kind"] == "ScaledObject":
            jsonschema.validate(found, SCALED_OBJECT)
            # The part that KEDA passes on to Kubernetes.
            behavior = found["spec"]["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
            target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "poller-worker"}
            scaler = {"maxReplicas": 2, "scaleTargetRef": target, "behavior": behavior}
            found = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "of-keda"}, "spec": scaler}
        for version in VERSIONS:
            kubernetes_validate.validate(found, version, strict=True)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_pod_meets_the_restricted_standard(overlay: str):
    """Checks the namespace's `restricted` standard, and a read-only root file system."""
    (namespace,) = of_kind(overlay, "Namespace").values()
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    for name, workload in workloads(overlay).items():
        spec = pod(workload)
        assert spec["securityContext"]["runAsNonRoot"] and spec["securityContext"]["runAsUser"] > 0, name
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert spec["automountServiceAccountToken"] is False, name
        # Otherwise Kubernetes would set POLLER_PORT and similar variables, which pollerd takes for mistyped
        # options.
        assert spec["enableServiceLinks"] is False, name
        for container in spec["containers"]:
            context = container["securityContext"]
            assert context["capabilities"] == {"drop": ["ALL"]}, name
            assert context["allowPrivilegeEscalation"] is False and context["readOnlyRootFilesystem"], name
            assert container["resources"]["requests"].keys() == {"cpu", "memory"}, name
            assert "memory" in container["resources"]["limits"] and "cpu" not in container["resources"]["limits"], name
            assert "readinessProbe" in container, name
    user = re.search(r"--uid (\d+)", " ".join(of("RUN")))[1]
    assert all(pod(workloads(overlay)[f"poller-{name}"])["securityContext"]["runAsUser"] == int(user) for name in ROLES)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_selector_matches_pods_and_every_role_has_budget_and_policy(overlay: str):
    labels = {name: work["spec"]["template"]["metadata"]["labels"] for name, work in workloads(overlay).items()}

    def found(selector: dict) -> set[str]:
        wanted = selector.get("matchLabels", {}).items()
        some = [(e["key"], e["values"]) for e in selector.get("matchExpressions", [])]
        return {
            name
            for name, has in labels.items()
            if wanted <= has.items() and all(has.get(key) in values for key, values in some)
        }

    for name, work in workloads(overlay).items():
        assert found(work["spec"]["selector"]) == {name}
    for name, service in of_kind(overlay, "Service").items():
        assert found({"matchLabels": service["spec"]["selector"]}) == {name}
        ports = {port["name"] for container in pod(workloads(overlay)[name])["containers"] for port in container["ports"]}
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports
    for name, budget in of_kind(overlay, "PodDisruptionBudget").items():
        assert found(budget["spec"]["selector"]) == {name}
    assert {f"poller-{name}" for name in ROLES} <= of_kind(overlay, "PodDisruptionBudget").keys()
    policies = of_kind(overlay, "NetworkPolicy").values()
    for direction in ("Ingress", "Egress"):
        covered = [found(p["spec"]["podSelector"]) for p in policies if direction in p["spec"]["policyTypes"]]
        assert set().union(*covered) == labels.keys(), f"a pod without a policy for {direction}"
    for policy in policies:
        selected = found(policy["spec"]["podSelector"])
        assert selected
        named = {port["name"] for name in selected for c in pod(workloads(overlay)[name])["containers"] for port in c["ports"]}
        ports = [port["port"] for rule in policy["spec"].get("ingress", []) for port in rule["ports"]]
        assert {port for port in ports if isinstance(port, str)} <= named


@pytest.mark.parametrize("overlay", OVERLAYS)
@pytest.mark.parametrize("name", ROLES)
def test_every_variable_is_known_and_every_value_accepted(overlay: str, name: str, tmp_path: Path):
    """Checks the environment with pollerd, with the pod's secrets in files of the same names."""
    samples = {
        "POLLER_REDIS_URL": "rediss://:secret@redis.example.com:6379/0",
        "POLLER_MASTER_KEY": "4f1c0de2a9b84c7f9d3a6b1e8c5d7e2f" + "0a1b2c3d4e5f60718293a4b5c6d7e8f9",
        "POLLER_API_KEYS": "a-key-of-a-test-0123456789",
        "STRIPE_API_KEY": "rk_live_1",
        "STRIPE_WEBHOOK_SECRET": "whsec_1",
        "POLLER_SMTP_URL": "smtp://user:secret@mail.example.com:587",
    }
    if overlay == "dev":
        # The overlay contains this secret, because it protects nothing.
        (secret,) = of_kind(overlay, "Secret").values()
        samples = {key: base64.b64decode(value).decode() for key, value in secret["data"].items()}
    env = environment(overlay, name)
    files = secret_files(overlay, name)
    for path, key in files.items():
        assert path == f"{SECRETS}/{key}"
        file = tmp_path / key
        file.write_text(samples[key])
        file.chmod(0o440)
    # Each file is named by a variable, and each named file exists.
    assert {value for value in env.values() if value.startswith(SECRETS)} == files.keys()
    for key, value in env.items():
        if value.startswith(SECRETS):
            assert key == Path(value).name + "_FILE"
    env = {key: value.replace(SECRETS, str(tmp_path)) for key, value in env.items()}
    if (text := configuration_file(overlay, name)) is not None:
        file = tmp_path / "poller.yaml"
        file.write_text(text)
        file.chmod(0o440)
        env["POLLER_CONFIG_FILE"] = str(file)
    command_line_key = env.pop("POLLER_API_KEY", None)
    assert command_line_key is None or command_line_key == samples["POLLER_API_KEYS"]
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("POLLER_", "STRIPE_"))}
    done = subprocess.run([program("pollerd"), "check-config"], env=inherited | env, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
    # The configuration file is not an option. The other two variables are passed on as options of another name.
    for variable in env.keys() - {"POLLER_CONFIG_FILE", "MAIL_FROM", "TRACES_TO"}:
        assert f"{variable}=" in done.stdout, f"{variable} means nothing to pollerd"


@pytest.mark.parametrize("name", ROLES)
def test_every_role_has_the_configuration_file_and_its_secrets(name: str):
    assert configuration_file("dev", name) is None
    for overlay in ("production", "cluster"):
        # The overlay's own file, so that an operator need not look for it in a component.
        assert configuration_file(overlay, name) == (FOLDER / "overlays/production/poller.yaml").read_text()
        spec, container = role(overlay, name)
        (volume,) = [each["secret"] for each in spec["volumes"] if each["name"] == "configuration-secrets"]
        assert volume["secretName"] == "poller-configuration" and volume["optional"] is True
        (mount,) = [each for each in container["volumeMounts"] if each["name"] == "configuration-secrets"]
        assert mount["readOnly"] and mount["mountPath"] == "/run/secrets/configuration"


def test_the_ingress_has_the_body_and_time_limits_of_the_api():
    """Compares the Ingress with the code's limits for bodies and long polls."""
    (ingress,) = of_kind("production", "Ingress").values()
    told = ingress["metadata"]["annotations"]
    reader = (ROOT / "Sources/PollerAPI/Request/BodyReader.swift").read_text()
    polls = (ROOT / "Sources/PollerAPI/Request/LongPolls.swift").read_text()
    most = int(re.search(r"batchBytesMax = ([\d_]+)", reader)[1].replace("_", ""))
    wait = int(re.search(r"waitMax = Duration\.seconds\((\d+)\)", polls)[1])
    assert int(told["nginx.ingress.kubernetes.io/proxy-body-size"].removesuffix("m")) << 20 >= most
    assert int(told["nginx.ingress.kubernetes.io/proxy-read-timeout"]) > wait


@pytest.mark.parametrize("overlay", OVERLAYS)
@pytest.mark.parametrize("name", ROLES)
def test_traces_are_sent_only_to_the_labelled_collector(overlay: str, name: str):
    collector = environment(overlay, name).get("POLLER_OTLP_ENDPOINT")
    labels = of_kind(overlay, "Deployment")[f"poller-{name}"]["spec"]["template"]["metadata"]["labels"]

    def selects(policy: dict) -> bool:
        selector = policy["spec"]["podSelector"]
        some = selector.get("matchExpressions", [])
        return selector["matchLabels"].items() <= labels.items() and all(labels[it["key"]] in it["values"] for it in some)

    rules = [rule for policy in of_kind(overlay, "NetworkPolicy").values() if selects(policy) for rule in policy["spec"].get("egress", [])]
    ways = [rule.get("to") for rule in rules if {"port": 4318} in rule["ports"]]
    if overlay == "dev":
        assert collector is None and not ways
    else:
        assert urlsplit(collector).port == 4318
        assert ways == [[{"namespaceSelector": {"matchLabels": {"poller/tracing": "true"}}}]]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_no_manifest_contains_a_secret(overlay: str):
    for name in ROLES:
        for key, value in environment(overlay, name).items():
            if overlay != "dev":
                assert not re.search(r"SECRET$|MASTER_KEY$|API_KEY$|SMTP_URL$|REDIS_URL$", key), f"{key}={value}"
    # The header of the overlay lists the secrets to create, which must be those that are used.
    if overlay != "dev":
        head = (FOLDER / "overlays/production/kustomization.yaml").read_text()
        told = set(re.findall(r"--from-file=(\w+)", head))
        assert {name: set(secret_files(overlay, name).values()) for name in ROLES} == HANDED
        assert told == set().union(*HANDED.values())
        assert not of_kind(overlay, "Secret")


@pytest.mark.parametrize("overlay", OVERLAYS)
@pytest.mark.parametrize("name", ROLES)
def test_ports_and_time_limits_match(overlay: str, name: str):
    spec, container = role(overlay, name)
    env = environment(overlay, name)
    assert container["args"] == ["pollerd", name]
    listens = {"admin": env["POLLER_ADMIN_BIND"]}
    if name == "api":
        listens["http"] = env["POLLER_API_BIND"]
    if name == "gateway":
        listens["live"] = env["POLLER_GATEWAY_BIND"]
    if name == "notifier":
        assert env["POLLER_GATEWAY_BIND"] == "off"
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert {key: f"0.0.0.0:{port}" for key, port in ports.items()} == listens
    annotations = of_kind(overlay, "Deployment")[f"poller-{name}"]["spec"]["template"]["metadata"]["annotations"]
    assert annotations["prometheus.io/port"] == str(ports["admin"])
    drain = int(env["POLLER_DRAIN_TIMEOUT"].removesuffix("s"))
    hook = container.get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command", ["sleep", "0"])
    assert hook[0] == "sleep" and (hook[1] != "0") == (name in ("api", "gateway"))
    # Five seconds twice, for services that exceed the drain timeout; see NodeProcess.
    assert spec["terminationGracePeriodSeconds"] >= int(hook[1]) + drain + 10


def test_the_probes_request_existing_paths(calm: Cluster):
    paths = set()
    for overlay in OVERLAYS:
        for name in ROLES:
            _, container = role(overlay, name)
            probes = [container[probe] for probe in ("startupProbe", "livenessProbe", "readinessProbe")]
            assert {probe["httpGet"]["port"] for probe in probes} == {"admin"}
            paths |= {probe["httpGet"]["path"] for probe in probes}
    for process in [calm.api_process, *calm.workers, *calm.notifiers]:
        for path in paths | {"/metrics"}:
            assert process.admin(path).status_code == 200


def test_images_are_pinned_to_this_release():
    version = re.search(r'version = "([\d.]+)"', (ROOT / "Sources/pollerd/Output/Release.swift").read_text())[1]
    for overlay in OVERLAYS:
        for name, workload in workloads(overlay).items():
            for container in pod(workload)["containers"]:
                image, _, tag = container["image"].rpartition(":")
                assert image and tag != "latest", name
                if overlay != "dev" and name.startswith("poller-"):
                    assert tag == version
    full, _ = config("cluster", "redis-cluster")
    (nodes,) = of_kind("cluster", "StatefulSet").values()
    assert full in [volume.get("configMap", {}).get("name") for volume in pod(nodes)["volumes"]]


def test_workers_are_scaled_only_by_the_metric_of_wanted_workers():
    for overlay in ("production", "cluster"):
        (scaled,) = of_kind(overlay, "ScaledObject").values()
        spec = scaled["spec"]
        deployment = of_kind(overlay, "Deployment")[spec["scaleTargetRef"]["name"]]
        assert "replicas" not in deployment["spec"]
        assert 2 <= spec["minReplicaCount"] <= spec["fallback"]["replicas"] <= spec["maxReplicaCount"]
        (trigger,) = spec["triggers"]
        # Otherwise missing data counts as zero, which removes workers, and the fallback is never used.
        assert trigger["metadata"]["ignoreNullValues"] == "false"
        patches = yaml.safe_load((FOLDER / "overlays/production/kustomization.yaml").read_text())["patches"]
        (address,) = yaml.safe_load(patches[0]["patch"])
        assert address["value"] == trigger["metadata"]["serverAddress"]
        (metric,) = re.findall(r"poller_\w+", trigger["metadata"]["query"])
        table = (ROOT / "Sources/Poller/Poller.docc/Guides/Metrics.md").read_text()
        assert f"| `{metric}` | gauge |" in table, f"{metric} is no gauge of ours"
