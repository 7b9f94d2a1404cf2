"""ops/Dockerfile copies, builds and installs only what exists, tried out without Docker."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.cluster import Cluster, program
from harness.containers import PROGRAMS, ROOT, SERVICES, of


def test_the_image_s_health_check_asks_a_path_that_answers(calm: Cluster):
    (line,) = of("HEALTHCHECK")
    command = json.loads(line.split("CMD", 1)[1])
    url = next(part for part in command if part.startswith("http://"))
    environment = SERVICES["api"]["environment"]
    assert url.split("/")[2].split(":")[1] == environment["POLLER_ADMIN_BIND"].split(":")[-1]
    path = "/" + url.split("/", 3)[3]
    for role in [calm.api_process, *calm.workers, *calm.notifiers]:
        local = [part.replace(url, role.address("admin") + path) for part in command]
        assert subprocess.run(local).returncode == 0, f"{role.name}: {local}"


def test_every_path_the_build_copies_exists_and_reaches_it():
    ignore = (ROOT / "ops/Dockerfile.dockerignore").read_text().split()
    for line in of("COPY"):
        if line.startswith("--from"):
            continue
        for path in line.split()[:-1]:
            assert (ROOT / path).exists(), f"COPY {path}"
            assert f"!{path}" in ignore, f"{path} is kept out of the build by its .dockerignore"


def test_the_build_makes_and_installs_every_program():
    build = next(line for line in of("RUN") if "swift build" in line)
    for name in PROGRAMS:
        assert f"--product {name}" in build
        assert f"$bin/{name}" in build
    # One runtime for all of them, found by what they are linked with, and put where they look for it.
    assert "ldd /out/bin/*" in build and "/out/runtime" in build
    assert "--from=build /out/runtime/ /usr/lib/swift/linux/" in of("COPY")
    manifest = (ROOT / "Package.swift").read_text()
    for name in PROGRAMS:
        assert f'"{name}"' in manifest


def test_the_runtime_that_the_image_carries_is_all_that_the_programs_need(tmp_path: Path):
    """The command that collects it, tried on the programs here; then they start with nothing else of Swift."""
    if not shutil.which("ldd") or not shutil.which("unshare") or os.getuid() != 0:
        pytest.skip("needs ldd, and root to hide the toolchain")
    build = next(line for line in of("RUN") if "swift build" in line)
    collect = build[build.index("ldd /out") :].replace("/out/bin/*", " ".join(map(program, PROGRAMS)))
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    subprocess.run(["sh", "-c", collect.replace("/out/runtime", str(runtime))], check=True, timeout=60)
    linked = subprocess.run(["ldd", program("pollerd")], capture_output=True, text=True, check=True).stdout
    found = re.search(r"=> (/\S+/swift/linux)/", linked)
    assert found, "the programs here are linked with a runtime of their own"
    for name in PROGRAMS:
        script = f"mount --bind {runtime} {found[1]} && exec {program(name)} --help"
        done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and "USAGE" in done.stdout, done.stderr


def test_packages_of_build_and_image_exist_for_this_debian():
    """The image is Debian 12; its package names are looked up where this is one."""
    if not shutil.which("apt-cache") or "bookworm" not in Path("/etc/os-release").read_text():
        pytest.skip("no Debian 12 here")
    for line in of("RUN"):
        for group in re.findall(r"apt-get install -y --no-install-recommends ([^&]+)", line):
            for package in group.split():
                done = subprocess.run(["apt-cache", "show", package], capture_output=True)
                assert done.returncode == 0, f"no package {package}"


def test_the_image_runs_without_root_and_its_programs_find_their_libraries():
    users = of("USER")
    assert users and users[-1] not in ("root", "0")
    # A system user beyond 999 makes useradd warn, at every build.
    assert not re.search(r"useradd [^&]*--system", " ".join(of("RUN")))
    final = [line for line in of("RUN") if "libhiredis" in line][-1]
    if not shutil.which("ldd"):
        pytest.skip("no ldd here")
    for name in PROGRAMS:
        linked = subprocess.run(["ldd", program(name)], capture_output=True, text=True).stdout
        if "libhiredis." in linked:
            assert "libhiredis0.14" in final, f"{name} needs libhiredis0.14 in the image"
    # Nobody is linked with it: it is loaded with the first mail.
    assert "libcurl4" in final
