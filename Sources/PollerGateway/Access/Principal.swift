import Foundation
import JSONText
package import PollerDeliveries
package import PollerIdentity
import PollerPayments
import PollerWatches
import PollerWire

/// An authenticated client and the events it may read.
package struct Principal: Hashable, Sendable {
    /// The kind of credentials that the client presented.
    package enum Credential: String, Hashable, Sendable {
        /// No credentials, because this machine is trusted.
        case none
        /// An API key.
        case key
        /// A stream token that the holder of a key requested.
        case token
        /// The client secret of a source, held by the customer.
        case clientSecret
    }

    /// The name of the key or token, for logs and counting.
    ///
    /// It is never the secret.
    package let name: String
    /// The accounts with readable events.
    package let accounts: AccountSet
    /// The presented credentials.
    package let credential: Credential
    /// The only readable sources, or `nil` for all sources of the accounts.
    package let sources: Set<SourceID>?
    /// The only readable event types, or prefixes that end in `.*`.
    ///
    /// `nil` means all types.
    package let types: [String]?
    /// The amount of detail in events.
    ///
    /// ``PublicView`` defines `restricted`.
    package let view: EventView
    /// The remaining validity of the credentials, or `nil` if they do not expire.
    package let validFor: Duration?
    /// The age of a token, or `nil` for other credentials.
    package let age: Duration?
    /// The scope of the principal's cursors.
    ///
    /// It is the same for credentials with the same access.
    let scope: String

    package init(
        name: String,
        accounts: AccountSet,
        credential: Credential = .key,
        sources: Set<SourceID>? = nil,
        types: [String]? = nil,
        view: EventView = .full,
        validFor: Duration? = nil,
        age: Duration? = nil
    ) {
        self.name = name
        self.accounts = accounts
        self.credential = credential
        self.sources = sources
        self.types = types
        self.view = view
        self.validFor = validFor
        self.age = age
        scope = [
            accounts.names?.joined(separator: ",") ?? "*",
            sources.map { $0.map(\.description).sorted().joined(separator: ",") } ?? "*",
            types.map { $0.sorted().joined(separator: ",") } ?? "*",
        ].joined(separator: "|")
    }
}

extension Principal {
    /// Whether access is by a key, or without one where no keys exist.
    var isByKey: Bool { credential == .key || credential == .none }

    /// Whether this principal used the key with this name, or none where no keys existed.
    func isKey(_ name: String) -> Bool { isByKey && self.name == name }

    /// The account of a source that is named without one.
    var defaultAccount: String {
        get throws(InvalidInput) {
            guard let account = accounts.standard else {
                throw InvalidInput("account", "is required, because these credentials have several")
            }
            return account.description
        }
    }
}

/// The customer's view of an event: the state of the payment, without the account and the merchant's data.
///
/// *Shape*: `{id, type, source, kind, seq, run, previous_status, status, final, closed_reason, payment, next_step,
/// object: {id, object, type, status, flow, amount, currency, livemode, created}, observed}`. The object contains only
/// those members that exist and are not objects or arrays.
enum PublicView {
    private static let publicMembers = [
        "id", "object", "type", "status", "flow", "amount", "currency", "livemode", "created",
    ]

    /// Returns the restricted event.
    static func json(of event: PollerWatches.Event) -> String {
        PublicEvent {
            $0.id = event.id.description
            $0.type = event.type
            $0.source = event.key.source.description
            $0.kind = Open(rawValue: event.key.kind.rawValue)
            $0.seq = event.seq
            $0.run = event.run
            $0.previousStatus = event.previousStatus?.description
            $0.status = event.status?.description
            $0.isFinal = event.final
            $0.closedReason = event.closed.map { Open(rawValue: $0.rawValue) }
            $0.payment = event.payment?.wire
            $0.nextStep = event.nextStep == .none ? nil : event.nextStep.wire
            $0.object = RawJSON(unchecked: object(event.object))
            $0.observed.polledAt = Time(ms: event.polledAt.ms)
        }.json
    }

    /// Returns an upstream's object, restricted, or `null` if the text is no object.
    ///
    /// Foundation parses and writes it, because its members are defined by the upstream. They are written in order of
    /// their names, with one form of numbers and escapes.
    static func object(_ text: String) -> String {
        // Text that is no object is hidden.
        guard let any = try? JSONSerialization.jsonObject(with: Data(text.utf8)),
            let object = any as? [String: Any]
        else { return "null" }
        let kept = object.filter { name, value in
            publicMembers.contains(name) && (value is String || value is NSNumber)
        }
        // Strings and numbers parsed from JSON can be written as JSON.
        guard
            let data = try? JSONSerialization.data(
                withJSONObject: kept,
                options: [.sortedKeys, .withoutEscapingSlashes]
            )
        else { return "null" }
        return String(decoding: data, as: UTF8.self)
    }
}

extension PollerWatches.Event {
    /// The event's top-level member `object`, as JSON, or `null`.
    ///
    /// A name in the metadata cannot replace it.
    var object: String {
        RawJSON(unchecked: json).member("object")?.description ?? "null"
    }
}
