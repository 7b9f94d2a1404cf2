import HTTPTypes

/// Stripe's headers; a literal is always a valid name.
enum SandboxHeaders {
    static let requestID = name("Request-Id")
    static let version = name("Stripe-Version")
    static let account = name("Stripe-Account")
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
