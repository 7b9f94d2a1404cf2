/// The ID of an endpoint: `ep_…`.
///
/// An inline `notify` URL has one derived from account and URL, so that one URL of many watches is one endpoint with
/// one limit and one circuit. A registered endpoint has a random one, or one derived from its account and its name in
/// the configuration file.
package struct EndpointID: Hashable, Sendable, CustomStringConvertible {
    /// The ID: `ep_` and 16 characters of base64url.
    package let description: String

    /// Creates the ID of a URL under an account.
    package init(account: AccountID, url: String) {
        description = "ep_" + Digest.base64url(of: [account.description, url], bytes: 12)
    }

    /// Creates the ID of a name in the configuration file.
    package init(account: AccountID, name: String) {
        description = "ep_" + Digest.base64url(of: ["file", account.description, name], bytes: 12)
    }

    /// Creates a new unique ID from 96 random bits.
    package init(using generator: inout some RandomNumberGenerator) {
        let bytes = (0..<12).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        description = "ep_" + Base64URL.encode(bytes)
    }

    /// Checks and wraps an ID from outside.
    package init(_ text: String) throws(InvalidInput) {
        let id = try IdentifierSyntax.check(text, field: "endpoint", lengthMax: 64)
        guard id.hasPrefix("ep_") else {
            throw InvalidInput("endpoint", "must be the id of an endpoint, ep_…")
        }
        description = id
    }

    /// Wraps an ID from a store.
    package init(unchecked text: String) {
        description = text
    }
}
