package import Logging
package import PollerIdentity
package import PollerQueue
import PollerWatches
import ServiceLifecycle
import Synchronization

/// Restores acknowledged marks that a shard of deliveries may have lost.
///
/// *Problem*: in a Cluster an event is recorded on one master, its delivery is marked on another, and the outbox entry
/// is acknowledged on the first. If the second fails over without the mark, no reader would process the entry again,
/// and the end of a payment would never be delivered. (A single Redis loses the acknowledgement first, because it is
/// newer.)
///
/// *Approach*: every five seconds each partition of deliveries stores an instant before which all events are marked:
/// the oldest unacknowledged entry of any outbox. This watermark is stored with the marks and names the history of its
/// server. When the server has another history, everything in the outboxes since the watermark is marked again: at
/// once, and once more when a master that was cut off has noticed it as well. Marking is idempotent, and a delivery
/// without pending events rests again.
///
/// *Rejected*: detecting failovers by the connection, because a notifier that starts after one does not notice it; a
/// fixed span back, because a replica may lag by any time, and an entry may be old when it is marked.
///
/// *An empty server* has lost the watermark with the marks. A process that has read the watermark before notices that,
/// and everything in the outboxes is marked again. A new store has none either, so a process that has not read one
/// cannot tell.
///
/// *An unavailable shard* delays only what needs it. Its partitions are checked when they answer. While an outbox is
/// unreadable no watermark is stored, because it may contain unmarked entries. The entries of the others are marked
/// again meanwhile, once, and the round ends when the missing outbox was read.
///
/// *A crash* between marks and watermark repeats the marks. Each notifier checks its own partitions; two notifiers on
/// the same partition do no harm.
///
/// A class, because the heartbeat changes its partitions while it runs.
package final class MarkRepair<Events: Outbox, Deliveries, C: Clock>: Service
where Deliveries: DeliveryQueue & MarkWatermarkStore, C.Duration == Duration, C.Instant: Sendable {
    /// The interval of checks, and the lag of a healthy partition's watermark: the span that is marked again after a
    /// failover.
    private static var interval: Duration { .seconds(5) }
    /// The wait before the second round.
    ///
    /// A master that was cut off may acknowledge marks until its own timeout (15 s by default).
    private static var settling: Duration { .seconds(30) }
    /// The tolerated difference between the clocks of two masters, whose instants are compared.
    private static var slack: Duration { .seconds(60) }
    /// The number of entries read at a time, which takes some milliseconds.
    private static var batch: Int { 500 }
    /// The number of marks made at a time, for the same reason.
    private static var marksMax: Int { 1000 }

    /// The progress of the repair of a partition.
    private struct Repair: Sendable {
        let history: String
        /// The outboxes that were read in this round.
        var read: Set<Int> = []
        /// The end of the first round; `nil` during it.
        var first: C.Instant?
    }

    /// The state under the lock: the partitions of this process, their repairs, and those with a watermark.
    private struct State: Sendable {
        var partitions: Set<Int> = []
        var repairs: [Int: Repair] = [:]
        /// The partitions whose watermark was read.
        var noted: Set<Int> = []
    }

    private let outbox: Events
    private let deliveries: Deliveries
    private let directory: EndpointDirectory?
    private let clock: C
    private let logger: Logger
    private let state = Mutex(State())

    /// Creates a service that restores the marks in `deliveries` for the events in `outbox` and the endpoints of
    /// `directory`.
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

    /// Sets the partitions of this process.
    package func assign(_ partitions: Set<Int>) {
        state.withLock { $0.partitions = partitions }
    }

    /// Checks until shutdown.
    package func run() async {
        await clock.repeatUntilShutdown(every: Self.interval) {
            do throws(StoreError) {
                try await self.check()
            } catch {
                // The next check repeats the work.
                self.logger.debug("marks not checked", metadata: ["error": "\(error)"])
            }
        }
    }

    private func check() async throws(StoreError) {
        var failure: StoreError?
        let deliveries = deliveries
        let outbox = outbox
        let ownPartitions = Array(state.withLock(\.partitions))
        let stored = await answers(ownPartitions, &failure) {
            partition async throws(StoreError) in
            try await deliveries.watermark(partition: partition)
        }
        let watermarks = withLosses(stored)
        // After the watermarks: everything acknowledged by now was marked in these histories, or in earlier ones, whose
        // loss is handled first.
        let outboxes = Set(watermarks.isEmpty ? 0..<0 : 0..<outbox.partitions)
        let acknowledged = await answers(Array(outboxes), &failure) {
            number async throws(StoreError) in
            try await outbox.acknowledgedUntil(partition: number)
        }
        let now = clock.now
        var repairs = due(watermarks, now)
        do throws(StoreError) {
            try await markAgain(watermarks, from: acknowledged.keys.sorted(), &repairs, &failure)
        } catch {
            failure = failure ?? error
        }
        var complete = Set(watermarks.keys.filter { watermarks[$0]?.isComplete ?? false })
        for (partition, repair) in repairs where repair.read.isSuperset(of: outboxes) {
            if repair.first == nil {
                repairs[partition] = Repair(history: repair.history, first: now)
            } else {
                complete.insert(partition)
            }
        }
        state.withLock { [repairs] in $0.repairs.merge(repairs) { _, new in new } }
        if let before = acknowledged.values.min(), acknowledged.count == outboxes.count {
            await note(watermarks.filter { complete.contains($0.key) }, before, &failure)
        }
        if let failure { throw failure }
    }

    /// Returns the answers of the available partitions; `failure` receives the first error.
    private func answers<Answer: Sendable>(
        _ partitions: [Int],
        _ failure: inout StoreError?,
        _ request: @escaping @Sendable (Int) async throws(StoreError) -> Answer
    ) async -> [Int: Answer] {
        var answers: [Int: Answer] = [:]
        for (partition, result) in await requestAll(partitions, request) {
            switch result {
            case .success(let answer): answers[partition] = answer
            case .failure(let error): failure = failure ?? error
            }
        }
        return answers
    }

    /// Returns the watermarks, with the loss of all marks where one has disappeared.
    private func withLosses(_ stored: [Int: MarkWatermark]) -> [Int: MarkWatermark] {
        state.withLock { state in
            var watermarks = stored
            for (partition, watermark) in stored {
                if watermark.noted != nil {
                    state.noted.insert(partition)
                } else if state.noted.contains(partition) {
                    watermarks[partition] = MarkWatermark(
                        history: watermark.history,
                        noted: "",
                        markedBefore: watermark.markedBefore
                    )
                }
            }
            return watermarks
        }
    }

    /// Stores the watermark of partitions: all events recorded before an instant are marked.
    private func note(
        _ watermarks: [Int: MarkWatermark],
        _ before: Timestamp,
        _ failure: inout StoreError?
    ) async {
        let deliveries = deliveries
        let noted = await answers(Array(watermarks.keys), &failure) {
            (partition) async throws(StoreError) -> Bool in
            guard let history = watermarks[partition]?.history else { return false }
            try await deliveries.note(partition: partition, markedBefore: before, in: history)
            return true
        }
        state.withLock { state in
            for partition in noted.keys { state.repairs[partition] = nil }
        }
    }

    /// Returns the due repairs of partitions that may have lost marks, with their progress.
    private func due(_ watermarks: [Int: MarkWatermark], _ now: C.Instant) -> [Int: Repair] {
        let known = state.withLock(\.repairs)
        var due: [Int: Repair] = [:]
        for (partition, watermark) in watermarks where !watermark.isComplete {
            guard let repair = known[partition], repair.history == watermark.history else {
                due[partition] = Repair(history: watermark.history)
                continue
            }
            if let first = repair.first, first.advanced(by: Self.settling) > now { continue }
            due[partition] = repair
        }
        return due
    }

    /// Marks the outbox entries since these partitions were last complete, and records which outboxes were read.
    private func markAgain(
        _ watermarks: [Int: MarkWatermark],
        from outboxes: [Int],
        _ repairs: inout [Int: Repair],
        _ failure: inout StoreError?
    ) async throws(StoreError) {
        var repaired: Set<Int> = []
        var since = Timestamp(ms: .max)
        var count = 0
        for number in outboxes {
            let wanting = Set(repairs.keys.filter { repairs[$0]?.read.contains(number) == false })
            let lost = watermarks.filter { wanting.contains($0.key) }
            guard let start = lost.values.map(\.markedBefore).min() else { continue }
            let unstored = try await markAgain(lost, from: number, since: start, &count)
            failure = failure ?? unstored.failure
            let missed = Set(unstored.marks.map { partition(of: $0) })
            for partition in wanting.subtracting(missed) { repairs[partition]?.read.insert(number) }
            repaired.formUnion(wanting)
            since = min(since, start)
        }
        guard !repaired.isEmpty else { return }
        logger.warning(
            "another server serves the deliveries; marking events again",
            metadata: [
                "partitions": "\(repaired.sorted())", "since": "\(since)", "marks": "\(count)",
            ]
        )
    }

    /// Marks the entries of one outbox.
    ///
    /// - Returns: the marks that could not be stored.
    private func markAgain(
        _ lost: [Int: MarkWatermark],
        from number: Int,
        since: Timestamp,
        _ count: inout Int
    ) async throws(StoreError) -> UnstoredMarks {
        var unstored = UnstoredMarks()
        var position = "\(max(since.ms - Self.slack.ms - 1, 0))"
        while true {
            let entries = try await outbox.entries(
                partition: number,
                after: position,
                limit: Self.batch
            )
            // After the read, so that endpoints registered before the entries are known.
            try await directory?.refresh()
            var marks: Set<DeliveryMark> = []
            for entry in entries {
                let audience = directory?.interested(in: entry.event) ?? .empty
                let isUrgent = !audience.isMore(than: OutboxEntry.urgentMax)
                var segment = entry.inlineMarks(directory?.operators ?? [])
                var position: FanOutPosition?
                repeat {
                    let next = audience.next(Self.marksMax, after: position)
                    position = next.last
                    segment += entry.marks(next, isUrgent: isUrgent)
                    marks.formUnion(segment.filter { lost[partition(of: $0)] != nil })
                    segment = []
                    if marks.count >= Self.marksMax { await mark(&marks, &count, &unstored) }
                } while position != nil
            }
            await mark(&marks, &count, &unstored)
            guard entries.count >= Self.batch, let last = entries.last else { return unstored }
            position = last.id
        }
    }

    private func mark(
        _ marks: inout Set<DeliveryMark>,
        _ count: inout Int,
        _ unstored: inout UnstoredMarks
    ) async {
        unstored.add(await deliveries.markAndCountReachable(Array(marks)))
        count += marks.count
        marks = []
    }

    private func partition(of mark: DeliveryMark) -> Int {
        deliveries.partition(of: LaneID(endpoint: mark.endpoint))
    }
}

