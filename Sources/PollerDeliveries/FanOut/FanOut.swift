import Metrics
import PollerIdentity
import PollerQueue
import PollerWatches
import Synchronization

/// Marks one event for many endpoints, segment by segment.
///
/// *Problem*: marking an event for 10,000 endpoints takes a while. If the notifier died, its successor started from the
/// beginning. If it took longer than five seconds, other notifiers did the same work concurrently.
///
/// *Approach*: the endpoints have an order that does not depend on the set of endpoints (``FanOutPosition``). A segment
/// of it is marked. Then its end is stored with the entry, and the same operation renews the claim on the entry. The
/// end of the last segment is the acknowledgement. A reader that takes over the entry continues after the position, and
/// a reader that has lost it learns so with its next segment and stops.
///
/// *Order*: marks, position, acknowledgement. A crash between the first two marks one segment again. If a failover
/// loses marks whose position is stored, ``MarkRepair`` restores them like those of acknowledged entries: until then
/// the entry is not settled.
///
/// *An unavailable shard* delays only the endpoints with deliveries on it. All remaining endpoints are marked at once
/// where possible, no position is stored after an unmarked one, and the entry stays unacknowledged. A reader that
/// continues marks from there again, and the reader that deferred the entry does so only after a while
/// (``DeferredFanOuts``).
///
/// *Rejected*: marks and position in one operation, because they are in different slots of a Redis Cluster; a task in
/// the store for each endpoint or segment, because it doubles the writes.
struct FanOut {
    /// The number of endpoints that are marked before the position is stored: two or three scripts, about 5 ms of
    /// Redis; a successor repeats no more than these.
    static var segmentMax: Int { 512 }

    private let entry: OutboxEntry
    private let audience: Audience
    /// The recipients that are not registered, in the first segment; they are few.
    private let inline: [DeliveryMark]
    private let start: FanOutPosition?

    /// Starts after a position, or at the beginning.
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

    /// The result of marking.
    enum Outcome {
        /// All endpoints are marked.
        case marked
        /// All reachable endpoints are marked; the others follow when their shard answers.
        case pending(StoreError)
        /// Cancelled, or another reader holds the entry.
        case stopped
    }

    /// Marks all remaining endpoints.
    func run<Events: Outbox, C: Clock>(
        in deliveries: some DeliveryQueue,
        holding held: inout PendingEntries<Events, C>
    ) async throws(StoreError) -> Outcome where C.Duration == Duration {
        // The last segment of the previous entry has not renewed it.
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
                // No segments: no position is stored, and each segment might wait for the same shard.
                let rest = segment.last.map { audience.next(.max, after: $0) } ?? []
                _ = await deliveries.markAndCountReachable(entry.marks(rest, isUrgent: false))
                return .pending(failure)
            }
            guard let last = segment.last, segment.count == Self.segmentMax else { return .marked }
            guard try await held.reach(last, of: entry) else { return .stopped }
            (first, position) = ([], last)
        }
    }
}

/// The entries for many endpoints that a reader deferred recently, and defers again without marking.
///
/// *Problem*: no position is stored after an unmarked endpoint. While a shard is unavailable, every notifier would mark
/// such an entry again from that position every five seconds, even if the rest is marked.
///
/// *Approach*: a reader remembers a deferred entry for as long as an unavailable shard is not requested
/// (`UnreachablePartitions`).
final class DeferredFanOuts<C: Clock>: Sendable where C.Duration == Duration, C.Instant: Sendable {
    /// The end of the deferral, and its reason.
    private struct Deferral: Sendable {
        let end: C.Instant
        let failure: StoreError
    }

    /// The duration of a deferral.
    private static var span: Duration { .seconds(15) }
    /// The maximum number of remembered entries; the oldest are dropped and marked again.
    private static var countMax: Int { 1000 }

    private let pending = Mutex<[OutboxReadPosition: Deferral]>([:])

