"""A mail server that keeps every mail it receives."""

import email
import email.policy
import re
import ssl
import time

from aiosmtpd.controller import Controller

from .receipts import Receipt, Receipts

EVENT = re.compile(r"evt_[A-Za-z0-9_-]{24}")
SOURCE = re.compile(r"\b(?:src|pi|seti)_[A-Za-z0-9]+")


class _Controller(Controller):
    """Reads the port from the socket, because aiosmtpd would connect to the requested port 0."""

    def _trigger_server(self) -> None:
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()


class MailSink:
    """An SMTP server (aiosmtpd) that turns mails into receipts; `messages` has the full mails.

    With `tls` it accepts only TLS connections. A mail does not contain its source, so the recipient's address does,
    as in `customer+src_1@example.com`.
    """

    def __init__(self, listener=None, tls: ssl.SSLContext | None = None):
        # The refusal for every recipient, such as `550 You have been greylisted`; empty to accept.
        self.refusal = ""
        self.receipts = Receipts(listener)
        self.messages: list[email.message.EmailMessage] = []
        self._controller = _Controller(self, hostname="127.0.0.1", port=0, ready_timeout=60, ssl_context=tls)
        self._controller.start()
        self.url = f"{'smtps' if tls else 'smtp'}://127.0.0.1:{self._controller.port}"

    async def handle_RCPT(self, _server, _session, envelope, address, _options) -> str:
        if self.refusal:
            return self.refusal
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server, _session, envelope) -> str:
        message = email.message_from_bytes(envelope.content, policy=email.policy.default)
        self.messages.append(message)
        header = "\n".join(f"{name}: {value}" for name, value in message.items())
        body = "\n".join(
            part.get_content() for part in message.walk() if part.get_content_maintype() == "text"
        )
        event = EVENT.search(header) or EVENT.search(body)
        source = SOURCE.search(envelope.rcpt_tos[0])
        if not event or not source:
            self.receipts.problem(f"a mail of no event, or to nobody's source: {header}\n\n{body}")
            return "250 OK"
        if len(envelope.rcpt_tos) != 1:
            self.receipts.problem(f"one mail, several recipients: {envelope.rcpt_tos}")
        self.receipts.add(
            Receipt(
                channel="email",
                event=event.group(),
                source=source.group(),
                seq=None,
                type=None,
                status=None,
                arrived_ms=time.time() * 1000,
                headers={name.lower(): str(value) for name, value in message.items()},
            )
        )
        return "250 OK"

    def close(self) -> None:
        self._controller.stop(no_assert=True)
