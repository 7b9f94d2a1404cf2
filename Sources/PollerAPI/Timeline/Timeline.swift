import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerQueue
import PollerWatches
import PollerWire

/// The history of a payment in chronological order, in English sentences.
///
/// *Why here*: the history is stored in five places: the watch, its events, the delivery attempts, the notes
/// and the orders of its charges. The server combines them, so that the console, the command line and a shop's
/// own page show the same text.
///
/// *Bounds*: 100 events, 50 notes and 20 attempts per delivery. When older events are missing, an entry says
/// so. Only the notes (``WatchNote``) are stored for the timeline.
struct Timeline {
    typealias Tone = TimelineEntry.Tone

    /// A recipient with its delivery and attempts.
    struct Recipient {
        let delivery: DeliverySnapshot
        let attempts: [AttemptRecord]
        /// The endpoint's name, or its URL without scheme and query.
        let name: String
        /// Whether the recipient is an email address.
        let isMail: Bool
        /// Whether the endpoint is disabled.
        let isDisabled: Bool
        /// The endpoint's lane; `nil` when no delivery is pending.
        let lane: LaneReport?

        init(
            _ delivery: DeliverySnapshot,
            _ attempts: [AttemptRecord],
            _ receiver: Receiver,
            lane: LaneReport? = nil
        ) {
            self.delivery = delivery
            self.attempts = attempts
            self.lane = lane
            isDisabled = receiver.isDisabled
            isMail = receiver.url.scheme == "mailto"
            name = receiver.name ?? TimelineText.shortURL(receiver.url)
        }
    }

    let watch: WatchSnapshot
    let events: [PollerWatches.Event]
    let notes: [StoredNote]
    /// The recipients of the watch; empty when the caller may not read deliveries.
    let recipients: [Recipient]
    /// The accounts that the caller may read.
    let accounts: AccountSet

    /// All entries in chronological order.
    ///
    /// Entries with equal times are in order of cause and effect.
    var entries: [TimelineEntry] {
        let all =
            beginning + noteEntries(.hint) + eventEntries + noteEntries(.visit, .deed) + failure
            + recipients.flatMap(entries)
        let past = all.enumerated().sorted { left, right in
            (left.element.at.ms, left.offset) < (right.element.at.ms, right.offset)
        }.map(\.element)
        let last = past.last.map { Timestamp(ms: $0.at.ms) } ?? watch.watch.createdAt
        return past + ahead(behind: last).sorted { $0.at.ms < $1.at.ms }
    }

    /// The creation of the watch, missing older events, and the last reopening.
    private var beginning: [TimelineEntry] {
        let watch = watch.watch
        // A reopened watch stores only the time of its reopening. It was created before its first event.
        let isAgain = watch.run > 1
        let began = isAgain ? min(watch.createdAt, events.first?.polledAt ?? watch.createdAt) : nil
        var entries = [
            TimelineEntry(
                began ?? watch.createdAt,
                .created,
                .quiet,
                "The shop started watching this payment.",
                detail: "policy \(watch.policy.name)" + (isAgain ? ", at this time or earlier" : "")
            )
        ]
        if let first = events.first, first.seq > 1 {
            entries.append(
                TimelineEntry(
                    first.polledAt,
                    .look,
                    .quiet,
                    "Older events are no longer stored.",
                    detail: "the newest \(events.count) of \(watch.seq) events"
                )
            )
        }
        if isAgain, !isHinted(watch.createdAt) {
            entries.append(
                TimelineEntry(
                    watch.createdAt,
                    .created,
                    .quiet,
                    watch.reopenedSeq == nil
                        ? "A new request reopened the watch."
                        : "An upstream event reopened the watch.",
                    detail: "run \(watch.run)"
                )
            )
        }
        return entries
    }

    /// The longest time between a hint, its note and the poll it triggers.
    private static let hintSpan = Duration.seconds(5)

    /// Returns whether a hint was noted close to an instant.
    private func isHinted(_ instant: Timestamp) -> Bool {
        notes.contains { kept in
            kept.note.kind == .hint && kept.at <= instant + Self.hintSpan
                && instant <= kept.at + Self.hintSpan
        }
    }

    /// Returns the time of a hint, placed before the poll it triggered: the note may be written after that poll.
    private func arrival(of hint: StoredNote) -> Timestamp {
        let polled = events.first { event in
            event.polledAt <= hint.at && hint.at <= event.polledAt + Self.hintSpan
        }
        return polled?.polledAt ?? hint.at
    }

    /// The error of the last poll.
    private var failure: [TimelineEntry] {
        guard let error = watch.lastError, let at = watch.watch.state.lastPolledAt else {
            return []
        }
        return [
            TimelineEntry(
                at,
                .look,
                watch.closed == .dead ? .bad : .careful,
                "The last poll failed: \(TimelineText.sentence(error))",
                detail: "\(watch.watch.state.attempts) polls in total"
            )
        ]
    }

    private func noteEntries(_ kinds: WatchNote.Kind...) -> [TimelineEntry] {
        notes.filter { kinds.contains($0.note.kind) }.map { kept in
            let note = kept.note
            switch note.kind {
            case .hint:
                return TimelineEntry(
                    arrival(of: kept),
                    .hint,
                    .quiet,
                    "The upstream event “\(note.what)” triggered a poll.",
                    detail: note.by == WatchNote.webhook
                        ? "received by webhook" : "found in the upstream's event list"
                )
            case .visit:
                return TimelineEntry(kept.at, .visit, .quiet, TimelineText.visit(note.what))
            case .deed:
                let by = name(of: note)
                var entry = TimelineEntry(
                    kept.at,
                    .deed,
                    .info,
                    "\(by) \(TimelineText.action(note.what))."
                )
                entry.by = by
                return entry
            }
        }
    }

    /// Returns the name of the caller, hidden when its key covers accounts that the reader may not access.
    private func name(of note: WatchNote) -> String {
        guard let name = note.by else { return "An unknown caller" }
        return accounts.isAll || note.isOfAccount ? name : AuditActor.anotherKey.name
    }
}

extension TimelineEntry {
    init(
        _ at: Timestamp,
        _ kind: Kind,
        _ tone: Tone?,
        _ text: String,
        detail: String? = nil
    ) {
        self.init()
        self.at = Time(at)
        self.kind = Open(kind)
        self.tone = tone.map { Open($0) }
        self.text = text
        self.detail = detail
    }
}
