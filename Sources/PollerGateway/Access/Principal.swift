package import Poller

/// Somebody whose credentials we know, and what they may see.
package struct Principal: Hashable, Sendable {
    /// What somebody has shown.
    package enum Credential: String, Hashable, Sendable {
        /// Nothing: this machine is trusted.
        case none
        /// An API key.
        case key
        /// A token that a holder of a key has had made.
        case token
        /// A source's own secret, which its customer holds.
        case clientSecret
    }

    /// How much of an event is shown.
    package enum View: String, Hashable, Sendable {
        /// The event as it was recorded.
        case full
        /// What the customer of a source may know; see ``PublicView``.
        case restricted = "public"
    }

    /// The name of the key or the token, for logs and counting; never the secret.
    package let name: String
    /// The only account whose events they may see; nil for all.
    package let account: AccountID?
    /// What they have shown.
    package let credential: Credential
    /// The only sources they may see; nil for all of the account.
    package let sources: Set<SourceID>?
    /// The only event types they may see, or prefixes ending in `.*`; nil for all.
    package let types: [String]?
    /// How much of an event they are shown.
    package let view: View
    /// How long the credentials are still good for; nil for ever.
    package let validFor: Duration?
    /// What their cursors are good for: the same for credentials that see the same.
    let scope: String

    /// Describes somebody.
    package init(
        name: String,
        account: AccountID?,
        credential: Credential = .key,
        sources: Set<SourceID>? = nil,
        types: [String]? = nil,
        view: View = .full,
        validFor: Duration? = nil
    ) {
        self.name = name
        self.account = account
        self.credential = credential
        self.sources = sources
        self.types = types
        self.view = view
        self.validFor = validFor
        scope = [
            account?.description ?? "*",
            sources.map { $0.map(\.description).sorted().joined(separator: ",") } ?? "*",
            types.map { $0.sorted().joined(separator: ",") } ?? "*",
        ].joined(separator: "|")
    }
}
