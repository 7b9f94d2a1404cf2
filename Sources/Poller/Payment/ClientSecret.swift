/// The secret that lets a publishable key read one source; never printed.
package struct ClientSecret: Hashable, Sendable, CustomStringConvertible {
    /// The secret itself; for the request to the upstream alone.
    package let reveal: String

    /// Checks and wraps a secret from outside.
    package init(_ text: String) throws(InvalidInput) {
        reveal = try IdentifierSyntax.check(text, field: "client_secret", lengthMax: 512)
    }

    /// Wraps a secret read back from a store.
    package init(unchecked text: String) {
        reveal = text
    }

    package var description: String { "(redacted)" }
}
