"""A proxy before Redis that passes commands on and can lose their answers."""

import socket
import threading


class DeafWay:
    """Forwards bytes in both directions and loses the answers to chosen commands.

    The connection closes when the answer should arrive, as it does when a middlebox or a failover cuts it. The
    command was executed, but the client cannot know that.
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
        """Loses the answers to the next `count` chunks that contain `word`."""
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
                    # The command was executed; the connection closes before its answer.
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
