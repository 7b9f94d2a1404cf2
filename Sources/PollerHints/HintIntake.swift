package import PollerIdentity
package import PollerOperations
import PollerPayments
package import PollerQueue
package import PollerWatches

/// Turns an upstream's events into hints, once per event and change.
///
/// The webhook intake and the event sweep share it, because they receive the same events. Marks are set *after* the
/// hints: a crash between the two repeats the hints, which is harmless, and never loses one. *Limits*: a mark costs
/// about 100 bytes of Redis and expires after an hour (events) or a minute (changes).
package struct HintIntake: Sendable {
    /// The time that an event's ID is remembered, longer than the sweep needs to notice that no webhook delivered it.
    package static let eventSpan = Duration.seconds(3600)
    /// The time for which (object, type) counts as the same change.
    ///
    /// It equals the eager span after a hint, in which another hint would have no effect.
    static let changeSpan = Watch.eagerness

    private let watches: any WatchStore
    private let marks: any SweepStore
    private let events: (any AccountEvents)?

    /// Creates a value that hints in `watches` and stores marks in `marks`.
    ///
    /// `events` looks up the owner of a charge, for events that name nothing else; without it those events cause no
    /// hint.
    package init(
        watches: any WatchStore,
        marks: any SweepStore,
        events: (any AccountEvents)? = nil
    ) {
        self.watches = watches
        self.marks = marks
        self.events = events
    }

    /// Returns the suspect of an event, the same for a webhook and for the sweep.
    package static func suspect(
        _ event: AccountEvent,
        of account: AccountID,
        countedIn partition: Int
    ) -> Suspect {
        Suspect(
            .hint,
            partition: partition,
            name: event.id,
            account: account,
            about: event.subjects.first { SourceKind(inferredFrom: $0) != nil }?.description
        )
    }

    /// Returns the suspect of a webhook before it is decoded, named by its event's ID, or by a digest of the body.
    ///
    /// The ID is found without a parser, because the parser may be the cause of a crash.
    package static func suspect(
        webhook body: [UInt8],
        of account: AccountID,
        countedIn partition: Int
    ) -> Suspect {
        let name = eventName(in: body) ?? Digest.base64url(of: body, bytes: 15)
        return Suspect(.hint, partition: partition, name: name, account: account)
    }

    /// Returns the first `"evt_…"` in a body; `nil` without one.
    private static func eventName(in body: [UInt8]) -> String? {
        let start = Array("\"evt_".utf8)
        guard let found = body.firstRange(of: start) else { return nil }
        let name = body[found.lowerBound...].dropFirst().prefix(200)
        return String(decoding: name.prefix(while: IdentifierSyntax.isAllowed), as: UTF8.self)
    }

    /// Returns the mark of an event that a webhook delivered.
    package static func mark(ofEvent id: String) -> String { "e:\(id)" }

    /// Returns the mark of an event that the sweep has handled, because it reads each more than once.
    static func mark(swept id: String) -> String { "s:\(id)" }

    /// Returns the mark of an event of a charge whose owner the upstream has not named.
    static func mark(unanswered id: String) -> String { "u:\(id)" }

    /// Returns the mark of such an event for as long as the sweep asks again.
    static func mark(repeated id: String) -> String { "r:\(id)" }

    /// Returns the mark of a change, which several events may report.
    ///
    /// There is none for money: two refunds within a minute are two changes, and a closed watch is polled once for
    /// each, not for a minute.
    private static func mark(ofChange event: AccountEvent) -> String? {
        guard event.topic != .money else { return nil }
        return event.subjects.first.map { "c:\($0)|\(event.type)" }
    }

    /// Hints the watches of an event's subjects that are open, or that its topic reopens.
    ///
    /// - Parameters:
    ///   - event: the event.
    ///   - account: the account of the watches.
    ///   - isWebhook: whether a webhook delivered it, which is stored for the sweep.
    ///   - unwatched: called with the subjects without such a watch, before a mark is set.
    /// - Returns: the result. An event with an unconfirmed notice or an unknown owner leaves no mark.
    /// - Throws: if the store is unavailable, or the upstream that must confirm a notice; hinting again is harmless.
    package func hint(
        _ event: AccountEvent,
        of account: AccountID,
        isWebhook: Bool,
        unwatched: ([WatchKey]) async throws(StoreError) -> Void = { _ in }
    ) async throws(StoreError) -> HintResult {
        let id = Self.mark(ofEvent: event.id)
        let change = Self.mark(ofChange: event)
        let known = try await marks.isMarked([id, change ?? id], of: account)
        if known.contains(true) {
            // The sweep later checks whether a webhook delivered this very event.
            if isWebhook, known.first == false {
                try await marks.mark([(id, Self.eventSpan)], of: account)
            }
            return .known
        }
        let notice: MandateNotice?
        switch try await confirmed(event, in: account) {
        case .found(let found)?: notice = found
        case .unknown?: return .noSuchNotice
        case .unreadable?: return .unreadableNotice
        case nil: notice = nil
        }
        let way = isWebhook ? WatchNote.webhook : WatchNote.list
        var hints: [Hint] = []
        // First those that the event names, because the upstream may not name the owner.
        for subject in event.subjects {
            if let given = try await hint(subject, event, notice, in: account, by: way) {
                hints.append(given)
            }
        }
        let owner: SourceID?
        do throws(AccountEventsFailure) {
            owner = try await self.owner(of: event, in: account)
        } catch {
            return .unanswered("the payment of event \(event.id) is unknown: \(error)")
        }
        if let owner, let given = try await hint(owner, event, notice, in: account, by: way) {
            hints.append(given)
        }
        let rest = hints.filter { !$0.isKnown }.map(\.key)
        if !rest.isEmpty { try await unwatched(rest) }
        var set: [(name: String, span: Duration)] = []
        if isWebhook { set.append((id, Self.eventSpan)) }
        if let change { set.append((change, Self.changeSpan)) }
        if !set.isEmpty { try await marks.mark(set, of: account) }
        return .hinted(hints.count - rest.count)
    }

    /// A hint, and whether a watch got it.
    private struct Hint {
        let key: WatchKey
        let isKnown: Bool
    }

    /// Hints the watch of one subject; `nil` for an object that cannot be watched, or that the notice does not concern.
    private func hint(
        _ subject: SourceID,
        _ event: AccountEvent,
        _ notice: MandateNotice?,
        in account: AccountID,
        by way: String
    ) async throws(StoreError) -> Hint? {
        guard let kind = SourceKind(inferredFrom: subject) else { return nil }
        let key = WatchKey(account: account, source: subject, kind: kind)
        let isKnown: Bool
        if let notice {
            // The debit concerns its source only, not the other objects of the event.
            guard kind == .source, event.mandate.isOf(subject) else { return nil }
            isKnown = try await watches.announce(notice, of: key)
        } else {
            isKnown = try await watches.hint(key, of: event.topic)
        }
        if isKnown { await watches.tryToNote(WatchNote(.hint, event.type, by: way), of: key) }
        return Hint(key: key, isKnown: isKnown)
    }

    /// Returns the notice of a debit from the upstream; `nil` for an event without one.
    private func confirmed(
        _ event: AccountEvent,
        in account: AccountID
    ) async throws(StoreError) -> NoticeLookup? {
        switch event.mandate {
        case nil: return nil
        case .confirmed(let notice): return .found(notice)
        case .claimed(let id, let source):
            guard let events else { return .unreadable }
            do throws(AccountEventsFailure) {
                return try await events.notice(id, of: source, in: account)
            } catch {
                // No mark is set yet, so the sender must deliver the event again.
                throw .unavailable("the notice \(id) cannot be confirmed: \(error)")
            }
        }
    }

    /// Returns the owner of the charge that an event names; `nil` if the event names it already, or no charge.
    ///
    /// The events of a dispute or a refund name a charge, but not always its owner.
    private func owner(
        of event: AccountEvent,
        in account: AccountID
    ) async throws(AccountEventsFailure) -> SourceID? {
        let kinds = event.subjects.map { ($0, SourceKind(inferredFrom: $0)) }
        guard let events, event.topic == .money || event.isThin,
            let charge = kinds.first(where: { $0.1 == .charge })?.0,
            !kinds.contains(where: { $0.1 != nil && $0.1 != .charge })
        else { return nil }
        return try await events.subject(ofCharge: charge, in: account)
    }
}

