import Poller
import PollerWire

/// Everything that is known of a payment, in the order in which it was, as a person reads it.
///
/// *Why here*: what became of a payment is in five places, its record, its events, the attempts of its
/// deliveries, the notes beside it, and the orders behind its charges. Who looks for one payment at
/// night should not have to know them, and console, command line and a shop's own page should not tell
/// it in words of their own each.
///
/// *Bounds*: 100 events, 50 notes, 20 attempts a delivery; what is older is gone, and the first entry
/// says so. Nothing is stored for it except the notes (``WatchNote``).
struct Timeline {
    typealias Tone = TimelineEntry.Tone

    /// A delivery with what was tried.
    struct Told {
        let delivery: DeliverySnapshot
        let attempts: [AttemptRecord]
        /// What people call who is told.
        let name: String
        /// Whether it is a person, by mail.
        let isMail: Bool
        /// Whether it is told nothing before somebody enables it.
        let isDisabled: Bool
        /// How it takes what it is sent; nil where nothing waits for it.
        let lane: LaneReport?

        /// Puts together what is known of a delivery.
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
            name = receiver.name ?? StoryWords.place(receiver.url)
        }
    }

    let watch: WatchSnapshot
    let events: [Poller.Event]
    let notes: [KeptNote]
    /// Empty for whoever may not see deliveries.
    let told: [Told]
    /// What the reader may see.
    let accounts: AccountSet

    /// The story; what was at one time stands in the order in which it follows from each other.
    var entries: [TimelineEntry] {
        let all =
            beginning + ofNotes(.hint) + ofEvents + ofNotes(.visit, .deed) + failure
            + told.flatMap(entries)
        let past = all.enumerated().sorted { left, right in
            (left.element.at.ms, left.offset) < (right.element.at.ms, right.offset)
        }.map(\.element)
        let last = past.last.map { Timestamp(ms: $0.at.ms) } ?? watch.watch.createdAt
        return past + ahead(behind: last).sorted { $0.at.ms < $1.at.ms }
    }

    /// The shop's own request, always the first; and that a watch which had ended is followed again.
    private var beginning: [TimelineEntry] {
        let watch = watch.watch
        // Of a watch that is followed again only the new beginning is known: the first was before its
        // first event.
        let isAgain = watch.run > 1
        let began = isAgain ? min(watch.createdAt, events.first?.polledAt ?? watch.createdAt) : nil
        var entries = [
            TimelineEntry(
                began ?? watch.createdAt,
                .created,
                .quiet,
                "The shop asked for this payment to be watched.",
                detail: "policy \(watch.policy.name)" + (isAgain ? ", then or before" : "")
            )
        ]
        if let first = events.first, first.seq > 1 {
            entries.append(
                TimelineEntry(
                    first.polledAt,
                    .look,
                    .quiet,
                    "What was before is not kept any more.",
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
                        ? "It was asked for to be watched again."
                        : "It is followed again, because the upstream told of something.",
                    detail: "for the \(watch.run). time"
                )
            )
        }
        return entries
    }

    /// Between a hint and the note of it, or the look it has caused.
    private static let hintSpan = Duration.seconds(5)

    /// Whether a note tells why something was done at an instant.
    private func isHinted(_ instant: Timestamp) -> Bool {
        notes.contains { kept in
            kept.note.kind == .hint && kept.at <= instant + Self.hintSpan
                && instant <= kept.at + Self.hintSpan
        }
    }

    /// When a hint came: it is noted once the look it asks for may be over, and stands before that.
    private func came(_ hint: KeptNote) -> Timestamp {
        let seen = events.first { event in
            event.polledAt <= hint.at && hint.at <= event.polledAt + Self.hintSpan
        }
        return seen?.polledAt ?? hint.at
    }

    /// Why the last look came to nothing.
    private var failure: [TimelineEntry] {
        guard let error = watch.lastError, let at = watch.watch.state.lastPolledAt else {
            return []
        }
        return [
            TimelineEntry(
                at,
                .look,
                watch.closed == .dead ? .bad : .careful,
                "The last look failed: \(StoryWords.sentence(error))",
                detail: "\(watch.watch.state.attempts) looks in all"
            )
        ]
    }

    private func ofNotes(_ kinds: WatchNote.Kind...) -> [TimelineEntry] {
        notes.filter { kinds.contains($0.note.kind) }.map { kept in
            let note = kept.note
            switch note.kind {
            case .hint:
                return TimelineEntry(
                    came(kept),
                    .hint,
                    .quiet,
                    "The upstream told of “\(note.what)”, so it was looked at.",
                    detail: note.by == WatchNote.webhook
                        ? "by a webhook" : "found in its list of events"
                )
            case .visit:
                return TimelineEntry(kept.at, .visit, .quiet, StoryWords.visit(note.what))
            case .deed:
                let by = name(of: note)
                var entry = TimelineEntry(
                    kept.at,
                    .deed,
                    .info,
                    "\(by) \(StoryWords.deed(note.what))."
                )
                entry.by = by
                return entry
            }
        }
    }

    /// Who may see some accounts only is told no name of a key that may see others.
    private func name(of note: WatchNote) -> String {
        guard let name = note.by else { return "Somebody" }
        return accounts.isAll || note.isOfAccount ? name : AuditActor.somebodyElse.name
    }
}

extension TimelineEntry {
    /// An entry with what every one has.
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
