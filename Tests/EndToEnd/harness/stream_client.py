"""Subscribers of the live gateway: WebSocket with `websockets`, event streams with `requests`."""

import json
import threading
from collections.abc import Iterator

import requests
import websockets.sync.client
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from .receipts import Receipt, Receipts
from .waiting import wait_until


class StreamClient:
    """Subscribes to all events, and resumes at its last cursor after a lost connection."""

    RECONNECT_PAUSE_S = 0.2

    def __init__(self, gateway: str, key: str | None = None, listener=None):
        self.receipts = Receipts(listener)
        self.frames: list[dict] = []
        self.connections = 0
        self._url = gateway.replace("http://", "ws://") + "/v1/stream"
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._cursor: str | None = None
        self._subscribed = threading.Event()
        self._closing = threading.Event()
        self._socket = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        wait_until(self._subscribed.is_set, 60, f"subscribed at {self._url}")

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                with websockets.sync.client.connect(
                    self._url,
                    subprotocols=["poller.v1.json"],
                    additional_headers=self._headers,
                    proxy=None,
                    open_timeout=60,
                ) as socket:
                    self._socket = socket
                    self.connections += 1
                    self._listen(socket)
            except (OSError, ConnectionClosed, InvalidHandshake, TimeoutError):
                self._closing.wait(self.RECONNECT_PAUSE_S)

    def _listen(self, socket) -> None:
        subscribe = {"op": "subscribe", "ref": 1, "from": self._cursor or "now"}
        for text in socket:
            frame = json.loads(text)
            self.frames.append(frame)
            if frame.get("cursor"):
                self._cursor = frame["cursor"]
            match frame["op"]:
                case "hello":
                    socket.send(json.dumps(subscribe))
                case "subscribed":
                    if not frame["recovered"]:
                        self.receipts.problem(f"the gateway could not resume: {frame}")
                    self._subscribed.set()
                case "event":
                    self.receipts.add(Receipt.of("websocket", frame["event"]))
                case "error":
                    self.receipts.problem(f"the gateway answered {frame}")

    def close(self) -> None:
        self._closing.set()
        if self._socket:
            self._socket.close()
        self._thread.join(5)


class EventStream:
    """One event stream of the gateway; it closes at the end of its `with` block."""

    def __init__(self, gateway: str, path: str, last_id: str | None = None, timeout_s: float = 60):
        headers = {"Accept": "text/event-stream"}
        if last_id:
            headers["Last-Event-ID"] = last_id
        self._http = requests.Session()
        self._http.trust_env = False
        # The timeout limits silence: heartbeats arrive every 15 s.
        self.response = self._http.get(gateway + path, headers=headers, stream=True, timeout=timeout_s)
        self.status = self.response.status_code
        self.last_id = last_id
        # A single iterator, because the body can be read only once.
        self.messages = self._messages()

    def _messages(self) -> Iterator[dict]:
        """Yields `{event, id, data}` of each message as it arrives, until the stream ends."""
        event, data = "message", []
        for line in self.response.iter_lines(chunk_size=1, decode_unicode=True):
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if line == "" and data:
                yield {"event": event, "id": self.last_id, "data": json.loads("\n".join(data))}
            match name:
                case "":
                    event, data = "message", []
                case "event":
                    event = value
                case "id":
                    self.last_id = value
                case "data":
                    data.append(value)

    def until(self, event: str) -> list[dict]:
        """Returns the messages up to and including the first one with this name."""
        found = []
        for message in self.messages:
            found.append(message)
            if message["event"] == event:
                return found
        raise AssertionError(f"the stream ended without {event}: {found}")

    def __enter__(self) -> "EventStream":
        return self

    def __exit__(self, *_error) -> None:
        self.response.close()
        self._http.close()
