package import PollerIdentity

/// What a short-lived token lets its holder hear: a customer's browser, where a key must never be.
package struct StreamGrant: Hashable, Sendable {
    /// The longest a token may live: it is handed to browsers, and cannot be revoked.
    package static let lifetimeMax = Duration.seconds(3600)
    /// How soon after it was made a token in a URL begins its one connection: a page opens it at once.
    package static let urlLifetime = Duration.seconds(30)
    /// Sources a token may name: with their ids the token still fits a header line.
    package static let sourcesMax = 20
    /// Event types a token may name, for the same reason.
    package static let typesMax = 20

    /// Whose events.
    package let account: AccountID
    /// Of these sources only; nil for all of the account.
    package let sources: Set<SourceID>?
    /// Of these types only, such as `source.chargeable` or `source.*`; nil for all.
    package let types: [String]?
    /// `restricted` for a token that goes to a customer's browser.
    package let view: EventView

    /// Describes what may be heard.
    ///
    /// Errors: `InvalidInput` for `sources` and `types` that are empty, too many or malformed.
    package init(
        account: AccountID = .main,
        sources: [String]? = nil,
        types: [String]? = nil,
        view: EventView = .restricted
    ) throws(InvalidInput) {
        self.account = account
        self.types = types
        self.view = view
        if let sources {
            guard (1...Self.sourcesMax).contains(sources.count) else {
                throw InvalidInput(
                    field: "sources",
                    message: "must name 1 to \(Self.sourcesMax) sources; leave it out for all"
                )
            }
            var named: Set<SourceID> = []
            for source in sources { named.insert(try SourceID(source)) }
            self.sources = named
        } else {
            self.sources = nil
        }
        guard let types else { return }
        guard !types.contains(where: EventSubject.isOfOperators) else {
            throw InvalidInput(
                field: "types",
                message: "has operator.…, which tells of the whole cluster: no token is for that"
            )
        }
        guard (1...Self.typesMax).contains(types.count), types.allSatisfy(Self.isPattern) else {
            throw InvalidInput(
                field: "types",
                message: "must name 1 to \(Self.typesMax) types such as source.chargeable or "
                    + "source.*; leave it out for all"
            )
        }
    }

    /// Lower-case letters, digits, `_`, `-` and `.`, perhaps with a star at the end.
    private static func isPattern(_ type: String) -> Bool {
        let name = type.hasSuffix(".*") ? type.dropLast(2) : type[...]
        return (1...128).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte)
                    || [UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: ".")].contains(byte)
            }
    }
}

/// How much of an event somebody is shown.
package enum EventView: String, Hashable, Sendable {
    /// The event as it was recorded.
    case full
    /// What the customer of a source may know.
    case restricted = "public"
}

/// A token for the live gateway: its holder may listen until it expires.
package struct StreamToken: Hashable, Sendable, CustomStringConvertible {
    /// The token itself; for the answer to whoever asked for it alone.
    package let reveal: String
    /// When it ends.
    package let expiresAt: Timestamp

    /// Wraps a token that was made.
    package init(reveal: String, expiresAt: Timestamp) {
        self.reveal = reveal
        self.expiresAt = expiresAt
    }

    /// Never the token.
    package var description: String { "(redacted, until \(expiresAt))" }
}

/// Makes the short-lived tokens that browsers listen with: a holder of an API key hands one on,
/// and every gateway of the cluster checks it by its signature alone.
package protocol StreamTokenIssuer: Sendable {
    /// Makes a token that lives for `lifetime`.
    ///
    /// Errors: `InvalidInput` for `lifetime` outside 1 s … ``StreamGrant/lifetimeMax``.
    func issue(_ grant: StreamGrant, lifetime: Duration) async throws -> StreamToken
}
