import Metrics
import PollerIdentity
import PollerQueue
import Synchronization

/// Marks one event for many endpoints, segment by segment.
///
/// *Problem*: an event for 10,000 endpoints is marked for a good while. A notifier that died over it was
/// followed by one that began at nought, and one that was slow beyond five seconds by others that did the
/// same beside it.
///
/// *Approach*: the endpoints stand in an order that does not hang on who is among them
/// (``FanOutPosition``). A segment of it is marked, then its end is stored beside the entry, and the entry
/// held by the same operation; the last segment's end is the acknowledgement. Whoever takes the entry over goes
/// on behind the position, and whoever has lost it hears so with its next segment and stops.
///
/// *Order*: marks, position, acknowledgement. A crash between the first two marks one segment again. Where a
/// failover loses marks whose position is stored, ``MarkRepair`` makes them again as it does for those of
/// entries that are acknowledged: until then the entry is not settled.
///
/// *A shard that is away* holds up the endpoints whose deliveries lie there, and no others: all that is left is marked
/// at once where that goes, no position is stored behind what is not, and the entry stays unacknowledged. Whoever goes
/// on with it marks from there again, and who has left it does so after a while only (``LeftFanOuts``).
///
/// *Rejected*: marks and position in one operation (they are in different slots of a Redis Cluster); a task
/// for each endpoint or segment in the store (as many writes again as there are marks).
struct FanOut {
    /// Endpoints marked before it is stored how far that has come: two scripts or three, some 5 ms of
    /// Redis; the next one to go on repeats no more than these.
    static var segmentMax: Int { 512 }

    private let entry: OutboxEntry
    private let audience: Audience
    /// Those that are told without being registered, in the first segment; they are few.
    private let inline: [DeliveryMark]
    private let start: FanOutPosition?

    /// Goes on behind a position, or begins.
    init(
        _ entry: OutboxEntry,
        to audience: Audience,
        operators: [NotifyURL],
        after start: FanOutPosition?
    ) {
        self.entry = entry
        self.audience = audience
        self.start = start
        inline = start == nil ? entry.inlineMarks(operators) : []
    }

    /// What came of it.
    enum Outcome {
        /// All are marked.
        case marked
        /// Those that could be; the others are to be marked when their place in the store answers.
        case left(StoreError)
        /// It was cancelled, or another reader has the entry.
        case stopped
    }

    /// Marks all that are left.
    func run<Events: Outbox, C: Clock>(
        in deliveries: some DeliveryQueue,
        holding held: inout PendingEntries<Events, C>
    ) async throws(StoreError) -> Outcome where C.Duration == Duration {
        // The last segment of the entry before has not done it.
        try await held.renew()
        var first = inline
        var position = start
        while true {
            let segment = audience.next(Self.segmentMax, after: position)
            let unstored = await deliveries.markAndCountReachable(
                first + entry.marks(segment, isUrgent: false)
            )
            guard !Task.isCancelled else { return .stopped }
            if let failure = unstored.failure {
                // No segments: nothing is stored of them, and each might wait for the same shard.
                let rest = segment.last.map { audience.next(.max, after: $0) } ?? []
                _ = await deliveries.markAndCountReachable(entry.marks(rest, isUrgent: false))
                return .left(failure)
            }
            guard let last = segment.last, segment.count == Self.segmentMax else { return .marked }
            guard try await held.reach(last, of: entry) else { return .stopped }
            (first, position) = ([], last)
        }
    }
}

/// The events for many that a reader has left lately, and leaves again without marking anything.
///
/// *Problem*: no position is stored behind what could not be marked, so an entry that comes back after five seconds is
/// marked from there on again, also where all is marked; by every notifier, for as long as a shard is away.
///
/// *Approach*: who has left an entry remembers it for as long as nobody asks a place that is away (`PlacesAway`).
///
/// A class, because partitions are read beside each other.
final class LeftFanOuts<C: Clock>: Sendable where C.Duration == Duration, C.Instant: Sendable {
    /// Until when an entry is left, and why.
    private struct Left: Sendable {
        let end: C.Instant
        let failure: StoreError
    }

    /// How long an entry is left.
    private static var span: Duration { .seconds(15) }
    /// Entries remembered; of more the oldest are marked again as they come.
    private static var countMax: Int { 1000 }

    private let left = Mutex<[OutboxPlace: Left]>([:])

