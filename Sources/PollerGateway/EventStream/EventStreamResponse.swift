import NIOCore
import NIOHTTP1

/// The heads of what one plain request is answered, and whole answers that are short.
struct EventStreamResponse: Sendable {
    typealias Outbound = NIOAsyncChannelOutboundWriter<HTTPServerResponsePart>

    let request: HTTPRequestHead
    let allowedOrigins: Set<String>

    /// The head of an event stream, or of an answer in its place.
    ///
    /// Nothing between us and the client may keep it or wait for more of it.
    func head(
        _ status: HTTPResponseStatus,
        type: String = "text/event-stream"
    ) -> HTTPResponseHead {
        var headers: HTTPHeaders = [
            "cache-control": "no-store",
            "x-accel-buffering": "no",
            "x-content-type-options": "nosniff",
            "connection": "close",
        ]
        if status != .noContent { headers.add(name: "content-type", value: type) }
        addOrigin(&headers)
        return HTTPResponseHead(version: .http1_1, status: status, headers: headers)
    }

    /// Sends a short answer.
    func send(
        _ status: HTTPResponseStatus,
        _ outbound: Outbound,
        body: String = ""
    ) async throws {
        try await send(head(status), outbound, body: body)
    }

    /// Says what a page of an allowed origin may send, and for how long it need not ask again.
    func preflight(_ outbound: Outbound) async throws {
        var head = head(.noContent)
        head.headers.add(name: "access-control-allow-methods", value: "GET, HEAD")
        head.headers.add(
            name: "access-control-allow-headers",
            value: "authorization, last-event-id, cache-control"
        )
        head.headers.add(name: "access-control-max-age", value: "600")
        head.headers.add(name: "allow", value: "GET, HEAD, OPTIONS")
        try await send(head, outbound, body: "")
    }

    /// Sends a problem (RFC 9457).
    func refuse(_ refusal: Refusal, _ outbound: Outbound) async throws {
        var head = head(refusal.status, type: "application/problem+json")
        switch refusal.status {
        case .upgradeRequired: head.headers.add(name: "upgrade", value: "websocket")
        case .methodNotAllowed: head.headers.add(name: "allow", value: "GET, HEAD, OPTIONS")
        case .unauthorized: head.headers.add(name: "www-authenticate", value: "Bearer")
        default: break
        }
        try await send(head, outbound, body: refusal.problem)
    }

    private func send(
        _ head: HTTPResponseHead,
        _ outbound: Outbound,
        body: String
    ) async throws {
        var head = head
        let hasBody = request.method != .HEAD && !body.isEmpty
        if head.status != .noContent, hasBody {
            head.headers.add(name: "content-length", value: String(body.utf8.count))
        }
        var parts: [HTTPServerResponsePart] = [.head(head)]
        if hasBody { parts.append(.body(.byteBuffer(ByteBuffer(string: body)))) }
        try await outbound.write(contentsOf: parts + [.end(nil)])
    }

    /// Lets a page of an allowed origin read the answer.
    private func addOrigin(_ headers: inout HTTPHeaders) {
        headers.add(name: "vary", value: "origin")
        guard let origin = request.headers.first(name: "origin"), allowedOrigins.contains(origin)
        else { return }
        headers.add(name: "access-control-allow-origin", value: origin)
    }
}
