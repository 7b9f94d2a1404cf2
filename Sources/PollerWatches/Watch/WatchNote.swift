import JSONText
package import PollerIdentity
package import PollerOperations

/// A hint, visit or action on a watch, stored for its timeline.
///
/// Events report the changes of a payment. Notes explain why it was polled. Only people read them and no decision
/// depends on them, so a lost note does no harm. A full store keeps none.
package struct WatchNote: Hashable, Sendable {
    /// The kind of a note.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// An upstream's event that names the source.
        case hint
        /// A payer on the return page.
        case visit
        /// An action of an API key.
        case deed
    }

    /// The number of notes that are kept per watch: with events and attempts, as many as a person can read at once; 4
    /// kB in Redis.
    package static let countMax = 50
    /// The time that the notes of a watch are kept after the newest, the same as for delivery attempts.
    package static let kept = Duration.seconds(30 * 86_400)
    /// The span in which an identical note is dropped, such as from a reloading page or a polling loop.
    package static let pause = Duration.seconds(60)

    /// The origin of a hint that the upstream posted.
    package static let webhook = "webhook"
    /// The origin of a hint from an account's event list.
    package static let list = "list"

    package let kind: Kind
    /// The type of an event, or the name of an operation or form.
    package let what: String
    /// The name of a key; for a hint ``webhook`` or ``list``; `nil` for a payer.
    package let by: String?
    /// Whether the author may access only the account of the watch.
    ///
    /// A caller with access to some accounts does not see the names of keys that may access others.
    package let isOfAccount: Bool

    package init(_ kind: Kind, _ what: String, by name: String? = nil, isOfAccount: Bool = false) {
        self.kind = kind
        self.what = what
        by = name
        self.isOfAccount = isOfAccount
    }

    /// Creates a note about an action on a watch.
    package init(deed: String, by actor: AuditActor, of key: WatchKey) {
        self.init(
            .deed,
            deed,
            by: actor.name,
            isOfAccount: actor.accounts == .some([key.account])
        )
    }

    /// The stored form: `{"kind":"hint","what":"charge.succeeded","by":"webhook"}`.
    package var json: String {
        JSONWriter.text { json in
            json.object { json in
                json.field("kind", kind.rawValue)
                json.field("what", what)
                if let by { json.field("by", by) }
                if isOfAccount { json.field("own", true) }
            }
        }
    }

    /// Parses ``json``; `nil` for a note of a later release.
    package init?(json text: String) {
        guard let json = RawJSON(text), let what = json.member("what")?.string,
            let kind = json.member("kind")?.string.flatMap(Kind.init(rawValue:))
        else { return nil }
        self.init(
            kind,
            what,
            by: json.member("by")?.string,
            isOfAccount: json.member("own")?.bool ?? false
        )
    }
}

/// A stored note.
package struct StoredNote: Hashable, Sendable {
    /// The time of the note, by the store's clock.
    package let at: Timestamp
    package let note: WatchNote

    /// Creates a note from the fields of a store.
    package init(at: Timestamp, note: WatchNote) {
        self.at = at
        self.note = note
    }
}
