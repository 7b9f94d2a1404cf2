"""Prints mails as a person reads them: a handler of aiosmtpd.

    python -m aiosmtpd -n -l 127.0.0.1:2525 -c readable.Readable
"""

from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any, cast

HEADERS = ("From", "To", "Subject")
RULE = "─" * 72


def readable(mail: EmailMessage) -> str:
    """The headers that matter, and the text with its transfer encoding undone."""
    heads = [f"{name}: {mail[name]}" for name in HEADERS if mail[name]]
    body = mail.get_body(preferencelist=("plain", "html"))
    text = body.get_content() if body else "(no text)"
    return "\n".join([RULE, *heads, "", text.rstrip(), RULE])


class Readable:
    """Says yes to every mail, and prints it."""

    @classmethod
    def from_cli(cls, parser: Any, *arguments: str) -> "Readable":
        """What aiosmtpd calls to make one; there is nothing to set."""
        if arguments:
            parser.error("readable.Readable takes no arguments")
        return cls()

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:
        """A mail has come."""
        mail = cast(EmailMessage, message_from_bytes(envelope.content, policy=default))
        print(readable(mail), flush=True)
        return "250 OK"
