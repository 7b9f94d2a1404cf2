import HTTPTypes
import Hummingbird
import JSONText
import NIOCore

/// Responds to every request: the API under `/v1` and `/v2`, customer pages, the controls under `/_sandbox`.
struct SandboxResponder: HTTPResponder {
    /// The maximum size of a request body.
    ///
    /// Stripe's limit is not published; this one is far above any form.
    static let bodyMax = 1 << 20

    let store: SandboxStore
    let hosts: SandboxHosts

    func respond(to request: Request, context: SandboxContext) async throws -> Response {
        guard isServed(request) else {
            return Self.error(
                403,
                "This sandbox is not served under the Host of this request. Use its address, or "
                    + "start stripe-sandbox with --allow-host NAME."
            )
        }
        let path = request.uri.path
        if path.hasPrefix("/v1/") || path.hasPrefix("/v2/") {
            return try await respondAPI(request, path, context)
        }
        if path.hasPrefix("/_sandbox/") { return try await respondControl(request, path) }
        if let page = CustomerPage(path) {
            do {
                return try await respondPage(page, request)
            } catch let error as APIError {
                return Self.json(status: error.status, error.reply.body)
            }
        }
        return Self.error(
            404,
            "This is stripe-sandbox: the API is under /v1 and /v2, pages under /redirect, /pay and /verify, "
                + "controls under /_sandbox."
        )
    }

    /// Returns whether every `Host` of a request is allowed.
    ///
    /// HTTP/1.0 clients, which are not browsers, may send none; ``HostCheck`` rejects HTTP/1.1 requests without one.
    private func isServed(_ request: Request) -> Bool {
        let further = request.headers.lazy.filter { $0.name.canonicalName == "host" }.map(\.value)
        return (request.head.authority.map(hosts.serves) ?? true)
            && further.allSatisfy(hosts.serves)
    }

    /// Responds to an API request in one step of the store, unless a fault holds the request.
    private func respondAPI(
        _ request: Request,
        _ path: String,
        _ context: SandboxContext
    ) async throws -> Response {
        var body = ByteBuffer()
        var refusal: APIError?
        if request.method == .post {
            do {
                body = try await collect(request)
            } catch let error as APIError {
                refusal = error
            }
        }
        let incoming = APIRequest(
            request.head,
            path: path,
            query: request.uri.query,
            body: body,
            base: base(of: request)
        )
        if let refusal { return Self.response(refusal.reply, for: incoming) }
        let held: SandboxState.HeldRequest
        let isReading = request.method == .get
        switch store.step(isReading: isReading, { $0.serve(incoming) }) {
        case .answered(let reply): return Self.response(reply, for: incoming)
        case .faulted(let faulted): held = faulted
        }
        defer {
            if case .success(let call) = held.call { store.step { $0.leave(call) } }
        }
        return try await FaultResponder(
            store: store,
            held: held,
            request: incoming,
            context: context
        )
        .respond()
    }

    /// Reads the body of a request, with limits on size and time.
    ///
    /// Errors: an ``APIError`` with 413 or 408.
    func collect(_ request: Request) async throws -> ByteBuffer {
        let (body, timeout) = (request.body, store.configuration.bodyTimeout)
        return try await withThrowingTaskGroup(of: ByteBuffer.self) { group in
            group.addTask {
                do {
                    return try await body.collect(upTo: Self.bodyMax)
                } catch is NIOTooManyBytesError {
                    throw APIError.invalid("The request body is larger than 1 MiB.", status: 413)
                }
            }
            group.addTask {
                try await Task.sleep(for: timeout)
                throw APIError.invalid("The request body did not arrive in time.", status: 408)
            }
            defer { group.cancelAll() }
            return try await group.next() ?? ByteBuffer()
        }
    }

    /// Returns the scheme and authority for URLs of the sandbox.
    func base(of request: Request) -> String {
        store.configuration.publicURL ?? "http://\(request.head.authority ?? "127.0.0.1")"
    }

    static func response(_ reply: APIReply, for request: APIRequest) -> Response {
        Response(
            status: HTTPResponse.Status(code: reply.status),
            headers: SandboxHeaders.fields(reply, for: request),
            body: ResponseBody(byteBuffer: reply.body)
        )
    }

    /// Creates an error that does not belong to Stripe's API.
    private static func error(_ status: Int, _ message: String) -> Response {
        json(
            status: status,
            JSONWriter.object { writer in
                writer.object("error") { writer in
                    writer.field("message", message)
                    writer.field("type", "invalid_request_error")
                }
            }
        )
    }

    /// Creates the response of a control.
    static func json(status: Int = 200, _ body: [UInt8]) -> Response {
        json(status: status, ByteBuffer(bytes: body))
    }

    /// Creates the response of a control from rendered JSON.
    static func json(status: Int = 200, _ body: ByteBuffer) -> Response {
        Response(
            status: HTTPResponse.Status(code: status),
            headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: body)
        )
    }
}

/// The part of a connection that a request needs: the channel, for resetting it.
struct SandboxContext: InitializableFromSource {
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        channel = source.channel
    }
}
