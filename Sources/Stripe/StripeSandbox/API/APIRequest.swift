import HTTPTypes
import NIOCore

/// One request to the API as it came in: a call, or the reason why it is none.
struct APIRequest {
    let method: HTTPRequest.Method
    let path: String
    let keySuffix: String
    let call: Result<APICall, APIError>
    /// Echoed in the answer.
    let idempotencyKey: String?
    let account: String?
    let version: String?

    init(_ request: HTTPRequest, path: String, query: String?, body: ByteBuffer, base: String) {
        method = request.method
        self.path = path
        let headers = request.headerFields
        let idempotencyKey = headers[SandboxHeaders.idempotencyKey]
        // `acct_platform/acct_connected`: the last one is acted for.
        let context = headers[SandboxHeaders.context]?.split(separator: "/").last.map(String.init)
        let account = context ?? headers[SandboxHeaders.account]
        self.idempotencyKey = idempotencyKey
        self.account = account
        version = headers[SandboxHeaders.version]
        var suffix = ""
        do throws(APIError) {
            let key = try APIKey(headers)
            suffix = key.suffix
            guard context != nil || !key.isOrganization else {
                throw APIError.invalid(
                    "The `Stripe-Context` header is required with an organization API key: it names "
                        + "the account, acct_…."
                )
            }
            try Self.requireVersion(headers[SandboxHeaders.version])
            call = .success(
                APICall(
                    method: request.method,
                    path: path,
                    segments: Array(path.split(separator: "/").dropFirst()),
                    key: key,
                    form: request.method == .post
                        ? try Form(parsing: body.readableBytesView)
                        : try query.map { text throws(APIError) in try Form(parsing: text.utf8) }
                            ?? Form(),
                    body: body,
                    idempotencyKey: idempotencyKey,
                    version: version,
                    account: account,
                    base: base
                )
            )
        } catch {
            call = .failure(error)
        }
        keySuffix = suffix
    }

    /// `2026-10-28.endive`: a date, and since 2024 the name of a release.
    private static func requireVersion(_ version: String?) throws(APIError) {
        guard let version else { return }
        let isDate = zip(version.utf8, "0000-00-00".utf8).allSatisfy { byte, pattern in
            pattern == UInt8(ascii: "-")
                ? byte == pattern : (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        }
        guard isDate, version.utf8.count >= 10 else {
            throw APIError.invalid(
                "Invalid Stripe API version: \(version). It looks like 2026-10-28.endive."
            )
        }
    }
}

/// One request to the API, read but not yet answered.
struct APICall: Sendable {
    let method: HTTPRequest.Method
    let path: String
    /// The path's segments after `/v1` or `/v2`.
    let segments: [Substring]
    let key: APIKey
    /// Query parameters of a GET or DELETE, form fields of a POST.
    let form: Form
    /// The body of a POST, what an idempotency key is tied to.
    let body: ByteBuffer
    let idempotencyKey: String?
    /// `Stripe-Version`; nil is the account's own, today's.
    let version: String?
    /// The connected account acted for; nil is the platform's own.
    var account: String?
    /// Scheme and authority for URLs that point back at the sandbox.
    let base: String

    /// The segment with that number; empty when the path is shorter.
    func segment(_ number: Int) -> String {
        number < segments.count ? String(segments[number]) : ""
    }

    /// The named operation, which is what Stripe's limits count: `GET sources`, whatever the id.
    var endpoint: String {
        let names = segments.enumerated().map { $0.offset % 2 == 0 ? $0.element : "*" }
        return "\(method.rawValue) \(names.joined(separator: "/"))"
    }
}

/// An answer of the API before it becomes HTTP.
struct APIReply {
    var status: Int
    var body: ByteBuffer
    /// The request this answers.
    var requestID = ""
    /// The request whose stored answer this is, when an idempotency key was used again.
    var originalRequestID: String?
    /// Which limit was hit.
    var limitReason: String?
    /// Advice for the client; nil lets it decide by the status.
    var shouldRetry: Bool?
    /// Whether execution began, so that an idempotency key keeps the answer.
    var hasBegun: Bool

    init(status: Int = 200, body: ByteBuffer) {
        self.status = status
        self.body = body
        hasBegun = status == 200
    }

    init(status: Int = 200, body: [UInt8]) {
        self.init(status: status, body: ByteBuffer(bytes: body))
    }
}

/// Stripe's headers; a literal is always a valid name.
enum SandboxHeaders {
    static let requestID = name("Request-Id")
    static let version = name("Stripe-Version")
    static let account = name("Stripe-Account")
    static let context = name("Stripe-Context")
    static let idempotencyKey = name("Idempotency-Key")
    static let replayed = name("Idempotent-Replayed")
    static let originalRequest = name("Original-Request")
    static let limitReason = name("Stripe-Rate-Limited-Reason")
    static let shouldRetry = name("Stripe-Should-Retry")

    private static func name(_ text: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(text) else {
            preconditionFailure("\(text) is no header name")
        }
        return name
    }

    /// The headers of an answer.
    static func fields(_ reply: APIReply, for request: APIRequest) -> HTTPFields {
        var fields = HTTPFields()
        fields.reserveCapacity(8)
        func add(_ name: HTTPField.Name, _ value: String?) {
            if let value { fields.append(HTTPField(name: name, value: value)) }
        }
        add(.contentType, "application/json")
        add(requestID, reply.requestID)
        add(version, request.version ?? SandboxState.apiVersion)
        add(account, request.account)
        add(idempotencyKey, request.idempotencyKey)
        if let original = reply.originalRequestID {
            add(replayed, "true")
            add(originalRequest, original)
        }
        add(limitReason, reply.limitReason)
        add(shouldRetry, reply.shouldRetry.map { $0 ? "true" : "false" })
        return fields
    }
}