/// The result of hinting an event.
package enum HintResult: Hashable, Sendable {
    /// The number of watches that were hinted, or got the notice of a debit.
    case hinted(Int)
    /// The event, or its change, is known already.
    case known
    /// It announces a debit that the upstream does not know.
    case noSuchNotice
    /// It announces a debit, and no credentials here may read it at the upstream.
    case unreadableNotice
    /// It names only a charge, and the upstream did not name its source. Whatever the event itself names was hinted.
    case unanswered(String)
}

extension MandateAnnouncement? {
    /// Whether the debit is of this source.
    ///
    /// A notice that was read with its event names only its own source, so it always is.
    fileprivate func isOf(_ source: SourceID) -> Bool {
        if case .claimed(_, let claimed) = self { claimed == source } else { true }
    }
}

/// Accepts the webhooks of an upstream.
package protocol WebhookIntake: Sendable {
    /// Verifies a delivery and turns it into hints: its subjects are polled, and its content is not trusted.
    ///
    /// - Parameters:
    ///   - body: the exact bytes received, which the signature covers.
    ///   - signature: the signature header; `nil` without one.
    ///   - account: the account of the webhook URL.
    /// - Returns: the outcome.
    /// - Throws: if the store is unavailable; the sender must send it again.
    func receive(
        _ body: [UInt8],
        signature: String?,
        account: AccountID
    ) async throws(StoreError) -> WebhookOutcome
}

/// The outcome of a posted event.
package enum WebhookOutcome: Hashable, Sendable {
    /// The numbers of open watches that were hinted, and of unknown sources that were enqueued.
    case accepted(hinted: Int, enqueued: Int)
    /// Received before, or another event about the same change.
    case duplicate
    /// Validly signed, and set aside because it has crashed several processes.
    case setAside
    /// Validly signed but not relevant: a test event at a live account, or one without a subject.
    case ignored(String)
    /// Not from the upstream, or unreadable; the text names the problem.
    case refused(String)
    /// No webhook secret is configured for the account.
    case unknownAccount
    /// Its subject is to be watched, but the account has reached its limit of open watches; the sender must send it
    /// again.
    case tooManyWatches(TooManyWatches)

    /// The name of the outcome, for metrics.
    package var name: String {
        switch self {
        case .accepted: "accepted"
        case .duplicate: "duplicate"
        case .setAside: "set_aside"
        case .ignored: "ignored"
        case .refused: "refused"
        case .unknownAccount: "unknown_account"
        case .tooManyWatches: "too_many_watches"
        }
    }

    /// All values of ``name``.
    package static let names = [
        "accepted", "duplicate", "set_aside", "ignored", "refused", "unknown_account",
        "too_many_watches",
    ]
}
