/// A value from outside that breaks a rule of its type.
///
/// Shown to users as it is, so `message` says what is wrong and what would be right.
package struct InvalidInput: Error, Hashable, Sendable, CustomStringConvertible {
    /// Where the value stood, as `source` or `notify[2]`.
    package let field: String
    /// What is wrong and what to write instead, one sentence.
    package let message: String

    /// Makes an error about one field.
    package init(field: String, message: String) {
        self.field = field
        self.message = message
    }

    package var description: String { "\(field): \(message)" }
}
