package import Logging
import ServiceLifecycle
import Synchronization

/// Makes marks again that a shard of deliveries may have lost after they were acknowledged.
///
/// *Problem*: in a Cluster an event is recorded on one master, its delivery marked on another, and
/// the outbox entry acknowledged on the first. When the second fails over without the mark, nobody
/// would look at the entry again: the end of a payment would never be told. (One Redis alone loses
/// the acknowledgement first, as it came later.)
///
/// *Approach*: every five seconds each partition of deliveries is noted to have all marks of events
/// before an instant: the oldest entry of any outbox that is not acknowledged. The note lies beside
/// the marks and names the history its server writes. When the server writes another one, all that
/// the outboxes hold since the note is marked again: at once, and once more when a master that was
/// cut off has noticed as well. Marking is idempotent, a delivery with nothing to tell rests again.
///
/// *Rejected*: hearing of failovers from the connection (a notifier that starts after one has heard
/// nothing). A fixed span back (a replica may be behind by any time, an entry old when it was marked).
///
/// *A crash* between marks and note makes the marks once more. Each notifier looks at the
/// partitions that are its own; two at work on the same do no harm.
///
/// A class, because the roster tells it its partitions while it runs.
package final class MarkRepair<Events: Outbox, Deliveries, C: Clock>: Service
where Deliveries: DeliveryQueue & MarkLedger, C.Duration == Duration, C.Instant: Sendable {
    /// How often partitions are looked at, and how much an unhurt one is noted behind: what is
    /// marked again after a failover.
    private static var interval: Duration { .seconds(5) }
    /// A master that was cut off may acknowledge marks until its own timeout ends it (15 s by
    /// default): what it took is marked again after this.
    private static var settling: Duration { .seconds(30) }
    /// The clocks of two masters, whose instants are compared, may differ by so much.
    private static var slack: Duration { .seconds(60) }
    /// Entries read at a time, for some milliseconds.
    private static var batch: Int { 500 }
    /// Marks made at a time, likewise.
    private static var marksMax: Int { 1000 }

    /// What the lock guards: the partitions that are ours, and what was repaired in them.
    private struct State: Sendable {
        var partitions: Set<Int> = []
        /// The partitions whose marks were made again once, in which history and when.
        var repaired: [Int: (history: String, at: C.Instant)] = [:]
    }

    private let outbox: Events
    private let deliveries: Deliveries
    private let directory: EndpointDirectory?
    private let clock: C
    private let logger: Logger
    private let state = Mutex(State())

    /// Repairs what `outbox` and `directory` say must be marked in `deliveries`.
    package init(
        outbox: Events,
        deliveries: Deliveries,
        directory: EndpointDirectory? = nil,
        clock: C,
        logger: Logger
    ) {
        self.outbox = outbox
        self.deliveries = deliveries
        self.directory = directory
        self.clock = clock
        self.logger = logger
    }

    /// These partitions are ours to look at.
    package func own(_ partitions: Set<Int>) {
        state.withLock { $0.partitions = partitions }
    }

    /// Looks until shut down.
    package func run() async {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do throws(StoreError) {
                    try await self.look()
                } catch {
                    // The next look does what this one could not.
                    self.logger.debug("marks not looked at", metadata: ["error": "\(error)"])
                }
                // Cancelled: the loop's condition ends it.
                try? await self.clock.sleep(for: Self.interval)
            }
        }
    }

    private func look() async throws(StoreError) {
        var standings: [Int: MarkStanding] = [:]
        for partition in state.withLock(\.partitions) {
            standings[partition] = try await deliveries.standing(partition: partition)
        }
        guard !standings.isEmpty else { return }
        // After the standings: whatever is acknowledged by now was marked in these histories, or in
        // those before them, whose loss is dealt with first.
        var whole = Timestamp(ms: .max)
        for partition in 0..<outbox.partitions {
            whole = min(whole, try await outbox.settled(partition: partition))
        }
        let now = clock.now
        var mended: Set<Int> = []
        var lost: [Int: MarkStanding] = [:]
        for (partition, standing) in standings where !standing.isWhole {
            let first = state.withLock { $0.repaired[partition] }
            if let first, first.history == standing.history {
                guard first.at.advanced(by: Self.settling) <= now else { continue }
                mended.insert(partition)
            }
            lost[partition] = standing
        }
        if !lost.isEmpty { try await markAgain(lost) }
        for (partition, standing) in standings {
            if standing.isWhole || mended.contains(partition) {
                try await deliveries.note(
                    partition: partition,
                    whole: whole,
                    in: standing.history
                )
                state.withLock { $0.repaired[partition] = nil }
            } else if lost[partition] != nil {
                state.withLock { $0.repaired[partition] = (standing.history, now) }
            }
        }
    }

    /// Marks all that the outboxes hold since these partitions were last known to be whole.
    private func markAgain(_ lost: [Int: MarkStanding]) async throws(StoreError) {
        let since = lost.values.map(\.whole).min() ?? Timestamp(ms: 0)
        let start = max(since.ms - Self.slack.ms - 1, 0)
        var count = 0
        for partition in 0..<outbox.partitions {
            var position = "\(start)"
            while true {
                let entries = try await outbox.entries(
                    partition: partition,
                    after: position,
                    limit: Self.batch
                )
                // After the entries were read: whoever registered before them is known then.
                try await directory?.refresh()
                var marks: Set<DeliveryMark> = []
                for entry in entries {
                    let audience = directory?.interested(in: entry.event) ?? .nobody
                    let isUrgent = !audience.isMore(than: OutboxEntry.urgentMax)
                    var segment = entry.inlineMarks(directory?.operators ?? [])
                    var position: FanOutPosition?
                    repeat {
                        let next = audience.next(Self.marksMax, after: position)
                        position = next.last
                        segment += entry.marks(next, isUrgent: isUrgent)
                        marks.formUnion(segment.filter { isLost($0, lost) })
                        segment = []
                        if marks.count >= Self.marksMax { try await mark(&marks, &count) }
                    } while position != nil
                }
                try await mark(&marks, &count)
                guard entries.count >= Self.batch, let last = entries.last else { break }
                position = last.id
            }
        }
        logger.warning(
            "another server serves deliveries: they are marked again",
            metadata: [
                "partitions": "\(lost.keys.sorted())", "since": "\(since)", "marks": "\(count)",
            ]
        )
    }

    private func isLost(_ mark: DeliveryMark, _ lost: [Int: MarkStanding]) -> Bool {
        lost[deliveries.partition(of: LaneID(endpoint: mark.endpoint))] != nil
    }

    private func mark(
        _ marks: inout Set<DeliveryMark>,
        _ count: inout Int
    ) async throws(StoreError) {
        try await deliveries.markAndCount(Array(marks))
        count += marks.count
        marks = []
    }
}

