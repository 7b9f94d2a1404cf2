"""A subscriber of the gateway's WebSocket, on the `websockets` package."""

import json
import threading

import websockets.sync.client
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from .receipts import Receipt, Receipts
from .waiting import wait_until


class StreamClient:
    """Subscribes to everything, and after a lost connection goes on at its last cursor."""

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
        wait_until(self._subscribed.is_set, 10, f"subscribed at {self._url}")

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                with websockets.sync.client.connect(
                    self._url,
                    subprotocols=["poller.v1.json"],
                    additional_headers=self._headers,
                    proxy=None,
                    open_timeout=5,
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
