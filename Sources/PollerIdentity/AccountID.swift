/// The account at the upstream whose credentials a poll uses: `acct_…`, or a configured name.
package struct AccountID: Hashable, Sendable, CustomStringConvertible {
    /// The account of a system with a single account.
    package static let main = AccountID(unchecked: "default")

    /// The name: 1–64 of `A–Z a–z 0–9 _ - .`.
    ///
    /// The limit keeps a watch's Redis hash a listpack.
    package let description: String

    /// Checks and wraps a name from outside.
    package init(_ text: String) throws(InvalidInput) {
        description = try IdentifierSyntax.check(
            text,
            field: "account",
            lengthMax: 64,
            as: .name
        )
    }

    /// Wraps a name that this system wrote.
    package init(unchecked text: String) {
        description = text
    }
}
