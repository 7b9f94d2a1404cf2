"""Tests that the commands and configuration files in README and the guides work.

All ```sh blocks of a page run in one shell that ends at the first failing command, against one `pollerd all
--embedded`. Text that cannot run as it stands (commands that start programs, sample output, wire formats) is in
blocks of another kind. Each ```yaml block must pass `pollerd check-config`.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

from harness.cluster import Role, program
from harness.process import Process
from harness.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
GUIDES = ROOT / "Sources/Poller/Poller.docc/Guides"
PAGES = [ROOT / "README.md", *sorted(GUIDES.glob("*.md"))]


# The guide's commands simulate 100,000 payments, which takes minutes. test_simulate.py has smaller ones.
SIMULATES = {"Capacity"}


def blocks(page: Path, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", page.read_text(), re.M | re.S)


class Shell:
    """Runs a script as in a reader's second shell, with the printed addresses."""

    def __init__(self, folder: Path, env: dict[str, str], receiver: Process):
        self.folder, self.env, self.receiver = folder, env, receiver

    def __call__(self, script: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            ["bash", "-euxo", "pipefail", "-c", script], cwd=self.folder, env=self.env,
            capture_output=True, text=True, timeout=180,
        )


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    """A cluster started by the Tutorial's first command, with the second command as the receiver of every webhook."""
    folder = tmp_path_factory.mktemp("guides")
    binds = {f"POLLER_{name}_BIND": "127.0.0.1:0" for name in ("API", "GATEWAY", "ADMIN")}
    role = Role("pollerd", [program("pollerd"), "all", "--embedded"], folder, binds).start()
    role.wait_ready()
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("POLLER_", "STRIPE_"))}
    path = {"PATH": f"{Path(program('pollerd')).parent}:{os.environ['PATH']}"}
    receiver = Process(
        "receiver", [program("pollerctl"), "listen", "--print", "--port", "0"], folder, {"POLLER_URL": role.address("api")}
    ).start()
    wait_until(lambda: "printing webhooks sent to" in receiver.stderr(), 60, "the receiver listens")
    hook = re.search(r"http://127[.]0[.]0[.]1:\d+/", receiver.stderr())[0]
    addresses = {
        "POLLER_URL": role.address("api"),
        "GATEWAY": role.address("gateway"),
        "ADMIN": role.address("admin"),
        "SANDBOX": role.address("sandbox"),
        "HOOK": f"{hook}hook",
    }
    yield Shell(folder, inherited | addresses | path, receiver)
    receiver.end()
    role.end()


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.long if page.stem in SIMULATES else ()) for page in PAGES if blocks(page, "sh")],
    ids=lambda page: page.stem,
)
def test_commands_of_a_guide_run(page: Path, shell):
    done = shell("\n".join(blocks(page, "sh")))
    assert done.returncode == 0, f"{done.stderr[-1500:]}\n{done.stdout[-1500:]}"


def test_a_failing_command_is_detected(shell):
    assert shell("pollerctl doctor\npollerctl frobnicate | cat\ntrue").returncode == 64


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "yaml")], ids=lambda page: page.stem)
def test_configuration_files_of_a_guide_are_valid(page: Path, tmp_path: Path):
    secrets = {
        "SECOND_STRIPE_KEY": "sk_test_2", "SECOND_WEBHOOK_SECRET": "whsec_second", "BANK_TOKEN": "token",
        "MOLLIE_KEY": "live_1", "PAYPAL_TOKEN": "token",
        "ORDERS_SECRET": "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    }
    for text in blocks(page, "yaml"):
        (tmp_path / "poller.yaml").write_text(text)
        done = subprocess.run(
            [program("pollerd"), "check-config", "--config", str(tmp_path / "poller.yaml")],
            env={"PATH": os.environ["PATH"]} | secrets, capture_output=True, text=True, timeout=60,
        )
        assert done.returncode == 0, done.stderr


def test_the_variables_are_those_of_the_tutorial(shell):
    told = set(re.findall(r"^export (?!PATH)(\w+)=", "\n".join(blocks(GUIDES / "Tutorial.md", "console")), re.M))
    script = "\n".join(block for page in PAGES for block in blocks(page, "sh"))
    # Variables that a page sets itself are available where it runs.
    own = set(re.findall(r" (\w+)=", "\n".join(re.findall(r"^export .*$", script, re.M))))
    used = set(re.findall(r"\$([A-Z]\w+)", script)) - {"PATH", "TAG"} - own
    assert used <= told, used - told
    assert shell("echo " + " ".join(f"${name}" for name in sorted(told))).returncode == 0



# The Tutorial's ten commands, each with its output.

TUTORIAL = GUIDES / "Tutorial.md"
# Lines of a block that only set a variable and do not count as commands.
SETTINGS = re.compile(r"export |[A-Z]=|source <")


def steps() -> dict[int, list[tuple[str, str]]]:
    """Returns the blocks below each numbered command, as kind and text."""
    parts = re.split(r"^\*\*(\d+)\.\*\* ", TUTORIAL.read_text().split("### Let the cluster charge")[0], flags=re.M)
    return {
        int(number): re.findall(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S)
        for number, text in zip(parts[1::2], parts[2::2], strict=True)
    }


def shape(text: str) -> list[str]:
    """Returns output without the parts that change: IDs, URLs, amounts, numbers and column spacing."""
    text = re.sub(r"\b(src|evt|ch|py)_\w+(-\w+)*", r"\1_ID", text)
    text = re.sub(r"https?://\S+", "URL", text)
    text = re.sub(r"€?\d+[.]\d\d( eur)?", "SUM", text)
    text = re.sub(r"\d+", "N", text)
    return [" ".join(line.split()) for line in text.strip().splitlines()]


def test_the_tutorial_has_ten_commands_with_their_output():
    found = steps()
    assert list(found) == list(range(1, 11))
    for number, parts in found.items():
        kind, text = parts[0]
        commands = [line for line in text.splitlines() if line and not SETTINGS.match(line)]
        assert kind in ("sh", "console") and len(commands) == 1, (number, commands)
        # A click prints no output.
        assert number == 6 or parts[1][0] == "text", number


def test_commands_of_the_tutorial_print_the_shown_output(shell):
    script, wanted = "", {}
    for number, parts in steps().items():
        if parts[0][0] == "sh":
            script += f"echo '@@{number}'\n{parts[0][1]}"
            wanted[number] = shape(parts[1][1]) if number != 6 else []
    done = shell(script)
    assert done.returncode == 0, done.stderr[-1500:]
    printed = {int(part.split("\n", 1)[0]): part.split("\n", 1)[1] for part in done.stdout.split("@@")[1:]}
    for number, lines in wanted.items():
        told = shape(printed[number])
        if number == 5:
            # The command may run in the middle of a poll, and then its output says so.
            told, lines = told[:2], lines[:2]
        assert told == lines, f"command {number} prints\n{printed[number]}"
    [source] = set(re.findall(r"src_\w+", printed[10]) or re.findall(r"src_\w+", printed[3]))
    webhooks = re.findall(r"^```text\n(source\.pending.*?)^```$", TUTORIAL.read_text(), re.M | re.S)
    told = shape(webhooks[-1])

    def arrived() -> list[str]:
        return shape("\n".join(line for line in shell.receiver.stdout().splitlines() if source in line))

    wait_until(lambda: len(arrived()) >= len(told), 60, "the webhooks arrive")
    assert arrived() == told