    /// Remembers that an entry was left.
    func leave(_ entry: OutboxEntry, because failure: StoreError, at now: C.Instant) {
        let place = OutboxPlace(partition: entry.partition, position: entry.id)
        let end = now.advanced(by: Self.span)
        left.withLock { left in
            left[place] = Left(end: end, failure: failure)
            guard left.count > Self.countMax else { return }
            if let oldest = left.min(by: { $0.value.end < $1.value.end }) { left[oldest.key] = nil }
        }
    }

    /// Why an entry was left that is to be left again; nil for one that is to be marked.
    func failure(of entry: OutboxEntry, at now: C.Instant) -> StoreError? {
        let place = OutboxPlace(partition: entry.partition, position: entry.id)
        return left.withLock { left in
            guard let known = left[place] else { return nil }
            if known.end > now { return known.failure }
            left[place] = nil
            return nil
        }
    }
}

/// The entries of a batch that a reader has still to deal with, which nobody else may take for abandoned.
struct PendingEntries<Events: Outbox, C: Clock> where C.Duration == Duration {
    /// So often a reader says that it is still at work on its batch.
    static var pace: Duration { .seconds(1) }

    private let outbox: Events
    private let partition: Int
    private let consumer: OwnerID
    private let clock: C
    private var left: [String]
    private var next: C.Instant

    /// The entries with these ids, which were read just now.
    init(
        _ ids: [String],
        partition: Int,
        in outbox: Events,
        consumer: OwnerID,
        clock: C
    ) {
        self.outbox = outbox
        self.partition = partition
        self.consumer = consumer
        self.clock = clock
        left = ids
        next = clock.now.advanced(by: Self.pace)
    }

    /// Whether an entry is ours, as far as we know.
    func has(_ entry: OutboxEntry) -> Bool { has(entry.id) }

    /// Whether the entry with this id is ours, as far as we know.
    func has(_ id: String) -> Bool { left.contains(id) }

    /// Says that we are at work on them, when it is time for that.
    mutating func renew() async throws(StoreError) {
        guard clock.now >= next else { return }
        try await hold(left.map { PendingEntry($0) })
    }

    /// Says how far marking an entry has come; false when another reader has it.
    mutating func reach(
        _ position: FanOutPosition,
        of entry: OutboxEntry
    ) async throws(StoreError) -> Bool {
        let others = clock.now >= next ? left.filter { $0 != entry.id } : []
        try await hold([PendingEntry(entry.id, at: position)] + others.map { PendingEntry($0) })
        return has(entry)
    }

    /// Marks entries as dealt with.
    mutating func acknowledge(_ entries: [OutboxEntry]) async throws(StoreError) {
        guard !entries.isEmpty else { return }
        let done = entries.map(\.id)
        try await outbox.acknowledge(partition: partition, done)
        left.removeAll(where: done.contains)
    }

    private mutating func hold(_ entries: [PendingEntry]) async throws(StoreError) {
        let lost = try await outbox.hold(partition: partition, consumer: consumer, entries)
        if entries.count >= left.count { next = clock.now.advanced(by: Self.pace) }
        left.removeAll(where: lost.contains)
    }
}

extension DeliveryQueue {
    /// Marks what can be marked, and counts that for operators.
    func markAndCountReachable(_ marks: [DeliveryMark]) async -> UnstoredMarks {
        guard !marks.isEmpty else { return UnstoredMarks() }
        let unstored = await markReachable(marks)
        let count = marks.count - unstored.marks.count
        if count > 0 { Counter(label: "poller_delivery_marks_total").increment(by: count) }
        return unstored
    }
}

extension OutboxEntry {
    /// An event for more endpoints than this hurries for none of them, or thousands of one account would stand
    /// before the one of another.
    static var urgentMax: Int { 16 }

    /// The deliveries to those who are not registered: the URLs of the watch, and of what tells of the cluster
    /// also the operators of the configuration.
    func inlineMarks(_ operators: [NotifyURL]) -> [DeliveryMark] {
        (event.isForOperators ? notify + operators : notify).map {
            DeliveryMark(url: $0, watch: event.key)
        }
    }

    /// The deliveries to registered endpoints.
    func marks(_ endpoints: [FanOutPosition], isUrgent: Bool) -> [DeliveryMark] {
        endpoints.map { DeliveryMark(endpoint: $0.endpoint, watch: event.key, isUrgent: isUrgent) }
    }
}
