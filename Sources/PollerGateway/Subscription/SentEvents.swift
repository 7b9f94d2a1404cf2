import PollerIdentity
import PollerQueue
import PollerWatches

/// The events that a subscription has sent, as far as they matter for later ones.
///
/// *Problem*: the catch-up and the feed overlap, and an event must not be sent twice. The number alone does not
/// identify an event. After a failover that has lost an event, another event has its number.
///
/// *Approach*: the digests of the last events are kept with their numbers (``Event/digest``). If one was not kept, the
/// log of the watch decides (``CatchUp``). Either it still has the last sent event, or it is another sequence of
/// events.
struct SentEvents: Sendable {
    /// The relation of an event to the sent ones.
    enum SendState: Hashable, Sendable {
        case unsent
        case sent
        /// An event with its number was sent, but its digest was not kept.
        case unclear
    }

    /// The events covered by a snapshot or a log, by watch.
    private var prefixes: [ItemID: SentPrefix] = [:]
    /// The named sources reported as settled, or found to be settled.
    private(set) var settled: Set<SourceID> = []
    /// The sources with a closed watch that are settled if their other watches are closed too.
    ///
    /// A catch-up reads those (``CatchUp``).
    private(set) var ending: Set<SourceID> = []

    /// Returns the sent events of a watch, or `nil` if there are none.
    func prefix(of watch: ItemID) -> SentPrefix? { prefixes[watch] }

    /// Records that all events of a watch up to a number were sent.
    ///
    /// `digest` identifies the last one, if known.
    mutating func markSent(_ watch: ItemID, upTo seq: Int, digest: String?) {
        prefixes[watch] = SentPrefix(seq: seq, digest: digest)
    }

    /// Forgets the sent events of a watch, because the log no longer has them.
    mutating func forget(_ watch: ItemID) {
        prefixes[watch] = nil
    }

    /// Returns whether an event was sent.
    func sendState(of event: PollerWatches.Event) -> SendState {
        guard let prefix = prefixes[event.key.id], event.seq <= prefix.seq else { return .unsent }
        guard let digest = prefix.digest(of: event.seq) else { return .unclear }
        return digest == event.digest ? .sent : .unsent
    }

    /// Whether it is known here if an event was sent and if its source is settled.
    ///
    /// Otherwise the store must be read.
    func isClear(_ event: PollerWatches.Event, _ subscription: Subscription) -> Bool {
        switch sendState(of: event) {
        case .sent: true
        case .unclear: false
        case .unsent: event.closed == nil || !subscription.mayBeOfSeveral(event)
        }
    }

    /// Records an event, and returns whether to send it and whether its source is now settled.
    ///
    /// Both are `false` if it was sent before. A source that may have several watches is only noted in ``ending``.
    mutating func take(
        _ event: PollerWatches.Event,
        _ subscription: Subscription
    ) -> (shouldSend: Bool, isSettled: Bool) {
        guard sendState(of: event) == .unsent else { return (false, false) }
        note(event, isKept: subscription.watch != nil)
        let isIncluded = subscription.includes(event)
        guard event.closed != nil else {
            settled.remove(event.key.source)
            return (isIncluded, false)
        }
        // Only the ends of named sources are needed later. Those of all sources would add up with every payment.
        guard subscription.sources != nil else { return (isIncluded, isIncluded) }
        guard !subscription.mayBeOfSeveral(event) else {
            ending.insert(event.key.source)
            return (isIncluded, false)
        }
        settled.insert(event.key.source)
        return (isIncluded, true)
    }

    /// Records whether all watches of a source in ``ending`` were found closed.
    ///
    /// With an open one it is not ending, because the last event of that watch will follow.
    mutating func note(_ source: SourceID, isSettled: Bool) {
        if isSettled {
            settled.insert(source)
        } else {
            settled.remove(source)
            ending.remove(source)
        }
    }

    /// Returns the sources that have ended, each once.
    ///
    /// A source whose watch was opened again after ``note(_:isSettled:)`` stays in ``ending``.
    mutating func takeEnded() -> Set<SourceID> {
        let ended = ending.intersection(settled)
        ending.subtract(ended)
        return ended
    }

    /// Returns the position in the log of the one watch.
    func mark(_ subscription: Subscription) -> LiveCursor.Mark? {
        subscription.watch.flatMap { watch in
            prefixes[watch.id].map { prefix in
                LiveCursor.Mark(
                    watch: watch.id,
                    seq: prefix.seq,
                    digest: prefix.digest(of: prefix.seq)
                )
            }
        }
    }

    private mutating func note(_ event: PollerWatches.Event, isKept: Bool) {
        let watch = event.key.id
        if isKept {
            prefixes[watch, default: SentPrefix(seq: 0, digest: nil)].append(event)
        } else if let prefix = prefixes[watch], event.seq <= prefix.seq {
            // A snapshot of another sequence of events does not cover this event.
            prefixes[watch] = nil
        }
    }
}

/// The sent events of one watch: all up to a number, with the digests of the last ones.
struct SentPrefix: Hashable, Sendable {
    /// The maximum of kept digests.
    ///
    /// Few payments have more events.
    private static let digestsMax = 16

    private(set) var seq: Int
    /// The digests of the last events, newest last.
    ///
    /// Empty if the newest is unknown.
    private var digests: [String]

    /// Creates a run up to a number, with the digest of that event.
    init(seq: Int, digest: String?) {
        self.seq = seq
        digests = digest.map { [$0] } ?? []
    }

    /// Returns the digest of the event with a number, or `nil` if unknown.
    func digest(of number: Int) -> String? {
        let index = digests.count - 1 - (seq - number)
        return digests.indices.contains(index) ? digests[index] : nil
    }

    /// Records the next event, or the first one of another sequence.
    mutating func append(_ event: PollerWatches.Event) {
        let isNext = event.seq == seq + 1
        digests = (isNext ? Array(digests.suffix(Self.digestsMax - 1)) : []) + [event.digest]
        seq = event.seq
    }
}