    /// Defers an entry.
    func postpone(_ entry: OutboxEntry, because failure: StoreError, at now: C.Instant) {
        let cursor = OutboxReadPosition(partition: entry.partition, position: entry.id)
        let end = now.advanced(by: Self.span)
        pending.withLock { pending in
            pending[cursor] = Deferral(end: end, failure: failure)
            guard pending.count > Self.countMax else { return }
            if let oldest = pending.min(by: { $0.value.end < $1.value.end }) {
                pending[oldest.key] = nil
            }
        }
    }

    /// Returns why an entry is still deferred; `nil` for one that must be marked.
    func failure(of entry: OutboxEntry, at now: C.Instant) -> StoreError? {
        let cursor = OutboxReadPosition(partition: entry.partition, position: entry.id)
        return pending.withLock { pending in
            guard let known = pending[cursor] else { return nil }
            if known.end > now { return known.failure }
            pending[cursor] = nil
            return nil
        }
    }
}

/// The unfinished entries of a batch, whose claim the reader renews so that no other reader takes them over.
struct PendingEntries<Events: Outbox, C: Clock> where C.Duration == Duration {
    /// The interval at which a reader renews its batch.
    static var pace: Duration { .seconds(1) }

    private let outbox: Events
    private let partition: Int
    private let consumer: OwnerID
    private let clock: C
    private var pending: Set<String>
    private var next: C.Instant

    /// Creates a value for entries that were just read.
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
        pending = Set(ids)
        next = clock.now.advanced(by: Self.pace)
    }

    /// Whether this reader still holds an entry, as far as known.
    func has(_ entry: OutboxEntry) -> Bool { has(entry.id) }

    /// Whether this reader still holds the entry with this ID, as far as known.
    func has(_ id: String) -> Bool { pending.contains(id) }

    /// Renews the claim on the entries when it is due.
    mutating func renew() async throws(StoreError) {
        guard clock.now >= next else { return }
        try await hold(pending.map { PendingEntry($0) })
    }

    /// Stores the position in an entry; false when another reader holds it.
    mutating func reach(
        _ position: FanOutPosition,
        of entry: OutboxEntry
    ) async throws(StoreError) -> Bool {
        let others = clock.now >= next ? pending.filter { $0 != entry.id } : []
        try await hold([PendingEntry(entry.id, at: position)] + others.map { PendingEntry($0) })
        return has(entry)
    }

    /// Acknowledges finished entries.
    mutating func acknowledge(_ entries: [OutboxEntry]) async throws(StoreError) {
        guard !entries.isEmpty else { return }
        let done = entries.map(\.id)
        try await outbox.acknowledge(partition: partition, done)
        pending.subtract(done)
    }

    private mutating func hold(_ entries: [PendingEntry]) async throws(StoreError) {
        let lost = try await outbox.hold(partition: partition, consumer: consumer, entries)
        if entries.count >= pending.count { next = clock.now.advanced(by: Self.pace) }
        pending.subtract(lost)
    }
}

extension DeliveryQueue {
    /// Marks all reachable endpoints, and counts the marks in a metric.
    func markAndCountReachable(_ marks: [DeliveryMark]) async -> UnstoredMarks {
        guard !marks.isEmpty else { return UnstoredMarks() }
        let unstored = await markReachable(marks)
        let count = marks.count - unstored.marks.count
        if count > 0 { Counter(label: "poller_delivery_marks_total").increment(by: count) }
        return unstored
    }
}

extension OutboxEntry {
    /// The number of recipients above which an event is urgent for none of them.
    ///
    /// Otherwise thousands of one account would be served before the only one of another.
    static var urgentMax: Int { 16 }

    /// Returns the deliveries to unregistered recipients: the URLs of the watch, and for events about the cluster also
    /// the operators of the configuration.
    func inlineMarks(_ operators: [NotifyURL]) -> [DeliveryMark] {
        (event.isForOperators ? notify + operators : notify).map {
            DeliveryMark(url: $0, watch: event.key)
        }
    }

    /// Returns the deliveries to registered endpoints.
    func marks(_ endpoints: [FanOutPosition], isUrgent: Bool) -> [DeliveryMark] {
        endpoints.map { DeliveryMark(endpoint: $0.endpoint, watch: event.key, isUrgent: isUrgent) }
    }
}
