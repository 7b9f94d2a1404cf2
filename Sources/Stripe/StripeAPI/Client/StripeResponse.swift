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
