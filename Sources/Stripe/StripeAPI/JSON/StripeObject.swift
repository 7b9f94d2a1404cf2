/// An object of the API: typed fields, and beside them everything it was sent with.
///
/// *Shape*: decoding is tolerant of missing optional fields, unknown fields and unknown words, and strict about
/// types: a field of the wrong JSON type is an error that names it. Encoding gives ``allResponseFields`` back, so
/// a decoded object survives a round trip with fields this library does not know.
///
/// *Secrets*: an object prints as its kind, id and status alone, through `description`, `dump` and mirrors
/// alike, since client secrets and customers' data are among its fields.
public protocol StripeObject: Codable, Hashable, Sendable, Identifiable, CustomStringConvertible,
    CustomDebugStringConvertible, CustomReflectable
where ID == String {
    /// The object's id, unique within an account and mode.
    var id: String { get }

    /// The object as the API sent it, unknown fields included.
    var allResponseFields: JSONValue { get }
}

extension StripeObject {
    /// Encodes the object as it was received.
    public func encode(to encoder: any Encoder) throws {
        try allResponseFields.encode(to: encoder)
    }

    /// Kind, id and status, as `source src_123 pending`.
    public var description: String {
        let kind = allResponseFields["object"]?.string ?? "object"
        let status = allResponseFields["status"]?.string.map { " " + $0 } ?? ""
        return "\(kind) \(id)\(status)"
    }

    /// Same as `description`.
    public var debugDescription: String { description }

    /// Shows the description instead of the fields.
    public var customMirror: Mirror { Mirror(self, children: ["object": description]) }
}
