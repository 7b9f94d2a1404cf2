"""The webhook receivers and the mail relay of a chaos run."""

import tempfile
from collections.abc import Iterable
from pathlib import Path

from harness import two_addresses
from harness.cluster import WEBHOOK_SECRET, program
from harness.moody_relay import MoodyRelay
from harness.preloaded import preloaded
from harness.receipts import LeanReceipts, Receipts
from harness.two_addresses import TwoAddresses
from harness.way import Way
from harness.webhook_sink import WebhookSink


class Peers:
    """The recipients of a run's processes. `env` has the processes' settings for them.

    is_far: each receiver is behind a `Way` that may be slow, stalled or cut.
    has_relay: payers receive mails.
    has_two_addresses: the last receiver's name has two addresses, if the programs can resolve it.
    """

    SINKS = 3

    def __init__(self, is_far: bool, has_relay: bool, has_two_addresses: bool):
        self.env: dict[str, str] = {}
        self.sinks = [WebhookSink(WEBHOOK_SECRET) for _ in range(self.SINKS)]
        for sink in self.sinks:
            sink.receipts = LeanReceipts()
        self.ways = [Way(sink.port) for sink in self.sinks] if is_far else []
        doors = self.ways or self.sinks
        self.urls = [f"http://127.0.0.1:{door.port}/hook" for door in doors]
        self.two_addresses: TwoAddresses | None = None
        self._library = tempfile.TemporaryDirectory(prefix="poller-e2e-")
        if has_two_addresses and two_addresses.can_be_resolved_by(program("pollerd")):
            self.env |= preloaded(two_addresses.LIBRARY, Path(self._library.name))
            self.two_addresses = TwoAddresses(doors[-1].port)
            self.urls[-1] = self.two_addresses.url
        self.relay = MoodyRelay() if has_relay else None
        if self.relay:
            self.env["POLLER_SMTP_URL"] = self.relay.url

    def webhooks(self) -> Receipts:
        """Returns the receipts of all receivers."""
        received = Receipts()
        for sink in self.sinks:
            received._all += sink.receipts.all()
            received._problems += sink.receipts.problems
        return received

    def has_received(self, events: Iterable[str]) -> bool:
        """Returns whether each of these events has reached a receiver."""
        return set(events) <= set().union(*(sink.receipts.ids() for sink in self.sinks))

    def close(self) -> None:
        for peer in filter(None, [self.two_addresses, *self.ways, *self.sinks, self.relay]):
            peer.close()
        self._library.cleanup()
