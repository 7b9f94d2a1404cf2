package import Logging
package import PollerIdentity
package import PollerQueue
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
/// *A shard that is away* holds up what needs it. Its partitions are looked at when they answer. While an outbox
/// cannot be read nothing is noted, as nobody knows what in it is not marked yet; what the others hold is marked again
/// meanwhile, once, and the round is over when the missing one was read.
///
/// *A crash* between marks and note makes the marks once more. Each notifier looks at the
/// partitions that are its own; two at work on the same do no harm.
///
/// A class, because the heartbeat changes its partitions while it runs.
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

    /// How far it has come with making the marks of a partition again.
    private struct Repair: Sendable {
        let history: String
        /// The outboxes that were read in this round.
        var read: Set<Int> = []
        /// When the first round was over; nil in it.
        var first: C.Instant?
    }

    /// What the lock guards: the partitions that are ours, and what is being repaired in them.
    private struct State: Sendable {
        var partitions: Set<Int> = []
        var repairs: [Int: Repair] = [:]
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
        var failure: StoreError?
        let deliveries = deliveries
        let outbox = outbox
        let ours = Array(state.withLock(\.partitions))
        let standings = await answers(ours, &failure) { partition async throws(StoreError) in
            try await deliveries.standing(partition: partition)
        }
        // After the standings: whatever is acknowledged by now was marked in these histories, or in
        // those before them, whose loss is dealt with first.
        let outboxes = Set(standings.isEmpty ? 0..<0 : 0..<outbox.partitions)
        let settled = await answers(Array(outboxes), &failure) { number async throws(StoreError) in
            try await outbox.settled(partition: number)
        }
        let now = clock.now
        var repairs = due(standings, now)
        do throws(StoreError) {
            try await markAgain(standings, from: settled.keys.sorted(), &repairs, &failure)
        } catch {
            failure = failure ?? error
        }
        var whole = Set(standings.keys.filter { standings[$0]?.isWhole ?? false })
        for (partition, repair) in repairs where repair.read.isSuperset(of: outboxes) {
            if repair.first == nil {
                repairs[partition] = Repair(history: repair.history, first: now)
            } else {
                whole.insert(partition)
            }
        }
        state.withLock { [repairs] in $0.repairs.merge(repairs) { _, new in new } }
        if let before = settled.values.min(), settled.count == outboxes.count {
            await note(standings.filter { whole.contains($0.key) }, before, &failure)
        }
        if let failure { throw failure }
    }

    /// What those say that answer; `failure` keeps why the first of the others did not.
    private func answers<Answer: Sendable>(
        _ partitions: [Int],
        _ failure: inout StoreError?,
        _ ask: @escaping @Sendable (Int) async throws(StoreError) -> Answer
    ) async -> [Int: Answer] {
        var answers: [Int: Answer] = [:]
        for (partition, result) in await asking(partitions, ask) {
            switch result {
            case .success(let answer): answers[partition] = answer
            case .failure(let error): failure = failure ?? error
            }
        }
        return answers
    }

    /// Notes that these partitions have all marks of what was recorded before an instant.
    private func note(
        _ standings: [Int: MarkStanding],
        _ before: Timestamp,
        _ failure: inout StoreError?
    ) async {
        let deliveries = deliveries
        let noted = await answers(Array(standings.keys), &failure) {
            (partition) async throws(StoreError) -> Bool in
            guard let history = standings[partition]?.history else { return false }
            try await deliveries.note(partition: partition, whole: before, in: history)
            return true
        }
        state.withLock { state in
            for partition in noted.keys { state.repairs[partition] = nil }
        }
    }

    /// The repairs that are due of partitions that may have lost something, as far as they have come.
    private func due(_ standings: [Int: MarkStanding], _ now: C.Instant) -> [Int: Repair] {
        let known = state.withLock(\.repairs)
        var due: [Int: Repair] = [:]
        for (partition, standing) in standings where !standing.isWhole {
            guard let repair = known[partition], repair.history == standing.history else {
                due[partition] = Repair(history: standing.history)
                continue
            }
            if let first = repair.first, first.advanced(by: Self.settling) > now { continue }
            due[partition] = repair
        }
        return due
    }

    /// Marks what the outboxes hold since these partitions were last known to be whole, and notes which were read.
    private func markAgain(
        _ standings: [Int: MarkStanding],
        from outboxes: [Int],
        _ repairs: inout [Int: Repair],
        _ failure: inout StoreError?
    ) async throws(StoreError) {
        var told: Set<Int> = []
        var since = Timestamp(ms: .max)
        var count = 0
        for number in outboxes {
            let wanting = Set(repairs.keys.filter { repairs[$0]?.read.contains(number) == false })
            let lost = standings.filter { wanting.contains($0.key) }
            guard let start = lost.values.map(\.whole).min() else { continue }
            let unstored = try await markAgain(lost, from: number, since: start, &count)
            failure = failure ?? unstored.failure
            let missed = Set(unstored.marks.map { partition(of: $0) })
            for partition in wanting.subtracting(missed) { repairs[partition]?.read.insert(number) }
            told.formUnion(wanting)
            since = min(since, start)
        }
        guard !told.isEmpty else { return }
        logger.warning(
            "another server serves deliveries: they are marked again",
            metadata: [
                "partitions": "\(told.sorted())", "since": "\(since)", "marks": "\(count)",
            ]
        )
    }

    /// Marks what one outbox holds.
    ///
    /// - Returns: what could not be marked.
    private func markAgain(
        _ lost: [Int: MarkStanding],
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
