import Poller
import PollerIdentity
import PollerQueue

/// What a subscription has told, as far as that decides about what comes next.
///
/// *Problem*: what was read back and what the feed hands out overlap, and an event must not be told twice; but a
/// number alone does not say whether it was told. After a failover that has lost an event, another one has its number.
/// *Approach*: the beginnings of ids stand beside the numbers (``EventID/digest``). Where one was not kept, the log of
/// the watch decides (``CatchUp``): it still has what was told last, or it is another line of events.
struct ToldEvents: Sendable {
    /// How an event stands to what was told.
    enum Standing: Hashable, Sendable {
        case news
        case told
        /// Its number was told, and not kept of which event.
        case unclear
    }

    /// What a snapshot or a history has already told, by watch.
    private var runs: [ItemID: ToldRun] = [:]
    /// Told to be settled.
    private(set) var settled: Set<SourceID> = []

    /// What was told of a watch; nil when that is nothing.
    func run(of watch: ItemID) -> ToldRun? { runs[watch] }

    /// Takes what was told of a watch otherwise: all up to a number, of which the last is this event where that is
    /// known.
    mutating func know(_ watch: ItemID, upTo seq: Int, digest: String?) {
        runs[watch] = ToldRun(seq: seq, digest: digest)
    }

    /// What was told of a watch is no longer what is on record.
    mutating func forget(_ watch: ItemID) {
        runs[watch] = nil
    }

    /// Whether an event was told.
    func standing(of event: Poller.Event) -> Standing {
        guard let run = runs[event.key.id], event.seq <= run.seq else { return .news }
        guard let digest = run.digest(of: event.seq) else { return .unclear }
        return digest == event.id.digest ? .told : .news
    }

    /// Takes an event in: whether it is to be told, and whether its source is settled with it.
    ///
    /// Neither when it has been told already.
    mutating func take(
        _ event: Poller.Event,
        _ subscription: Subscription
    ) -> (isTold: Bool, isSettled: Bool) {
        guard standing(of: event) == .news else { return (false, false) }
        note(event, isKept: subscription.watch != nil)
        let isWanted = subscription.wants(event)
        guard event.closed != nil else {
            settled.remove(event.key.source)
            return (isWanted, false)
        }
        guard isWanted || subscription.sources != nil else { return (isWanted, false) }
        settled.insert(event.key.source)
        return (isWanted, true)
    }

    /// The place in the history of the one watch.
    func mark(_ subscription: Subscription) -> LiveCursor.Mark? {
        subscription.watch.flatMap { watch in
            runs[watch.id].map { run in
                LiveCursor.Mark(watch: watch.id, seq: run.seq, digest: run.digest(of: run.seq))
            }
        }
    }

    private mutating func note(_ event: Poller.Event, isKept: Bool) {
        let watch = event.key.id
        if isKept {
            runs[watch, default: ToldRun(seq: 0, digest: nil)].append(event)
        } else if let run = runs[watch], event.seq <= run.seq {
            // What a snapshot said of another line of events says nothing of this one.
            runs[watch] = nil
        }
    }
}

/// What was told of one watch: everything up to a number, and of the last ones which they were.
struct ToldRun: Hashable, Sendable {
    /// More than a payment has events: of those before nothing is kept.
    private static let digestsMax = 16

    private(set) var seq: Int
    /// Of the last ones, newest last; empty where nothing is known of the newest.
    private var digests: [String]

    /// Everything up to a number, whose event begins so.
    init(seq: Int, digest: String?) {
        self.seq = seq
        digests = digest.map { [$0] } ?? []
    }

    /// How the id of the event of a number begins; nil where that is not known.
    func digest(of number: Int) -> String? {
        let index = digests.count - 1 - (seq - number)
        return digests.indices.contains(index) ? digests[index] : nil
    }

    /// An event was told: the next one, or one that is the beginning of another line.
    mutating func append(_ event: Poller.Event) {
        let isNext = event.seq == seq + 1
        digests = (isNext ? Array(digests.suffix(Self.digestsMax - 1)) : []) + [event.id.digest]
        seq = event.seq
    }
}
