import NIOCore
import NIOHTTP1

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A response of any status, its body complete and within the bound.
public struct StripeResponse: Sendable {
    /// The HTTP status.
    public let status: Int

    /// The headers a caller decides on.
    public let headers: StripeHeaders

    /// The body as it arrived.
    public let body: Data

    /// Describes a response.
    public init(status: Int, headers: StripeHeaders, body: Data) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// An answer of a transport, with the headers of interest.
    package init(_ reply: StripeReply) {
        self.init(
            status: reply.status,
            headers: StripeHeaders(reply.headers),
            body: Data(reply.body.readableBytesView)
        )
    }

    /// Decodes the body of a 2xx response; a caller that needs two fields passes a type with two fields.
    ///
    /// - Parameter type: What to decode.
    /// - Returns: The decoded value.
    /// - Throws: ``StripeError/api(_:)`` for every other status, ``StripeError/malformed(_:)`` when the body is
    ///   not JSON, says it is not, or has a field of the wrong type.
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

    /// The response seen as an error; its body is nil when it is not Stripe's error object.
    public var failure: APIFailure {
        // Anything but Stripe's own shape, a proxy's page for instance, says nothing we could act upon.
        let envelope = try? StripeJSON.decode(StripeErrorEnvelope.self, from: body)
        return APIFailure(status: status, error: envelope?.error, headers: headers)
    }
}

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

    /// `Date`: Stripe's clock, to the second.
    public let date: String?

    /// Describes the headers of a response.
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

    /// Picks the headers of interest.
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

    /// ``rateLimitedReason`` as a word; nil where there is none.
    public var limitReason: StripeLimitReason? {
        rateLimitedReason.map(StripeLimitReason.init(rawValue:))
    }

    /// Whether the body claims to be JSON; a missing header is no claim to the contrary.
    var isJSON: Bool {
        guard let contentType else { return true }
        let type = contentType.prefix { $0 != ";" && $0 != " " }.lowercased()
        return type == "application/json"
            || (type.hasPrefix("application/") && type.hasSuffix("+json"))
    }
}
