"""A mail relay for runs with many mails, which can refuse recipients and delay its greeting."""

from .mail_sink import MailSink
from .receipts import LeanReceipts
from .way import Way


class MoodyRelay(MailSink):
    """A `MailSink` behind a proxy, `way`, that keeps receipts but not the mails' text.

    `refusal` refuses every recipient. While `way` is stalled, a new connection is accepted but gets no greeting.
    """

    def __init__(self):
        super().__init__()
        self.receipts = LeanReceipts()
        self.way = Way(self._controller.port)
        self.url = f"smtp://127.0.0.1:{self.way.port}"

    async def handle_DATA(self, server, session, envelope) -> str:
        answer = await super().handle_DATA(server, session, envelope)
        self.messages.clear()
        return answer

    def close(self) -> None:
        self.way.close()
        super().close()
