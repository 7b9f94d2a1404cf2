/// A status as the upstream names it: `pending`, `chargeable`, `requires_action`, or one that
/// did not exist when this was written.
package struct SourceStatus: Hashable, Sendable, CustomStringConvertible {
    /// 1–64 of `a–z A–Z 0–9 _ - .`, lower-cased: the upstream's SDKs compare without case.
    package let description: String

    /// Checks and wraps a status read from the upstream.
    package init(_ text: String) throws(InvalidInput) {
        description = try IdentifierSyntax.check(text.lowercased(), field: "status", lengthMax: 64)
    }

    /// Wraps a status that this system wrote itself.
    package init(unchecked text: String) {
        description = text
    }
}
