import JSONText

/// How a call to the API can fail.
public enum StripeError: Error, Sendable, Hashable {
    /// No response. Retry after a pause, except when cancelled; a POST only with the same idempotency key.
    case transport(TransportFailure)

    /// The response body exceeds the configured bound and was dropped. Treat as a malformed answer.
    case bodyTooLarge(limitBytes: Int)

    /// The response is not JSON or a field has the wrong type. Retry; if it stays, the peer is not Stripe or
    /// this library is too old.
    case malformed(MalformedBody)

    /// Stripe answered with an error. Decide by status and code.
    case api(APIFailure)

    /// The request cannot be sent as given: bad base URL, key, id or header value. Do not retry.
    case invalidRequest(String)
}

extension StripeError: CustomStringConvertible {
    /// One line for an operator, without secrets.
    public var description: String {
        switch self {
        case .transport(let failure): "no response, \(failure)"
        case .bodyTooLarge(let limit): "the response body exceeds \(limit) bytes"
        case .malformed(let body): "malformed response: \(body)"
        case .api(let failure): "\(failure)"
        case .invalidRequest(let reason): "the request cannot be sent: \(reason)"
        }
    }
}

extension StripeError {
    /// Stripe's id of the request, for its support and the Dashboard's log; nil without a response.
    public var requestID: String? {
        switch self {
        case .api(let failure): failure.headers.requestID
        case .malformed(let body): body.requestID
        case .transport, .bodyTooLarge, .invalidRequest: nil
        }
    }

    /// The HTTP status of an error response.
    public var status: Int? {
        guard case .api(let failure) = self else { return nil }
        return failure.status
    }

    /// The stable word of an error response, as `resource_missing` or `lock_timeout`.
    public var code: String? {
        guard case .api(let failure) = self else { return nil }
        return failure.error?.code
    }

    /// Whether it is unknown what became of a POST: repeat it with the same key, or look; never
    /// use a new key.
    ///
    /// So it is without an answer, and after a 5xx, which the idempotency layer stores like a success.
    /// *Source*: <https://docs.stripe.com/error-low-level>.
    public var isIndeterminate: Bool {
        switch self {
        case .transport, .bodyTooLarge, .malformed: true
        case .api(let failure): failure.status >= 500
        case .invalidRequest: false
        }
    }
}

/// An error response of the API: its status, its body, and what its headers say about retrying.
public struct APIFailure: Sendable, Hashable, CustomStringConvertible {
    /// The HTTP status.
    public let status: Int

    /// The decoded body; nil when a proxy answered something else than Stripe's error object.
    public let error: StripeErrorBody?

    /// Headers of interest.
    public let headers: StripeHeaders

    /// Describes an error response.
    public init(status: Int, error: StripeErrorBody?, headers: StripeHeaders) {
        self.status = status
        self.error = error
        self.headers = headers
    }

    /// One line for an operator, without the message, which may quote a customer's input.
    public var description: String {
        var line = "HTTP \(status)"
        if let type = error?.type { line += " \(type.rawValue)" }
        if let code = error?.code { line += " \(code)" }
        if let param = error?.param { line += " (param \(param))" }
        if let id = headers.requestID { line += " (request \(id))" }
        return line
    }
}

/// A response that is not what the API promises: not JSON, or a field of the wrong type.
public struct MalformedBody: Sendable, Hashable, CustomStringConvertible {
    /// The field at fault, as `redirect.status`; nil when the body as a whole is not JSON.
    public let field: String?

    /// What is wrong with it; never the value itself.
    public let reason: String

    /// The HTTP status of the response.
    public let status: Int

    /// Stripe's id of the request.
    public let requestID: String?

    /// Describes a malformed body.
    public init(field: String?, reason: String, status: Int, requestID: String?) {
        self.field = field
        self.reason = reason
        self.status = status
        self.requestID = requestID
    }

    /// One line for an operator.
    public var description: String {
        let place = field.map { "field `\($0)`: " } ?? ""
        return "HTTP \(status), \(place)\(reason)" + (requestID.map { " (request \($0))" } ?? "")
    }
}

extension MalformedBody {
    /// Takes path and kind from a decoding error and leaves the values behind.
    init(_ error: any Error, status: Int, requestID: String?) {
        let (field, reason) = Self.explain(error)
        self.init(field: field, reason: reason, status: status, requestID: requestID)
    }

    private static func explain(_ error: any Error) -> (field: String?, reason: String) {
        switch error {
        case let error as JSONError:
            // The message has a place and no value.
            (nil, "the body cannot be read as JSON: \(error)")
        case DecodingError.typeMismatch(let type, let context):
            (path(context.codingPath), "expected \(type), found another JSON type")
        case DecodingError.valueNotFound(let type, let context):
            (path(context.codingPath), "expected \(type), found null")
        case DecodingError.keyNotFound(let key, let context):
            (path(context.codingPath + [key]), "required field is missing")
        case DecodingError.dataCorrupted(let context) where context.codingPath.isEmpty:
            (nil, "the body is not valid JSON")
        case DecodingError.dataCorrupted(let context):
            (path(context.codingPath), "the value cannot be represented")
        default:
            (nil, "\(type(of: error))")
        }
    }

    private static func path(_ keys: [any CodingKey]) -> String? {
        keys.isEmpty ? nil : keys.map(\.stringValue).joined(separator: ".")
    }
}
