import HTTPTypes
import Hummingbird
import NIOCore

/// Answers every request: the API under `/v1`, the pages under `/redirect`, the controls under `/_sandbox`.
struct SandboxResponder: HTTPResponder {
    /// The largest request body: Stripe's own limit is not published; ours is far above any form.
    static let bodyMax = 1 << 20

    let store: SandboxStore

    func respond(to request: Request, context: SandboxContext) async throws -> Response {
        let path = request.uri.path
        if path.hasPrefix("/v1/") { return try await respondAPI(request, path, context) }
        if path.hasPrefix("/redirect/") { return try await respondRedirect(request, path) }
        if path.hasPrefix("/_sandbox/") { return try await respondControl(request, path) }
        return Self.json(
            status: 404,
            JSONWriter.object { writer in
                writer.key("error")
                writer.object { writer in
                    writer.field(
                        "message",
                        "This is stripe-sandbox: the API is under /v1, pages under /redirect, "
                            + "controls under /_sandbox."
                    )
                    writer.field("type", "invalid_request_error")
                }
            }
        )
    }

    private func respondAPI(
        _ request: Request,
        _ path: String,
        _ context: SandboxContext
    ) async throws -> Response {
        let (key, refusal) = Self.key(of: request)
        let arrival = store.step {
            $0.arrive(
                method: request.method.rawValue,
                path: path,
                keySuffix: key?.suffix ?? ""
            )
        }
        let fallback = HTTPFields([HTTPField(name: Self.requestID, value: arrival.requestID)])
        let body: ByteBuffer
        do {
            body = request.method == .post ? try await collect(request) : ByteBuffer()
        } catch is NIOTooManyBytesError {
            store.step { $0.answered(arrival.number, status: 413) }
            let error = APIError.invalid("The request body is larger than 1 MiB.", status: 413)
            return Self.response(error.reply, headers: fallback)
        }
        let answer: @Sendable () -> (APIReply, HTTPFields) = {
            guard let key else { return ((refusal ?? APIError.missing("key")).reply, fallback) }
            return answerCall(request, path, key, body, arrival.requestID)
        }
        guard let strike = arrival.strike else {
            let (reply, headers) = answer()
            store.step { $0.answered(arrival.number, status: reply.status) }
            return Self.response(reply, headers: headers)
        }
        return try await FaultResponder(store: store, number: arrival.number, context: context)
            .respond(to: strike, answer)
    }

    /// Answers one call and gives the headers that belong to it.
    private func answerCall(
        _ request: Request,
        _ path: String,
        _ key: APIKey,
        _ body: ByteBuffer,
        _ requestID: String
    ) -> (APIReply, HTTPFields) {
        let idempotencyKey = request.headers[Self.idempotencyKey]
        let account = request.headers[Self.account]
        var headers = HTTPFields()
        headers.append(HTTPField(name: Self.requestID, value: requestID))
        headers.append(
            HTTPField(
                name: Self.version,
                value: request.headers[Self.version] ?? SandboxState.apiVersion
            )
        )
        if let idempotencyKey {
            headers.append(HTTPField(name: Self.idempotencyKey, value: idempotencyKey))
        }
        if let account { headers.append(HTTPField(name: Self.account, value: account)) }
        do {
            let form =
                request.method == .post
                ? try Form(parsing: body.readableBytesView)
                : try Form(parsing: (request.uri.query ?? "").utf8)
            let call = APICall(
                method: request.method,
                path: path,
                segments: path.split(separator: "/").dropFirst().map { $0 },
                key: key,
                form: form,
                body: body,
                idempotencyKey: idempotencyKey,
                account: account,
                requestID: requestID,
                base: base(of: request)
            )
            let reply = store.step { $0.answer(call) }
            if let original = reply.originalRequestID {
                headers.append(HTTPField(name: Self.replayed, value: "true"))
                headers.append(HTTPField(name: Self.originalRequest, value: original))
            }
            return (reply, headers)
        } catch {
            return (error.reply, headers)
        }
    }

    private static func key(of request: Request) -> (APIKey?, APIError?) {
        do {
            return (try APIKey(request.headers), nil)
        } catch {
            return (nil, error)
        }
    }

    func collect(_ request: Request) async throws -> ByteBuffer {
        try await request.body.collect(upTo: Self.bodyMax)
    }

    /// Scheme and authority for URLs that point back here.
    func base(of request: Request) -> String {
        store.configuration.publicURL ?? "http://\(request.head.authority ?? "127.0.0.1")"
    }
}

extension SandboxResponder {
    /// Header names beyond the standard ones; a literal is always a valid name.
    static let requestID = name("Request-Id")
    static let version = name("Stripe-Version")
    static let account = name("Stripe-Account")
    static let idempotencyKey = name("Idempotency-Key")
    static let replayed = name("Idempotent-Replayed")
    static let originalRequest = name("Original-Request")

    private static func name(_ text: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(text) else {
            preconditionFailure("\(text) is no header name")
        }
        return name
    }

    static func response(_ reply: APIReply, headers: HTTPFields) -> Response {
        var headers = headers
        headers.append(HTTPField(name: .contentType, value: "application/json"))
        return Response(
            status: HTTPResponse.Status(code: reply.status),
            headers: headers,
            body: ResponseBody(byteBuffer: reply.body)
        )
    }

    static func json(status: Int = 200, _ body: [UInt8]) -> Response {
        response(APIReply(status: status, body: body), headers: HTTPFields())
    }
}
