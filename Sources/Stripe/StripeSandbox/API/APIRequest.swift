import HTTPTypes
import NIOCore

/// An API request as received: a call, or the error that prevents one.
struct APIRequest {
    let method: HTTPRequest.Method
    let path: String
    let keySuffix: String
    let call: Result<APICall, APIError>
    /// The idempotency key, which is returned in the response.
    let idempotencyKey: String?
    let account: String?
    let version: String?

    init(_ request: HTTPRequest, path: String, query: String?, body: ByteBuffer, base: String) {
        method = request.method
        self.path = path
        let headers = request.headerFields
        let idempotencyKey = headers[SandboxHeaders.idempotencyKey]
        // In `acct_platform/acct_connected` the last account is the one to act for.
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

    /// Requires a version such as `2026-10-28.endive`: a date, and since 2024 a release name.
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

/// A parsed API request.
struct APICall: Sendable {
    let method: HTTPRequest.Method
    let path: String
    /// The path segments after `/v1` or `/v2`.
    let segments: [Substring]
    let key: APIKey
    /// The query parameters of a GET or DELETE, or the form of a POST.
    let form: Form
    /// The body of a POST, to which an idempotency key is bound.
    let body: ByteBuffer
    let idempotencyKey: String?
    /// `Stripe-Version`; `nil` for the account's default, which is the current version.
    let version: String?
    /// The connected account to act for; `nil` for the platform.
    var account: String?
    /// The scheme and authority for URLs of the sandbox.
    let base: String

    /// Returns the segment at an index; empty when the path is shorter.
    func segment(_ number: Int) -> String {
        number < segments.count ? String(segments[number]) : ""
    }

    /// The operation counted by Stripe's limits, for example `GET sources`, regardless of the ID.
    var endpoint: String {
        let names = segments.enumerated().map { $0.offset % 2 == 0 ? $0.element : "*" }
        return "\(method.rawValue) \(names.joined(separator: "/"))"
    }
}

/// An API response before it is converted to HTTP.
struct APIReply {
    var status: Int
    var body: ByteBuffer
    var requestID = ""
    /// The original request of a stored response that is replayed for an idempotency key.
    var originalRequestID: String?
    /// The exceeded limit.
    var limitReason: String?
    /// The value of `Stripe-Should-Retry`; `nil` lets the client decide by the status.
    var shouldRetry: Bool?
    /// Whether execution started, so that the response is stored for the idempotency key.
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

/// Stripe's header names; every literal is a valid name.
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
            preconditionFailure("\(text) is not a valid header name")
        }
        return name
    }

    /// Returns the headers of a response.
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
