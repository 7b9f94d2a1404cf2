import Foundation
import JSONText
package import Poller
package import PollerIdentity
import PollerWire

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

    /// The name of the key or the token, for logs and counting; never the secret.
    package let name: String
    /// The accounts whose events they may see.
    package let accounts: AccountSet
    /// What they have shown.
    package let credential: Credential
    /// The only sources they may see; nil for all of the account.
    package let sources: Set<SourceID>?
    /// The only event types they may see, or prefixes ending in `.*`; nil for all.
    package let types: [String]?
    /// How much of an event they are shown: ``PublicView`` says what `restricted` is.
    package let view: EventView
    /// How long the credentials are still good for; nil for ever.
    package let validFor: Duration?
    /// How long ago a token was made; nil for other credentials.
    package let age: Duration?
    /// What their cursors are good for: the same for credentials that see the same.
    let scope: String

    /// Describes somebody.
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
    /// Whether a key opened the door, or there was none.
    var isByKey: Bool { credential == .key || credential == .none }

    /// Whether this is who shows the key of a name, or none where there were no keys.
    func isKey(_ name: String) -> Bool { isByKey && self.name == name }

    /// The account of a source that is named without one.
    var standardAccount: String {
        get throws(InvalidInput) {
            guard let account = accounts.standard else {
                throw InvalidInput(
                    field: "account",
                    message: "is required, because these credentials have several"
                )
            }
            return account.description
        }
    }
}

/// What the customer of a source may know of an event: how the payment stands, not whose account
/// it is in nor what the merchant has written into the object.
///
/// *Shape*: `{id, type, source, kind, seq, run, previous_status, status, final, closed_reason, payment,
/// next_step, object: {id, object, type, status, flow, amount, currency, livemode, created}, observed}`; of the
/// object the members that are there and are no objects themselves.
enum PublicView {
    private static let shown = [
        "id", "object", "type", "status", "flow", "amount", "currency", "livemode", "created",
    ]

    /// The event, restricted.
    static func json(of event: Poller.Event) -> String {
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

    /// An upstream's object, restricted; `null` when it is none.
    ///
    /// Foundation reads and writes it, not a table of fields: it is the upstream's object, not a shape of
    /// ours, and its members are told in the order of their names with numbers and escapes in one form.
    static func object(_ text: String) -> String {
        // Text that is no object shows nothing.
        guard let any = try? JSONSerialization.jsonObject(with: Data(text.utf8)),
            let object = any as? [String: Any]
        else { return "null" }
        let kept = object.filter { name, value in
            shown.contains(name) && (value is String || value is NSNumber)
        }
        // Strings and numbers that were read as JSON can be written as JSON.
        guard
            let data = try? JSONSerialization.data(
                withJSONObject: kept,
                options: [.sortedKeys, .withoutEscapingSlashes]
            )
        else { return "null" }
        return String(decoding: data, as: UTF8.self)
    }
}

extension Poller.Event {
    /// The object inside the event's bytes: the member of that name, whatever names the merchant's metadata has.
    var object: String {
        RawJSON(unchecked: json).member("object")?.description ?? "null"
    }
}
