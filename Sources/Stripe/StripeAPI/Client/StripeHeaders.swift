import NIOHTTP1

/// The response headers a caller decides on.
public struct StripeHeaders: Sendable, Hashable {
    /// `Request-Id`: names the request in Stripe's log.
    public let requestID: String?

    /// `Content-Type`, parameters included.
    public let contentType: String?

    /// `Retry-After` as sent, seconds or an HTTP date: undocumented by Stripe, to be honoured.
    public let retryAfter: String?

    /// `Stripe-Should-Retry`: wins over the status when present.
    public let shouldRetry: Bool?

    /// `Stripe-Rate-Limited-Reason`: which limiter answered 429; absent when the object was locked.
    public let rateLimitedReason: String?

    /// `Idempotent-Replayed`: the stored answer of an earlier request with the same key.
    public let idempotentReplayed: Bool

    /// Describes the headers of a response.
    public init(
        requestID: String? = nil,
        contentType: String? = nil,
        retryAfter: String? = nil,
        shouldRetry: Bool? = nil,
        rateLimitedReason: String? = nil,
        idempotentReplayed: Bool = false
    ) {
        self.requestID = requestID
        self.contentType = contentType
        self.retryAfter = retryAfter
        self.shouldRetry = shouldRetry
        self.rateLimitedReason = rateLimitedReason
        self.idempotentReplayed = idempotentReplayed
    }

    /// Picks the headers of interest.
    init(_ headers: HTTPHeaders) {
        self.init(
            requestID: headers.first(name: "request-id"),
            contentType: headers.first(name: "content-type"),
            retryAfter: headers.first(name: "retry-after"),
            shouldRetry: headers.first(name: "stripe-should-retry").flatMap(Bool.init),
            rateLimitedReason: headers.first(name: "stripe-rate-limited-reason"),
            idempotentReplayed: headers.first(name: "idempotent-replayed") == "true"
        )
    }

    /// Whether the body claims to be JSON; a missing header is no claim to the contrary.
    var isJSON: Bool {
        guard let contentType else { return true }
        let type = contentType.prefix { $0 != ";" && $0 != " " }.lowercased()
        return type == "application/json"
            || (type.hasPrefix("application/") && type.hasSuffix("+json"))
    }
}
