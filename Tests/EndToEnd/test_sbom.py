"""`ops/sbom`: a valid bill of materials, and a complete one."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from harness.cluster import program
from harness.containers import ROOT


@pytest.fixture(scope="module")
def told(tmp_path_factory) -> str:
    if not shutil.which("swift"):
        pytest.skip("no swift here: what was resolved is not known")
    file = tmp_path_factory.mktemp("sbom") / "sbom.json"
    env = os.environ | {"POLLER_BIN_DIR": str(Path(program("pollerd")).parent), "SOURCE_DATE_EPOCH": "1795521751"}
    done = subprocess.run([ROOT / "ops/sbom", file], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return file.read_text()


@pytest.fixture(scope="module")
def bill(told: str) -> dict:
    return json.loads(told)


def test_it_is_what_cyclonedx_says_one_is(told: str, bill: dict):
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(told) is None
    # And the validator sees what is none.
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(bill | {"version": "one"}))
    references = [part["bom-ref"] for part in bill["components"]]
    assert len(set(references)) == len(references)
    known = {*references, bill["metadata"]["component"]["bom-ref"]}
    for need in bill["dependencies"]:
        assert {need["ref"], *need["dependsOn"]} <= known
    assert bill["metadata"]["timestamp"] == "2026-11-24T12:02:31Z"


def test_every_direct_dependency_is_exact_and_in_it_with_its_licence(bill: dict):
    manifest = (ROOT / "Package.swift").read_text()
    declared = re.findall(r'url: "https://(github\.com/[^"]+)",\s*(\w+): "([\d.]+)"', manifest)
    assert len(declared) == manifest.count(".package(") > 10
    parts = {part["purl"]: part for part in bill["components"]}
    (root,) = [need["dependsOn"] for need in bill["dependencies"] if need["ref"] == bill["metadata"]["component"]["bom-ref"]]
    for address, rule, version in declared:
        assert rule == "exact", f"{address} may become another version: nothing keeps what was resolved"
        purl = f"pkg:swift/{address}@{version}"
        assert purl in root
    for purl, part in parts.items():
        if purl.startswith("pkg:swift/"):
            assert part["licenses"], purl


def test_what_comes_along_is_in_it_too(bill: dict):
    """What the direct ones depend on, the C code in them, Swift itself, and what the programs load."""
    names = {part["name"]: part for part in bill["components"]}
    assert {"swift-atomics", "swift-asn1", "swift-runtime"} <= names.keys()
    for name in ("boringssl", "llhttp", "zlib"):
        assert names[name]["version"], name
    if shutil.which("dpkg-query"):
        linked = subprocess.run(["ldd", program("pollerd")], capture_output=True, text=True).stdout
        assert ("libhiredis.so" in linked) == ("libhiredis0.14" in names or any(n.startswith("libhiredis") for n in names))
        # Loaded with the first mail.
        assert any(name.startswith("libcurl4") for name in names)
        assert names["libc6"]["purl"].startswith("pkg:deb/debian/libc6@")
