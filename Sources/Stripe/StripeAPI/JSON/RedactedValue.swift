/// A value whose fields must not reach a log: it prints as the name of its type.
///
/// Such are a customer's name and address, account numbers, and links that carry a client secret.
public protocol RedactedValue: CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{}

extension RedactedValue {
    /// The type's name and `(redacted)`.
    public var description: String { "\(Self.self) (redacted)" }

    /// Same as `description`.
    public var debugDescription: String { description }

    /// Shows the description instead of the fields.
    public var customMirror: Mirror { Mirror(self, children: ["value": description]) }
}
