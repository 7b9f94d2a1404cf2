/// The upstream's own id of the thing that is watched: `src_…`, `pi_…`.
package struct SourceID: Hashable, Sendable, CustomStringConvertible {
    /// 1–255 of `A–Z a–z 0–9 _ - .`; Stripe promises ids of at most 255 characters.
    package let description: String

    /// Checks and wraps an id from outside.
    package init(_ text: String) throws(InvalidInput) {
        description = try IdentifierSyntax.check(text, field: "source", lengthMax: 255)
    }

    /// Wraps an id that this system wrote itself.
    package init(unchecked text: String) {
        description = text
    }
}
