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