/// Tells whether a store of deliveries may have lost marks that were acknowledged.
///
/// The server of a partition writes one history: another one begins when a replica takes over and
/// when the server starts again, and may lack what the one before acknowledged last. What is noted
/// here is written where the marks are, so it is lost no later than they are.
package protocol MarkLedger: Sendable {
    /// The partition of a lane of deliveries.
    func partition(of lane: LaneID) -> Int

    /// How the marks of a partition stand.
    func standing(partition: Int) async throws(StoreError) -> MarkStanding

    /// Notes that in `history` every event is marked that was recorded before `whole`; does
    /// nothing once another history has begun.
    func note(partition: Int, whole: Timestamp, in history: String) async throws(StoreError)
}

/// How the marks of a partition stand.
package struct MarkStanding: Hashable, Sendable {
    /// The name of the history that the server writes now; empty when it tells none.
    package let history: String
    /// That of the last note; nil before the first one, and then nothing is known to be missing.
    package let noted: String?
    /// Every event recorded before it was marked when the note was made.
    package let whole: Timestamp

    /// Describes a standing.
    package init(history: String, noted: String?, whole: Timestamp) {
        self.history = history
        self.noted = noted
        self.whole = whole
    }

    /// Whether nothing can have been lost since the note.
    var isWhole: Bool { noted == nil || noted == history }
}
