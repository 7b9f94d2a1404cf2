"""A mail server that keeps what it is given."""

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
    """aiosmtpd asks for the port it was told, which port 0 is not: read it from the socket."""

    def _trigger_server(self) -> None:
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()


class MailSink:
    """An SMTP server (aiosmtpd) whose mails become receipts; `messages` has them whole. With `tls` it speaks that alone.

    No mail names its source: the address it is sent to does, as in `customer+src_1@example.com`.
    """

    def __init__(self, listener=None, tls: ssl.SSLContext | None = None):
        # What every recipient is refused with, such as `550 You have been greylisted`; none when empty.
        self.refusal = ""
        self.receipts = Receipts(listener)
        self.messages: list[email.message.EmailMessage] = []
        self._controller = _Controller(self, hostname="127.0.0.1", port=0, ssl_context=tls)
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
