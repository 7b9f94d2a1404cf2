import NIOCore
import NIOHTTP1

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A response with any status and a complete body within the size limit.
public struct StripeResponse: Sendable {
    /// The HTTP status.
    public let status: Int

    /// The response headers that callers use.
    public let headers: StripeHeaders

    /// The body as received.
    public let body: Data

    /// Creates a response.
    public init(status: Int, headers: StripeHeaders, body: Data) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// Creates a response from a transport's reply and keeps the relevant headers.
    package init(_ reply: StripeReply) {
        self.init(
            status: reply.status,
            headers: StripeHeaders(reply.headers),
            body: Data(reply.body.readableBytesView)
        )
    }

    /// Decodes the body of a 2xx response.
    ///
    /// To read only two fields, pass a type with two fields.
    ///
    /// - Parameter type: The type to decode.
    /// - Returns: The decoded value.
    /// - Throws: ``StripeError/api(_:)`` for any other status. ``StripeError/malformed(_:)`` when the body is not
    ///   JSON, its content type is not JSON, or a field has the wrong type.
    public func decode<Value: Decodable>(_ type: Value.Type) throws(StripeError) -> Value {
        guard (200..<300).contains(status) else { throw .api(failure) }
        guard headers.isJSON else {
            throw .malformed(
                MalformedBody(
                    field: nil,
                    reason: "the content type is not JSON",
                    status: status,
                    requestID: headers.requestID
                )
            )
        }
        do {
            return try StripeJSON.decode(type, from: body)
        } catch {
            throw .malformed(MalformedBody(error, status: status, requestID: headers.requestID))
        }
    }

    /// The response as an error; its `error` is `nil` when the body is not Stripe's error object.
    public var failure: APIFailure {
        // A body in another shape, for example a proxy's error page, has nothing to act on.
        let envelope = try? StripeJSON.decode(StripeErrorEnvelope.self, from: body)
        return APIFailure(status: status, error: envelope?.error, headers: headers)
    }
}

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
