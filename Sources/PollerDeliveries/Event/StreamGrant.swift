package import PollerIdentity
import PollerWatches

/// The subscription that a short-lived token permits, for a customer's browser, which must never have an API key.
package struct StreamGrant: Hashable, Sendable {
    /// The longest lifetime of a token, which is given to browsers and cannot be revoked.
    package static let lifetimeMax = Duration.seconds(3600)
    /// The time in which a token in a URL must open its only connection; a page opens it at once.
    package static let urlLifetime = Duration.seconds(30)
    /// The maximum number of sources of a token, so that it fits a header line.
    package static let sourcesMax = 20
    /// The maximum number of event types of a token, for the same reason.
    package static let typesMax = 20

    /// The account of the events.
    package let account: AccountID
    /// The permitted sources; `nil` for all of the account.
    package let sources: Set<SourceID>?
    /// The permitted types, such as `source.chargeable` or `source.*`; `nil` for all.
    package let types: [String]?
    /// The form of the events, `restricted` for a customer's browser.
    package let view: EventView

    /// Creates a grant.
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
                    "sources",
                    "must name 1 to \(Self.sourcesMax) sources; leave it out for all"
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
                "types",
                "has operator.…, which covers the whole cluster and is not available with a token"
            )
        }
        guard (1...Self.typesMax).contains(types.count), types.allSatisfy(Self.isPattern) else {
            throw InvalidInput(
                "types",
                "must name 1 to \(Self.typesMax) types such as source.chargeable or "
                    + "source.*; leave it out for all"
            )
        }
    }

    /// Whether a type has only lower-case letters, digits, `_`, `-` and `.`, with an optional star at the end.
    private static func isPattern(_ type: String) -> Bool {
        let name = type.hasSuffix(".*") ? type.dropLast(2) : type[...]
        return (1...128).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte)
                    || [UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: ".")].contains(byte)
            }
    }
}

/// The form in which a subscriber receives events.
package enum EventView: String, Hashable, Sendable {
    /// The event as it was recorded.
    case full
    /// The part of an event that the customer of a source may see.
    case restricted = "public"
}

/// A token for the live gateway, valid until it expires.
package struct StreamToken: Hashable, Sendable, CustomStringConvertible {
    /// The token itself, only for the response to the caller that requested it.
    package let reveal: String
    /// The expiry.
    package let expiresAt: Timestamp

    /// Creates a value for an issued token.
    package init(reveal: String, expiresAt: Timestamp) {
        self.reveal = reveal
        self.expiresAt = expiresAt
    }

    /// A redacted text, never the token.
    package var description: String { "(redacted, until \(expiresAt))" }
}

/// Issues the short-lived tokens with which browsers subscribe.
///
/// A holder of an API key passes one on, and every gateway of the cluster verifies it by its signature alone.
package protocol StreamTokenIssuer: Sendable {
    /// Issues a token with a lifetime.
    ///
    /// Errors: `InvalidInput` for `lifetime` outside 1 s … ``StreamGrant/lifetimeMax``.
    func issue(_ grant: StreamGrant, lifetime: Duration) async throws -> StreamToken
}
