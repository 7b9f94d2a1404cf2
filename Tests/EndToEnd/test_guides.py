"""README and the guides of the catalogue, typed in: what they tell to run runs.

Each ```sh block of a page is run, all of a page in one shell that ends at the first command that fails,
against one `pollerd all --embedded`. What cannot be run as it stands (what starts the programs, sample
output, the wire) is in blocks of another kind. Each ```yaml block passes `pollerd check-config`.
"""

import os
import re
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from harness.cluster import Role, program

ROOT = Path(__file__).resolve().parents[2]
GUIDES = ROOT / "Sources/Poller/Poller.docc/Guides"
PAGES = [ROOT / "README.md", *sorted(GUIDES.glob("*.md"))]


def blocks(page: Path, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", page.read_text(), re.M | re.S)


class Receiver(BaseHTTPRequestHandler):
    """Takes every webhook."""

    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    """Runs a script as a reader's second shell would: with the addresses that were printed."""
    folder = tmp_path_factory.mktemp("guides")
    receiver = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    binds = {f"POLLER_{name}_BIND": "127.0.0.1:0" for name in ("API", "GATEWAY", "ADMIN")}
    role = Role("pollerd", [program("pollerd"), "all", "--embedded"], folder, binds).start()
    role.wait_ready()
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("POLLER_", "STRIPE_"))}
    addresses = {
        "POLLER_URL": role.address("api"),
        "GATEWAY": role.address("gateway"),
        "ADMIN": role.address("admin"),
        "SANDBOX": role.address("sandbox"),
        "HOOK": f"http://127.0.0.1:{receiver.server_port}/hook",
    }
    path = {"PATH": f"{Path(program('pollerd')).parent}:{os.environ['PATH']}"}

    def run(script: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            ["bash", "-euxo", "pipefail", "-c", script], cwd=folder, env=inherited | addresses | path,
            capture_output=True, text=True, timeout=180,
        )

    yield run
    role.end()
    receiver.shutdown()
    receiver.server_close()


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "sh")], ids=lambda page: page.stem)
def test_what_a_page_tells_to_run_runs(page: Path, shell):
    done = shell("\n".join(blocks(page, "sh")))
    assert done.returncode == 0, f"{done.stderr[-1500:]}\n{done.stdout[-1500:]}"


def test_a_command_that_fails_is_noticed(shell):
    assert shell("pollerctl doctor\npollerctl frobnicate | cat\ntrue").returncode == 64


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "yaml")], ids=lambda page: page.stem)
def test_the_files_of_a_page_are_accepted(page: Path, tmp_path: Path):
    secrets = {
        "SECOND_STRIPE_KEY": "sk_test_2", "SECOND_WEBHOOK_SECRET": "whsec_second", "BANK_TOKEN": "token",
        "MOLLIE_KEY": "live_1", "PAYPAL_TOKEN": "token",
        "ORDERS_SECRET": "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    }
    for text in blocks(page, "yaml"):
        (tmp_path / "poller.yaml").write_text(text)
        done = subprocess.run(
            [program("pollerd"), "check-config", "--config", str(tmp_path / "poller.yaml")],
            env={"PATH": os.environ["PATH"]} | secrets, capture_output=True, text=True, timeout=30,
        )
        assert done.returncode == 0, done.stderr


def test_the_variables_are_those_of_the_tutorial(shell):
    told = set(re.findall(r"^export (?!PATH)(\w+)=", "\n".join(blocks(GUIDES / "Tutorial.md", "console")), re.M))
    script = "\n".join(block for page in PAGES for block in blocks(page, "sh"))
    used = set(re.findall(r"\$([A-Z]\w+)", script)) - {"PATH", "TAG"}
    assert used <= told, used - told
    assert shell("echo " + " ".join(f"${name}" for name in sorted(told))).returncode == 0
