"""Receives webhooks and verifies them with the independent library `standardwebhooks`.

Prints one JSON object per line: first {"port": N}, then one for each request:
{"path", "headers", "body", "verified": {"as_sent", "id", "timestamp", "body"}}. The last three report
whether the library accepts the request with that part changed, which it must not do.

The path determines the response: /status/500, /echo/500 (with the request's headers as JSON), /redirect/307,
/retry-after/503/VALUE, /drip (one byte per second without an end), /huge (1 GiB), /hang (no response), /reset (the
connection is reset), /raw/TEXT (these bytes, percent-decoded, then the connection closes). Any other path gets 204.
"""

import argparse
import json
import os
import socket
import ssl
import struct
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks.webhooks import Webhook, WebhookVerificationError


def accepted(secrets, body, headers):
    for secret in secrets:
        try:
            Webhook(secret).verify(body, headers)
            return True
        except WebhookVerificationError:
            pass
    return False


def verdicts(secrets, body, headers):
    def changed(name, value):
        return {**headers, name: value}

    timestamp = headers.get("webhook-timestamp", "0")
    return {
        "as_sent": accepted(secrets, body, headers),
        "id": accepted(secrets, body, changed("webhook-id", headers.get("webhook-id", "") + "x")),
        "timestamp": accepted(secrets, body, changed("webhook-timestamp", str(int(timestamp) + 1))),
        "body": accepted(secrets, body.replace('"', "' ", 1), headers),
    }


LINES = threading.Lock()


def say(line):
    """Prints an object as one line.

    The lock keeps the lines of concurrent requests separate.
    """
    with LINES:
        print(json.dumps(line), flush=True)


class Sink(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    secrets = []

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.do_POST()

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
        headers = {name.lower(): value for name, value in self.headers.items()}
        line = {
            "method": self.command,
            "path": self.path,
            "peer_port": self.client_address[1],
            "headers": headers,
            "body": body,
            "verified": verdicts(self.secrets, body, headers),
        }
        say(line)
        self.answer(self.path.split("?")[0].strip("/").split("/"))

    def answer(self, parts):
        kind = parts[0]
        if kind == "status":
            self.reply(int(parts[1]))
        elif kind == "echo":
            self.reply(int(parts[1]), body=json.dumps(dict(self.headers.items())).encode())
        elif kind == "redirect":
            self.reply(int(parts[1]), {"Location": "/redirected"})
        elif kind == "retry-after":
            self.reply(int(parts[1]), {"Retry-After": urllib.parse.unquote(parts[2])})
        elif kind in ("drip", "huge"):
            self.send_response(200)
            self.send_header("Content-Length", str(1 << 30))
            self.end_headers()
            piece, pause = (b"x", 1) if kind == "drip" else (b"x" * 65536, 0)
            try:
                for _ in range((1 << 30) // len(piece)):
                    self.wfile.write(piece)
                    self.wfile.flush()
                    time.sleep(pause)
            except OSError:
                say({"cut": kind})
            self.close_connection = True
        elif kind == "hang":
            time.sleep(3600)
        elif kind == "raw":
            self.wfile.write(urllib.parse.unquote_to_bytes("/".join(parts[1:])))
            self.close_connection = True
        elif kind == "reset":
            self.connection.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )
            self.close_connection = True
            self.connection.close()
        else:
            self.reply(204)

    def reply(self, status, headers=None, body=b"ok"):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if status != 204:
            self.wfile.write(body)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--secret", action="append", default=[])
    parser.add_argument("--cert")
    parser.add_argument("--key")
    parser.add_argument("--until-eof", action="store_true", help="end with standard input")
    options = parser.parse_args()
    if options.until_eof:
        threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    Sink.secrets = options.secret
    # The default backlog of five would drop simultaneous connections.
    ThreadingHTTPServer.request_queue_size = 128
    server = ThreadingHTTPServer(("127.0.0.1", options.port), Sink)
    server.daemon_threads = True
    if options.cert:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.cert, options.key)

        def name_seen(_, name, __):
            say({"sni": name})

        context.sni_callback = name_seen
        server.socket = context.wrap_socket(server.socket, server_side=True)
    say({"port": server.server_address[1]})
    server.serve_forever()


if __name__ == "__main__":
    try:
        main()
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(0)