/// Stores, for each partition of deliveries, the time before which every event is marked, and the server history that
/// it belongs to.
///
/// A new history begins when the server restarts and when a replica takes over. It may lack the last acknowledged
/// writes. The watermark is in the same partition as the marks, so a loss of marks also shows in the watermark.
package protocol MarkWatermarkStore: Sendable {
    /// Returns the partition of a lane of deliveries.
    func partition(of lane: LaneID) -> Int

    func watermark(partition: Int) async throws(StoreError) -> MarkWatermark

    /// Stores that in `history` every event recorded before `markedBefore` is marked; does nothing once another history
    /// has begun.
    func note(partition: Int, markedBefore: Timestamp, in history: String) async throws(StoreError)
}

/// The watermark of a partition's marks.
package struct MarkWatermark: Hashable, Sendable {
    /// The name of the server's current history; empty without one.
    package let history: String
    /// The history of the stored watermark; `nil` before the first one, when no loss is known.
    package let noted: String?
    /// The instant before which every recorded event was marked when the watermark was stored.
    package let markedBefore: Timestamp

    package init(history: String, noted: String?, markedBefore: Timestamp) {
        self.history = history
        self.noted = noted
        self.markedBefore = markedBefore
    }

    /// Whether no mark can have been lost since the watermark.
    var isComplete: Bool { noted == nil || noted == history }
}
