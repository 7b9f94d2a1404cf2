"""Tests `ops/release` in a temporary clone: its checks, its changes, and that it changes nothing without `--do`."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.cluster import program
from harness.containers import ROOT

VERSION = "9.8.7"
CHANGELOG = ".github/CHANGELOG.md"


@pytest.fixture(scope="module")
def untouched(tmp_path_factory) -> Path:
    """Returns a clone that no test changes."""
    if not shutil.which("git") or subprocess.run(["git", "-C", ROOT, "rev-parse"], capture_output=True).returncode:
        pytest.skip("not a git checkout: no release was tried")
    folder = tmp_path_factory.mktemp("release") / "clone"
    subprocess.run(["git", "clone", "--quiet", "--no-tags", "--depth=1", f"file://{ROOT}", folder], check=True, timeout=300)
    # Include uncommitted changes of these files.
    shutil.copy(ROOT / "ops/release", folder / "ops/release")
    for path in ("Sources/pollerd/Output/Release.swift", "Sources/pollerctl/Pollerctl.swift", CHANGELOG, "ops/lib.sh"):
        shutil.copy(ROOT / path, folder / path)
    for path in ("ops/kubernetes", "Tests/EndToEnd/harness"):
        shutil.copytree(ROOT / path, folder / path, dirs_exist_ok=True)
    # Reuse the environment, because an installation for a temporary clone would be wasted.
    (folder / ".venv").symlink_to(ROOT / ".venv")
    (folder / ".git/info/exclude").write_text(".venv\n")
    for name, value in {"user.name": "A Test", "user.email": "test@example.com", "commit.gpgsign": "false"}.items():
        git(folder, "config", name, value)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "what is tried")
    # The stamp that `ops/test long` leaves.
    (folder / ".build").mkdir()
    (folder / ".build/tested-long").write_text(git(folder, "rev-parse", "HEAD^{tree}"))
    return folder


@pytest.fixture
def clone(untouched: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(untouched, tmp_path / "clone", symlinks=True))


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", folder, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def release(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    environment = os.environ | {"POLLER_BIN_DIR": str(Path(program("pollerd")).parent)}
    return subprocess.run(
        ["ops/release", *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )


def test_without_do_it_only_prints_its_plan(untouched: Path):
    clone = untouched
    before = git(clone, "rev-parse", "HEAD")
    done = release(clone, VERSION)
    assert done.returncode == 0, done.stderr
    for step in ("keep_scripts", "git tag --annotate v9.8.7", "ops/package", "ops/sbom", "docker build", "sums"):
        assert step in done.stderr
    assert git(clone, "rev-parse", "HEAD") == before
    assert not git(clone, "status", "--porcelain") and not git(clone, "tag", "--list")
    assert not (clone / ".build-release").exists()


def test_the_tag_has_the_version_everywhere_and_the_changelog(clone: Path):
    unreleased = re.search(r"^## Unreleased\n\n(.*?)\n+## ", (clone / CHANGELOG).read_text(), re.MULTILINE | re.DOTALL)[1]
    done = release(clone, VERSION, "--do", "--tag-only")
    assert done.returncode == 0, done.stderr
    assert git(clone, "tag", "--points-at", "HEAD") == "v9.8.7"
    assert git(clone, "log", "-1", "--format=%s") == "release: 9.8.7"
    told = git(clone, "tag", "--list", "--format=%(contents)", "v9.8.7")
    assert told.startswith("Poller 9.8.7") and unreleased.strip() in told
    text = (clone / CHANGELOG).read_text()
    assert re.search(r"^## Unreleased\n\n## 9\.8\.7 – \d{4}-\d\d-\d\d\n\n", text, re.MULTILINE)
    assert 'version = "9.8.7"' in (clone / "Sources/pollerd/Output/Release.swift").read_text()
    assert 'version: "9.8.7"' in (clone / "Sources/pollerctl/Pollerctl.swift").read_text()
    assert "newTag: 9.8.7" in (clone / "ops/kubernetes/overlays/production/kustomization.yaml").read_text()
    # The release's scripts become a fixture, which MixedVersionTests runs next to newer scripts.
    kept = git(clone, "show", "HEAD:Tests/PollerRedisTests/Fixtures/scripts-9.8.7.txt")
    assert re.match(r"-- release 9\.8\.7, form \d+\n", kept) and "LIBRARY .. '_commit'" in kept
    assert not git(clone, "status", "--porcelain")
    # Without a change since the release, neither the same nor a new version is released.
    assert "already" in release(clone, VERSION, "--do", "--tag-only").stderr
    assert "of nothing that has changed" in release(clone, "9.9.0").stderr


def test_the_current_version_can_be_released_once(clone: Path):
    version = re.search(r'version = "([\d.]+)"', (clone / "Sources/pollerd/Output/Release.swift").read_text())[1]
    done = release(clone, version, "--do", "--tag-only")
    assert done.returncode == 0, done.stderr
    assert git(clone, "tag", "--points-at", "HEAD") == f"v{version}"
    assert f"## {version} – " in (clone / CHANGELOG).read_text()
    assert "already" in release(clone, version, "--do", "--tag-only").stderr


@pytest.mark.parametrize(
    ("version", "says"), [("0.0.1", "older than"), ("1.0", "three numbers"), ("", "three numbers"), ("--all", "no option")]
)
def test_an_invalid_version_is_rejected(untouched: Path, version: str, says: str):
    done = release(untouched, version)
    assert done.returncode == 1 and says in done.stderr


def test_a_commit_without_passed_long_tests_is_not_released(clone: Path):
    (clone / "README.md").write_text("changed\n")
    git(clone, "commit", "--quiet", "--all", "--message", "changed")
    done = release(clone, VERSION, "--do", "--tag-only")
    assert done.returncode == 1 and "ops/test long" in done.stderr
    assert not git(clone, "tag", "--list")


def test_uncommitted_changes_are_not_released(clone: Path):
    (clone / "README.md").write_text("changed\n")
    done = release(clone, VERSION, "--do", "--tag-only")
    assert done.returncode == 1 and "no commit has" in done.stderr
    assert not git(clone, "tag", "--list")
