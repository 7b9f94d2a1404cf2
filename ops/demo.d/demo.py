"""Shows one iDEAL payment from the customer's click to the delivery on every channel.

usage: demo.py --bin-dir DIR [--once] [--patience SECONDS]    (ops/demo builds and calls this)
"""

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests/EndToEnd"))

from harness.cluster import LISTENING, WEBHOOK_SECRET  # noqa: E402
from harness.history_checker import is_beside, is_mailed  # noqa: E402
from harness.mail_sink import MailSink  # noqa: E402
from harness.poller_api import PollerAPI  # noqa: E402
from harness.process import Process  # noqa: E402
from harness.pubsub_client import PubSubClient  # noqa: E402
from harness.receipts import Receipt, Receipts  # noqa: E402
from harness.sandbox import Sandbox  # noqa: E402
from harness.stream_client import StreamClient  # noqa: E402
from harness.waiting import wait_until  # noqa: E402
from harness.webhook_sink import WebhookSink  # noqa: E402
from screen import Screen  # noqa: E402

# The events of the payment in the required order: the payment's event comes before the status.
STORY = [
    "source.pending",
    "payment.authorised",
    "source.chargeable",
    "payment.paid",
    "source.consumed",
]
# The wait for each step in seconds. It is generous, because polls are at most a second apart here.
PATIENCE_S = 30


