import JSONText

/// An error of an API call.
public enum StripeError: Error, Sendable, Hashable {
    /// No response was received. Retry after a delay unless the task was cancelled; retry a POST with the same
    /// idempotency key.
    case transport(TransportFailure)

    /// The response body exceeds the configured limit and was dropped. Treat it like a malformed response.
    case bodyTooLarge(limitBytes: Int)

    /// The response is not JSON or a field has the wrong type. Retry; if the error persists, the server is not Stripe
    /// or this library is too old.
    indirect case malformed(MalformedBody)

    /// Stripe returned an error. Decide by its status and code.
    indirect case api(APIFailure)

    /// The request is invalid: a bad base URL, key, ID or header value. Do not retry.
    case invalidRequest(String)
}

extension StripeError: CustomStringConvertible {
    /// A one-line message for operators, without secrets.
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
    /// Stripe's request ID, for its support and the Dashboard's log; `nil` without a response.
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

    /// The stable error code, for example `resource_missing` or `lock_timeout`.
    public var code: String? {
        guard case .api(let failure) = self else { return nil }
        return failure.error?.code
    }

    /// Whether the result of a POST is unknown.
    ///
    /// If so, repeat the call with the same idempotency key or read the object; never use a new key. The result is
    /// unknown without a response, and after a 5xx, which the idempotency layer stores like a success.
    /// *Source*: <https://docs.stripe.com/error-low-level>.
    public var isIndeterminate: Bool {
        switch self {
        case .transport, .bodyTooLarge, .malformed: true
        case .api(let failure): failure.status >= 500
        case .invalidRequest: false
        }
    }
}

/// An error response of the API: its status, body and retry-related headers.
public struct APIFailure: Sendable, Hashable, CustomStringConvertible {
    /// The HTTP status.
    public let status: Int

    /// The decoded error; `nil` when the body is not Stripe's error object, for example a proxy's page.
    public let error: StripeErrorBody?

    /// The relevant headers.
    public let headers: StripeHeaders

    /// Creates a failure.
    public init(status: Int, error: StripeErrorBody?, headers: StripeHeaders) {
        self.status = status
        self.error = error
        self.headers = headers
    }

    /// A one-line message for operators, without the error message, which may quote a customer's input.
    public var description: String {
        var line = "HTTP \(status)"
        if let type = error?.type { line += " \(type.rawValue)" }
        if let code = error?.code { line += " \(code)" }
        if let param = error?.param { line += " (param \(param))" }
        if let id = headers.requestID { line += " (request \(id))" }
        return line
    }
}

/// A response that violates the API: it is not JSON, or a field has the wrong type.
public struct MalformedBody: Sendable, Hashable, CustomStringConvertible {
    /// The invalid field, for example `redirect.status`; `nil` when the whole body is not JSON.
    public let field: String?

    /// The problem, without the value itself.
    public let reason: String

    /// The HTTP status of the response.
    public let status: Int

    /// Stripe's request ID.
    public let requestID: String?

    /// Creates a description of a malformed body.
    public init(field: String?, reason: String, status: Int, requestID: String?) {
        self.field = field
        self.reason = reason
        self.status = status
        self.requestID = requestID
    }

    /// A one-line message for operators.
    public var description: String {
        let location = field.map { "field `\($0)`: " } ?? ""
        return "HTTP \(status), \(location)\(reason)" + (requestID.map { " (request \($0))" } ?? "")
    }
}

extension MalformedBody {
    /// Takes the path and the kind of a decoding error, but not the values.
    init(_ error: any Error, status: Int, requestID: String?) {
        let (field, reason) = Self.explain(error)
        self.init(field: field, reason: reason, status: status, requestID: requestID)
    }

    private static func explain(_ error: any Error) -> (field: String?, reason: String) {
        switch error {
        case let error as JSONError:
            // The message has a byte offset but no value.
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
