package import PollerIdentity
package import PollerQueue

/// Makes hints of an upstream's events, each event and each change once.
///
/// Shared by the webhook intake and the event sweep, which see the same events. Marks are set
/// *after* the hints: a crash between the two hints again, which is harmless, and never loses one.
/// *Limits*: a mark costs about 100 bytes of Redis and lives for an hour (events) or a minute
/// (changes), whatever arrives.
package struct Hinting: Sendable {
    /// How long an event's id is remembered: longer than the sweep takes to notice that no
    /// webhook brought it.
    package static let eventSpan = Duration.seconds(3600)
    /// How long (object, type) counts as the same change: as long as a hinted watch is polled
    /// eagerly, so another hint in that span would add nothing.
    static let changeSpan = PollDecider.eagerness

    private let watches: any WatchStore
    private let marks: any SweepStore
    private let events: (any AccountEvents)?

    /// Hints in `watches` and remembers in `marks`.
    ///
    /// `events` tells what a charge belongs to, for events that name nothing else; without it they hint
    /// nothing.
    package init(
        watches: any WatchStore,
        marks: any SweepStore,
        events: (any AccountEvents)? = nil
    ) {
        self.watches = watches
        self.marks = marks
        self.events = events
    }

    /// An event as a suspect, the same for a webhook and for the sweep.
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

    /// A webhook as a suspect before it is decoded: by the name of its event, or by a digest of the body.
    ///
    /// The name is found without a parser, because the parser may be the cause.
    package static func suspect(
        webhook body: [UInt8],
        of account: AccountID,
        countedIn partition: Int
    ) -> Suspect {
        let name = eventName(in: body) ?? Digest.base64url(of: body, bytes: 15)
        return Suspect(.hint, partition: partition, name: name, account: account)
    }

    /// The first `"evt_…"` in a body; nil where there is none.
    private static func eventName(in body: [UInt8]) -> String? {
        let start = Array("\"evt_".utf8)
        guard let found = body.firstRange(of: start) else { return nil }
        let name = body[found.lowerBound...].dropFirst().prefix(200)
        return String(decoding: name.prefix(while: IdentifierSyntax.isAllowed), as: UTF8.self)
    }

    /// The mark of an event that a webhook brought.
    package static func mark(ofEvent id: String) -> String { "e:\(id)" }

    /// The mark of an event that the sweep has handled: it reads each more than once.
    static func mark(swept id: String) -> String { "s:\(id)" }

    /// The mark of a change, which several events may tell.
    ///
    /// Not of the money: two refunds within a minute are two changes, and what has ended is looked at
    /// once for each, not for a minute.
    private static func mark(ofChange event: AccountEvent) -> String? {
        guard event.news != .money else { return nil }
        return event.subjects.first.map { "c:\($0)|\(event.type)" }
    }

    /// Hints the watches of an event's subjects that are open, or that its news opens again.
    ///
    /// - Parameters:
    ///   - event: what happened.
    ///   - account: whose watches.
    ///   - isWebhook: whether a webhook brought it; remembered, so that the sweep misses nothing.
    ///   - unwatched: told the subjects that have no such watch, before anything is remembered.
    /// - Returns: the result. An event with an unconfirmed notice leaves no mark.
    /// - Throws: when the store cannot be reached, or the upstream that must confirm a notice; hinting again is
    ///   harmless.
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
            // The sweep asks later whether a webhook brought this very event.
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
        var hinted = 0
        var rest: [WatchKey] = []
        for subject in try await subjects(of: event, in: account) {
            guard let kind = SourceKind(inferredFrom: subject) else { continue }
            let key = WatchKey(account: account, source: subject, kind: kind)
            let isKnown: Bool
            if let notice {
                // The debit concerns its source only, not the other objects of the event.
                guard kind == .source, event.mandate.isOf(subject) else { continue }
                isKnown = try await watches.announce(notice, of: key)
            } else {
                isKnown = try await watches.hint(key, of: event.news)
            }
            if isKnown {
                hinted += 1
                let way = isWebhook ? WatchNote.webhook : WatchNote.list
                await watches.tryToNote(WatchNote(.hint, event.type, by: way), of: key)
            } else {
                rest.append(key)
            }
        }
        if !rest.isEmpty { try await unwatched(rest) }
        var set: [(name: String, span: Duration)] = []
        if isWebhook { set.append((id, Self.eventSpan)) }
        if let change { set.append((change, Self.changeSpan)) }
        if !set.isEmpty { try await marks.mark(set, of: account) }
        return .hinted(hinted)
    }

    /// The notice of a debit, as the upstream has it; nil for an event that announces none.
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
                // Nothing is remembered yet: the sender must deliver the event again.
                throw .unavailable("the notice \(id) cannot be confirmed: \(error)")
            }
        }
    }

    /// What an event is about; a dispute and a refund name a charge, and not always what it belongs to.
    private func subjects(
        of event: AccountEvent,
        in account: AccountID
    ) async throws(StoreError) -> [SourceID] {
        let kinds = event.subjects.map { ($0, SourceKind(inferredFrom: $0)) }
        guard let events, event.news == .money || event.isThin,
            let charge = kinds.first(where: { $0.1 == .charge })?.0,
            !kinds.contains(where: { $0.1 != nil && $0.1 != .charge })
        else { return event.subjects }
        do throws(AccountEventsFailure) {
            let owner = try await events.subject(ofCharge: charge, in: account)
            return event.subjects + [owner].compactMap(\.self)
        } catch {
            // Nothing is remembered yet: whoever has brought the event brings it again.
            throw .unavailable("what \(charge) belongs to is not known: \(error)")
        }
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
    /// It announces a debit, and no credentials here may ask the upstream for it.
    case unreadableNotice
}

extension MandateAnnouncement? {
    /// Whether the debit is one of this source; of a notice that was read with its event, which names only its own
    /// source, always.
    fileprivate func isOf(_ source: SourceID) -> Bool {
        if case .claimed(_, let claimed) = self { claimed == source } else { true }
    }
}

/// Takes what an upstream posts about its own events.
package protocol WebhookIntake: Sendable {
    /// Verifies a delivery and makes hints of it: its subjects are looked at, nothing is believed.
    ///
    /// - Parameters:
    ///   - body: exactly as received; the signature is over these bytes.
    ///   - signature: the signature header, nil when there is none.
    ///   - account: whose endpoint it came in at.
    /// - Returns: what became of it.
    /// - Throws: when the store cannot be reached; the sender must send it again.
    func receive(
        _ body: [UInt8],
        signature: String?,
        account: AccountID
    ) async throws(StoreError) -> WebhookOutcome
}

/// What became of a posted event.
package enum WebhookOutcome: Hashable, Sendable {
    /// So many open watches were hinted, and so many unknown sources are watched from now on.
    case accepted(hinted: Int, enqueued: Int)
    /// Seen before, or another event about the same change.
    case duplicate
    /// Properly signed, and set aside because it has ended several processes.
    case setAside
    /// Properly signed and none of ours: a test event at a live account, or one without a subject.
    case ignored(String)
    /// Not from the upstream, or not understood; the text says what to look at.
    case refused(String)
    /// No webhook secret is configured for the account.
    case unknownAccount
    /// What it is about is to be watched, and its account has as many open watches as it may; the sender
    /// must send it again.
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

    /// Every ``name`` there is.
    package static let names = [
        "accepted", "duplicate", "set_aside", "ignored", "refused", "unknown_account",
        "too_many_watches",
    ]
}