class Demo:
    """Starts all processes, makes the payment, shows and checks the deliveries, and ends the processes."""

    def __init__(self, bin_dir: Path, logs: Path, patience_s: float) -> None:
        self.bin_dir = bin_dir
        self.patience_s = patience_s
        self.logs = logs
        self.screen = Screen()
        self._changed_ms: dict[tuple[str, str], float] = {}
        self._lock = threading.Lock()
        self._closers = []

    def start(self) -> None:
        """Starts all processes on free loopback ports, and a real receiver for each channel."""
        self.screen.act("Starting Redis, a stand-in for Stripe, and pollerd")
        hook = self._keep(WebhookSink(WEBHOOK_SECRET, self.show))
        self.webhook, self.webhook_url = hook.receipts, hook.url
        mail = self._keep(MailSink(self.show))
        self.mail = mail.receipts
        self.pollerd = Process(
            "pollerd",
            [str(self.bin_dir / "pollerd"), "all", "--embedded"],
            self.logs,
            {
                # pollerd finds the embedded programs in its own folder and on PATH.
                "PATH": f"{self.bin_dir}:{os.environ['PATH']}",
                "POLLER_API_BIND": "127.0.0.1:0",
                "POLLER_GATEWAY_BIND": "127.0.0.1:0",
                "POLLER_ADMIN_BIND": "127.0.0.1:0",
                "POLLER_SMTP_URL": mail.url,
                "POLLER_MAIL_FROM": "shop@example.com",
                "POLLER_WEBHOOK_SECRET": WEBHOOK_SECRET,
                "POLLER_ALLOW_CIDRS": "127.0.0.0/8",
            },
        )
        self.pollerd.start()
        self.pollerd.line(r"^pollerd ready$", timeout_s=60)
        found = {name: self._address(name) for name in ("api", "gateway", "admin", "sandbox")}
        redis_url = self.pollerd.line(r"^pollerd redis listening on (redis://\S+)$").group(1)
        self.api_url, self.admin_url = found["api"], found["admin"]
        self.sandbox = Sandbox(found["sandbox"])
        self.api = PollerAPI(self.api_url)
        self.redis = self._keep(PubSubClient(redis_url, listener=self.show)).receipts
        self.stream = self._keep(StreamClient(found["gateway"], listener=self.show)).receipts
        self.places = [
            ("API", self.api_url),
            ("live gateway", found["gateway"].replace("http", "ws", 1) + "/v1/stream"),
            ("metrics", self.admin_url + "/metrics"),
            ("Redis", redis_url),
            ("sandbox", found["sandbox"]),
            ("logs", str(self.logs)),
        ]

    def _address(self, name: str) -> str:
        return self.pollerd.line(LISTENING.format(name)).group(1)

    def _keep(self, peer):
        self._closers.append(peer.close)
        return peer

    def show(self, receipt: Receipt) -> None:
        """Prints a delivery with its delay since the change at the sandbox."""
        event = receipt.body or self._event_of(receipt)
        changed = self._when(event)
        delay = f"{receipt.arrived_ms - changed:6.0f} ms" if changed else "     ?   "
        what = {
            "webhook": "signature verified",
            "email": receipt.headers.get("subject", ""),
            "websocket": "pushed to the browser",
            "redis": "published to services",
        }[receipt.channel]
        self.screen.line(
            f"  {self.screen.paint('✓', 'green')} {receipt.channel:<10} {event['type']:<19} "
            f"{delay} after the change   {receipt.event}   {self.screen.paint(what, 'dim')}"
        )

    def _event_of(self, receipt: Receipt) -> dict:
        """Returns the event of a mail by its ID, because a mail contains no JSON."""
        for event in PollerAPI(self.api_url).events(receipt.source):
            if event["id"] == receipt.event:
                return event
        raise AssertionError(f"a mail of {receipt.event}, which was never recorded")

    def _when(self, event: dict) -> float | None:
        """Returns the time of the source's change from the sandbox's history.

        An event without a status change repeats the previous status. It belongs to the newest change.
        """
        source, status = event["source"], None if is_beside(event) else event["status"]
        with self._lock:
            if status is None or (source, status) not in self._changed_ms:
                for change in self.sandbox.history().get(source, []):
                    self._changed_ms[(source, change["status"])] = change["at_ms"]
                    self._changed_ms[(source, None)] = change["at_ms"]
            return self._changed_ms.get((source, status))

    def run(self, command: list[str]) -> str:
        """Prints and runs a command that a reader could type.

        Returns its output.
        """
        self.screen.command([Path(command[0]).name, *command[1:]])
        env = os.environ | {"POLLER_URL": self.api_url, "NO_COLOR": "1", "no_proxy": "127.0.0.1"}
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            raise AssertionError(
                f"{shlex.join(command)} ended with {done.returncode}: {done.stderr or done.stdout}"
            )
        return done.stdout

    def curl(self, path: str, **form: str) -> dict:
        command = ["curl", "-sS", "--fail-with-body", "-u", "sk_test_demo:"]
        command.append(self.sandbox.url + path)
        for name, value in form.items():
            command += ["-d", f"{name}={value}"]
        return json.loads(self.run(command))

    def play(self) -> str:
        """Makes the payment step by step.

        Returns the source's ID.
        """
        self.screen.act("A shop creates an iDEAL source, as it would at Stripe")
        source = self.curl(
            "/v1/sources",
            **{
                "type": "ideal",
                "amount": "1099",
                "currency": "eur",
                "owner[name]": "Jenny Rosen",
                "redirect[return_url]": "https://shop.example.com/thanks",
            },
        )
        self.screen.line(f"  {source['id']}: {source['status']}, {source['redirect']['url']}")
        self.places.insert(0, ("the bank's page", source["redirect"]["url"]))

        self.screen.act("It asks the poller to follow the source and to tell two endpoints")
        # fmt: off
        self.run([
            str(self.bin_dir / "pollerctl"), "enqueue", source["id"], "--policy", "interactive",
            "--notify", self.webhook_url, "--notify", f"mailto:customer+{source['id']}@example.com",
        ])
        # fmt: on
        self._await(source["id"], 1)
        why = "no email yet: customers get email only when they can act on it"
        self.screen.line(self.screen.paint("    " + why, "dim"))

        self.screen.act("The customer authorises the payment on the bank's page")
        self.run(
            ["curl", "-sS", "-o", os.devnull, "-X", "POST"]
            + [f"{self.sandbox.url}/redirect/{source['id']}/authorize"]
        )
        self._await(source["id"], 3)

        self.screen.act("The shop charges the source")
        self.curl("/v1/charges", amount="1099", currency="eur", source=source["id"])
        self._await(source["id"], len(STORY))
        return source["id"]

    def _channels(self) -> dict[str, Receipts]:
        return {
            "webhook": self.webhook,
            "email": self.mail,
            "websocket": self.stream,
            "redis": self.redis,
        }

    def _told(self, name: str, events: list[dict]) -> list[str]:
        """Returns the IDs of the events that a channel must deliver.

        Mails cover only events that need an action.
        """
        return [event["id"] for event in events if name != "email" or is_mailed(event)]

    def _await(self, source: str, count: int) -> None:
        """Waits until `count` events are recorded and delivered on all channels.

        Fails with the missing channels.
        """

        def lacking() -> list[str]:
            answer = self.api.request("GET", f"/v1/watches/{source}/events")
            events = answer.json()["data"] if answer.ok else []
            if len(events) < count:
                return ["the record"]
            return [
                name
                for name, receipts in self._channels().items()
                if not receipts.ids().issuperset(self._told(name, events))
            ]

        try:
            wait_until(lambda: not lacking(), self.patience_s, "received everywhere")
        except AssertionError:
            names = ", ".join(lacking())
            raise AssertionError(f"missing after {self.patience_s:g} s: {names}") from None

    def faults(self, source: str) -> list[str]:
        """Returns the errors of the run.

        The list is empty if every channel delivered each event once and in order.
        """
        recorded = self.api.events(source)
        found = []
        story = [event["type"] for event in recorded]
        if story != STORY:
            found.append(f"recorded {story}, expected {STORY}")
        if self.api.watch(source)["state"] != "closed":
            found.append("the watch is still open")
        for name, receipts in self._channels().items():
            got, wanted = receipts.events(source), self._told(name, recorded)
            if got != wanted:
                found.append(f"{name} got {got}, expected {wanted}")
            found += [f"{name}: {problem}" for problem in receipts.problems]
        return found

    def close(self) -> None:
        for close in reversed(self._closers):
            close()
        if hasattr(self, "pollerd"):
            # pollerd drains on SIGTERM, and ends the embedded Redis and sandbox.
            self.pollerd.end(grace_s=30)

    def stay(self) -> None:
        self.screen.act("All of it is yours now; Ctrl-C ends it")
        for name, place in self.places:
            self.screen.line(f"  {name:<16} {place}")
        command = f"POLLER_URL={self.api_url} {self.bin_dir / 'pollerctl'} list"
        self.screen.line(f"  {'try':<16} {command}")
        while self.pollerd.running:
            time.sleep(0.5)
        status, tail = self.pollerd.exit_status, self.pollerd.tail()
        raise AssertionError(f"pollerd ended with {status}\n{tail}")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin-dir", type=Path, required=True)
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--patience", type=float, default=PATIENCE_S)
    arguments = parser.parse_args()

    def interrupted(*_) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupted)
    signal.signal(signal.SIGHUP, interrupted)
    with tempfile.TemporaryDirectory(prefix="poller-demo-") as folder:
        demo = Demo(arguments.bin_dir.resolve(), Path(folder), arguments.patience)
        status = 1
        try:
            demo.start()
            source = demo.play()
            # The check follows a short wait, so that it finds duplicate events too.
            time.sleep(0.5)
            faults = demo.faults(source)
            status = 1 if faults else 0
            demo.screen.line()
            for fault in faults:
                demo.screen.line(demo.screen.paint(f"✗ {fault}", "red"))
            if not faults:
                received = "webhook, email, WebSocket and Redis received each event once and in order"
                done = f"✓ settled; {received}, with the same event IDs"
                demo.screen.line(demo.screen.paint(done, "green"))
            if not arguments.once:
                demo.stay()
        except KeyboardInterrupt:
            # Ctrl-C is the normal end of the demo, but with --once the run has no result yet.
            status = 130 if arguments.once else 0
        except Exception as error:
            demo.screen.line(demo.screen.paint(f"✗ {error}", "red"))
            status = 1
        finally:
            # Ignore a second Ctrl-C, which would interrupt the cleanup and leave a process running.
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            demo.close()
        if hasattr(demo, "pollerd") and demo.pollerd.leftovers():
            demo.screen.line(demo.screen.paint("✗ a process is still running", "red"))
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
