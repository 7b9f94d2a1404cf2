"""A trace collector that parses OTLP with the messages of opentelemetry-proto, and can misbehave."""

import threading
import time
from dataclasses import dataclass, field

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span as Message

from .http_server import HTTPServer, Request
from .waiting import wait_until


@dataclass(frozen=True)
class Span:
    """One received span; its IDs are hexadecimal."""

    name: str
    trace: str
    id: str
    parent: str
    kind: str
    links: list[tuple[str, str]]
    attributes: dict
    error: str | None
    began_ns: int
    ended_ns: int
    resource: dict = field(repr=False)

    @staticmethod
    def of(message: Message, resource: dict) -> "Span":
        return Span(
            name=message.name,
            trace=message.trace_id.hex(),
            id=message.span_id.hex(),
            parent=message.parent_span_id.hex(),
            kind=Message.SpanKind.Name(message.kind).removeprefix("SPAN_KIND_").lower(),
            links=[(link.trace_id.hex(), link.span_id.hex()) for link in message.links],
            attributes=values(message.attributes),
            error=message.status.message if message.status.code == 2 else None,
            began_ns=message.start_time_unix_nano,
            ended_ns=message.end_time_unix_nano,
            resource=resource,
        )


def values(attributes) -> dict:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in attributes}


class OTLPCollector(HTTPServer):
    """Accepts spans, or answers by `mode`: a status code, `hang`, or `drip` for an endless response.

    `slow` accepts spans and answers two seconds later.
    """

    def __init__(self, port: int = 0, mode: int | str = 200):
        self.mode = mode
        self.headers: list[dict] = []
        # The time and the service name of each request.
        self.tries: list[tuple[float, str]] = []
        self._spans: list[Span] = []
        self._closing = threading.Event()
        super().__init__(port)

    def answer(self, request: Request, body: bytes) -> tuple | None:
        assert request.path == "/v1/traces" and request.headers["content-type"] == "application/x-protobuf"
        mode = self.mode
        message = ExportTraceServiceRequest.FromString(body)
        assert message.SerializeToString() == body, "not as protobuf itself writes it"
        self.tries.append((time.monotonic(), values(message.resource_spans[0].resource.attributes)["service.name"]))
        self.headers.append(request.lower_headers())
        if mode == "hang":
            self._closing.wait(600)
            return None
        if mode == "drip":
            request.send_response(200)
            request.send_header("content-length", "1000000")
            request.end_headers()
            while not self._closing.wait(0.2):
                request.wfile.write(b"x")
            return None
        if mode in (200, "slow"):
            for of_process in message.resource_spans:
                resource = values(of_process.resource.attributes)
                for scope in of_process.scope_spans:
                    self._spans += [Span.of(span, resource) for span in scope.spans]
        if mode == "slow":
            self._closing.wait(2)
            mode = 200
        return mode, b"", {"retry-after": "1"} if mode in (429, 503) else {}

    def spans(self, name: str | None = None, **attributes) -> list[Span]:
        """Returns the received spans with this name and these attributes (`_` stands for `.`)."""
        wanted = {key.replace("_", "."): value for key, value in attributes.items()}
        return [
            span
            for span in list(self._spans)
            if (name is None or span.name == name) and wanted.items() <= span.attributes.items()
        ]

    def wait(self, count: int, name: str, timeout_s: float = 60, **attributes) -> list[Span]:
        """Waits for at least `count` spans and returns them."""

        def look() -> list[Span] | None:
            found = self.spans(name, **attributes)
            return found if len(found) >= count else None

        return wait_until(look, timeout_s, f"{count} spans {name} {attributes}")

    def close(self) -> None:
        self._closing.set()
        super().close()


def caller(flags: str = "01") -> tuple[str, str, str]:
    """Returns a caller's trace ID, its span ID, and the `traceparent` header with both."""
    number = time.time_ns()
    trace, span = f"{number:032x}", f"{number:016x}"
    return trace, span, f"00-{trace}-{span}-{flags}"
