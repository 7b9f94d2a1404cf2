"""Tests that ops/Dockerfile copies, builds and installs only existing files, without Docker."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.cluster import Cluster, program
from harness.containers import PROGRAMS, ROOT, SERVICES, expand, of


def test_the_health_check_of_the_image_requests_an_existing_path(calm: Cluster):
    (line,) = of("HEALTHCHECK")
    command = json.loads(line.split("CMD", 1)[1])
    url = next(part for part in command if part.startswith("http://"))
    environment = SERVICES["api"]["environment"]
    assert url.split("/")[2].split(":")[1] == environment["POLLER_ADMIN_BIND"].split(":")[-1]
    path = "/" + url.split("/", 3)[3]
    for role in [calm.api_process, *calm.workers, *calm.notifiers]:
        local = [part.replace(url, role.address("admin") + path) for part in command]
        assert subprocess.run(local).returncode == 0, f"{role.name}: {local}"


def test_every_path_copied_by_the_build_exists_and_is_not_ignored():
    ignore = (ROOT / "ops/Dockerfile.dockerignore").read_text().split()
    for line in of("COPY"):
        if line.startswith("--from"):
            continue
        for path in line.split()[:-1]:
            assert (ROOT / path).exists(), f"COPY {path}"
            assert f"!{path}" in ignore, f"{path} is kept out of the build by its .dockerignore"


def test_the_build_compiles_and_installs_every_program():
    build = next(line for line in of("RUN") if "swift build" in line)
    assert "--product poller " in build and '/poller" /out/' in build
    for name in PROGRAMS:
        assert f"ln -s poller /out/{name}" in build
    # The programs contain Swift's libraries.
    assert build.count("--static-swift-stdlib") == 2
    assert "--from=build /out/ /out/" in of("COPY") and "--from=root /image/ /" in of("COPY")
    assert "/rootfs /image /out" in of("RUN")
    manifest = (ROOT / "Package.swift").read_text()
    for name in PROGRAMS:
        assert f'"{name}"' in manifest


class Image:
    """The root file system that `ops/rootfs` creates from the local programs.

    Its commands run as the image's user.
    """

    def __init__(self, folder: Path):
        self.root = folder / "image"
        self.programs = folder / "bin"
        self.programs.mkdir()
        (self.programs / "poller").symlink_to(program("poller"))
        for name in PROGRAMS:
            (self.programs / name).symlink_to("poller")
        subprocess.run([ROOT / "ops/rootfs", self.root, self.programs], check=True, timeout=120)

    def run(self, *command: str) -> subprocess.CompletedProcess:
        environment = {"PATH": "/usr/local/bin:/usr/bin"}
        # Every container engine mounts these. Swift programs read their arguments from /proc.
        script = 'mount --bind /proc "$1/proc" && mount --bind /dev "$1/dev" && exec /usr/sbin/chroot --userspec=10001:10001 "$@"'
        return subprocess.run(
            ["/usr/bin/unshare", "-m", "/bin/sh", "-c", script, "--", self.root, *command],
            env=environment, capture_output=True, text=True, timeout=60,
        )


@pytest.fixture(scope="module")
def image(tmp_path_factory) -> Image:
    if not shutil.which("dpkg") or os.getuid() != 0:
        pytest.skip("needs Debian, and root to change the root of the file system")
    return Image(tmp_path_factory.mktemp("image"))


def test_the_image_contains_everything_that_its_programs_need(image: Image, calm: Cluster):
    for name in PROGRAMS:
        done = image.run(name, "--help")
        assert done.returncode == 0 and "USAGE" in done.stdout, done.stderr
    # The commands of Compose and Kubernetes: pollerd's entrypoint, a wait before the end, a key for a command.
    entrypoint = SERVICES["api"]["entrypoint"]
    script = [expand(part, {}) for part in entrypoint]
    done = image.run("env", "POLLER_API_KEY=a-key", *script, "pollerctl", "--url", calm.api.url, "stats")
    assert done.returncode == 0, done.stderr
    assert image.run("cat", "/tmp/api-keys").returncode == 127, "the image has unneeded tools"
    assert (image.root / "tmp/api-keys").read_text() == "a-key\n"
    assert image.run("sleep", "0").returncode == 0
    health = ["curl", "-fsS", "-o", "/dev/null", calm.api_process.address("admin") + "/readyz"]
    assert image.run(*health).returncode == 0
    # The mail library is loaded by name at run time. The tool shows that it and its dependencies are present.
    assert "libcurl" in image.run("curl", "--version").stdout
    folder = SERVICES["sandbox"]["volumes"][0].split(":")[1]
    assert image.run("sh", "-c", f"echo kept > {folder}/written").returncode == 0
    # Name resolution from files and DNS, and the trusted certificate authorities.
    assert "localhost" in image.run("curl", "-sS", "http://localhost:1/").stderr
    assert (image.root / "etc/ssl/certs/ca-certificates.crt").stat().st_size > 100_000
    assert {"libc6", "libcurl4", "libssl3", "libhiredis0.14"} <= {it.name for it in (image.root / "var/lib/dpkg/status.d").iterdir()}


def test_third_party_files_of_the_image_are_small(image: Image):
    """Checks the size of Debian's files: of the limit of 160 MB they may take 25 MB.

    test_compose_for_real.py checks the whole image where Docker is available.
    """
    linked = subprocess.run(["ldd", program("poller")], capture_output=True, text=True, check=True).stdout
    swift = {found[1] for found in re.finditer(r"=> (/\S*/swift/\S+)", linked)}
    files = [path for path in image.root.rglob("*") if path.is_file() and not path.is_symlink()]
    others = [path for path in files if "usr/local/bin" not in str(path) and f"/{path.relative_to(image.root)}" not in swift]
    size = sum(path.stat().st_size for path in others)
    assert 5e6 < size < 25e6, f"{size / 1e6:.1f} MB"


def test_packages_of_build_and_image_exist_for_this_debian():
    """Checks the package names of the image, which is Debian 12, on a machine with the same release."""
    if not shutil.which("apt-cache") or "bookworm" not in Path("/etc/os-release").read_text():
        pytest.skip("no Debian 12 here")
    for line in of("RUN"):
        for group in re.findall(r"apt-get install -y --no-install-recommends ([^&]+)", line):
            for package in group.split():
                done = subprocess.run(["apt-cache", "show", package], capture_output=True)
                assert done.returncode == 0, f"no package {package}"


def test_the_image_runs_without_root():
    users = of("USER")
    assert users and users[-1] not in ("root", "0")
    # A system user with an ID above 999 makes useradd print a warning in every build.
    assert not re.search(r"useradd [^&]*--system", " ".join(of("RUN")))
