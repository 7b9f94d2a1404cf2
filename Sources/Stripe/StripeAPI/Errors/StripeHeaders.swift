import NIOHTTP1

/// The response headers that callers use.
public struct StripeHeaders: Sendable, Hashable {
    /// `Request-Id`: the ID of the request in Stripe's log.
    public let requestID: String?

    /// `Content-Type`, including parameters.
    public let contentType: String?

    /// `Retry-After` as sent: seconds or an HTTP date.
    ///
    /// Stripe does not document it, but it should be honoured.
    public let retryAfter: String?

    /// `Stripe-Should-Retry`: takes precedence over the status when present.
    public let shouldRetry: Bool?

    /// `Stripe-Rate-Limited-Reason`: the limiter that returned 429; absent when the object was locked.
    public let rateLimitedReason: String?

    /// `Idempotent-Replayed`: whether this is the stored response of an earlier request with the same key.
    public let idempotentReplayed: Bool

    /// `Date`: the time of Stripe's clock, to the second.
    public let date: String?

    /// Creates a set of response headers.
    public init(
        requestID: String? = nil,
        contentType: String? = nil,
        retryAfter: String? = nil,
        shouldRetry: Bool? = nil,
        rateLimitedReason: String? = nil,
        idempotentReplayed: Bool = false,
        date: String? = nil
    ) {
        self.requestID = requestID
        self.contentType = contentType
        self.retryAfter = retryAfter
        self.shouldRetry = shouldRetry
        self.rateLimitedReason = rateLimitedReason
        self.idempotentReplayed = idempotentReplayed
        self.date = date
    }

    /// Extracts the relevant headers.
    init(_ headers: HTTPHeaders) {
        self.init(
            requestID: headers.first(name: "request-id"),
            contentType: headers.first(name: "content-type"),
            retryAfter: headers.first(name: "retry-after"),
            shouldRetry: headers.first(name: "stripe-should-retry").flatMap(Bool.init),
            rateLimitedReason: headers.first(name: "stripe-rate-limited-reason"),
            idempotentReplayed: headers.first(name: "idempotent-replayed") == "true",
            date: headers.first(name: "date")
        )
    }

    /// The typed form of ``rateLimitedReason``; `nil` when the header is missing.
    public var limitReason: StripeLimitReason? {
        rateLimitedReason.map(StripeLimitReason.init(rawValue:))
    }

    /// Whether the content type is JSON; a missing header is accepted.
    var isJSON: Bool {
        guard let contentType else { return true }
        let type = contentType.prefix { $0 != ";" && $0 != " " }.lowercased()
        return type == "application/json"
            || (type.hasPrefix("application/") && type.hasSuffix("+json"))
    }
}
