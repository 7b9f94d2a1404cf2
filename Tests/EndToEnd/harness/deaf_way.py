"""A way to Redis on which commands arrive and answers get lost."""

import socket
import threading


class DeafWay:
    """Passes bytes on both ways until it is told to lose the answers of some commands.

    The connection ends where an answer should have been, as it does when a middlebox or a failover cuts
    it: the command was executed, and whoever sent it cannot know.
    """

    def __init__(self, host: str, port: int):
        self._target = (host, port)
        self._word = b""
        self._left = 0
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self._listener.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}"
        self._start(self._accept)

    def lose(self, word: bytes, count: int) -> None:
        """The answers to the next `count` pieces sent in which a word stands get lost."""
        with self._lock:
            self._word, self._left = word, count

    @property
    def left(self) -> int:
        with self._lock:
            return self._left

    def close(self) -> None:
        self._listener.close()

    @staticmethod
    def _start(body, *arguments) -> None:
        threading.Thread(target=body, args=arguments, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._target)
            except OSError:
                return
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            deaf = threading.Event()
            self._start(self._pass_on, client, server, deaf, True)
            self._start(self._pass_on, server, client, deaf, False)

    def _pass_on(self, source, target, deaf: threading.Event, is_there: bool) -> None:
        try:
            while piece := source.recv(65536):
                if is_there and self._is_to_be_lost(piece):
                    deaf.set()
                elif not is_there and deaf.is_set():
                    # It has been executed; now the way is gone.
                    break
                target.sendall(piece)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()

    def _is_to_be_lost(self, piece: bytes) -> bool:
        with self._lock:
            if not self._left or self._word not in piece:
                return False
            self._left -= 1
            return True
