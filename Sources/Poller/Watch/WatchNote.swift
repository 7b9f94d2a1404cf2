import JSONText
package import PollerIdentity
import PollerQueue

/// What came to a watch from outside, or what somebody did to it, beside its events: for the person who
/// looks into one payment.
///
/// Events tell what has become of the payment; notes tell why somebody looked. They are read by people
/// alone and nothing is decided by them, so losing one does no harm, and where the store is full none
/// is kept.
package struct WatchNote: Hashable, Sendable {
    /// The sort of thing it tells of.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// An upstream's event that names the source.
        case hint
        /// A payer on the return page.
        case visit
        /// Somebody's wish, by a key.
        case deed
    }

    /// Notes kept of a watch: with the events and attempts beside them what a person reads in one go,
    /// 4 kB in Redis.
    package static let countMax = 50
    /// How long the notes of a watch outlive the newest, as those of its deliveries' attempts do.
    package static let kept = AttemptRecord.kept
    /// The same again within this span is not noted: a page that loads itself, a loop that polls.
    package static let pause = Duration.seconds(60)

    /// How a hint came: by a post of the upstream's.
    package static let webhook = "webhook"
    /// How a hint came: in the list of an account's events.
    package static let list = "list"

    package let kind: Kind
    /// What it was: the type of an event, the name of an operation or of a form.
    package let what: String
    /// Who it was: the name of a key; of a hint ``webhook`` or ``list``; nil for a payer.
    package let by: String?
    /// Whether who it was is bound to the account of the watch alone.
    ///
    /// Whoever may see only some accounts is not told the names of those who may see others.
    package let isOfAccount: Bool

    /// Describes what came.
    package init(_ kind: Kind, _ what: String, by name: String? = nil, isOfAccount: Bool = false) {
        self.kind = kind
        self.what = what
        by = name
        self.isOfAccount = isOfAccount
    }

    /// Describes what somebody did to the watch of a key.
    package init(deed: String, by actor: AuditActor, of key: WatchKey) {
        self.init(
            .deed,
            deed,
            by: actor.name,
            isOfAccount: actor.accounts == .some([key.account])
        )
    }

    /// As it is stored: `{"kind":"hint","what":"charge.succeeded","by":"webhook"}`.
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

    /// Reads ``json``; nil for what a later release has stored and this one does not know.
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

/// A note as the store keeps it.
package struct KeptNote: Hashable, Sendable {
    /// By the store's clock.
    package let at: Timestamp
    package let note: WatchNote

    /// What the store has kept.
    package init(at: Timestamp, note: WatchNote) {
        self.at = at
        self.note = note
    }
}

extension WatchStore {
    /// Keeps a note where that is possible: what it tells of has happened all the same.
    package func tryToNote(_ note: WatchNote, of key: WatchKey) async {
        do throws(StoreError) {
            try await self.note(note, of: key)
        } catch {
            // Nothing is decided by a note, and a store that takes none says so itself.
        }
    }
}
