package import Logging
import Metrics
import PollerIdentity
package import PollerQueue
import ServiceLifecycle
import Synchronization

/// Reads recorded events, marks the deliveries they make necessary and notes in orders what they say of
/// payments.
///
/// Marking is idempotent, and an entry is acknowledged only after its marks are stored: a crash
/// between the two marks again, and a delivery with nothing to tell rests at once. Of an event for many
/// endpoints one segment is marked again at most (``FanOut``).
///
/// *An entry that ends the process* (a trap in Swift) is left by its notifier, and comes to the next one after five
/// seconds. Such entries are handled behind the new ones and under the ``PoisonGuard``, which sets aside the cause. New
/// entries are handled without it.
///
/// *A shard that is away* holds up what lies in it: an entry whose order or whose deliveries are there is left
/// unacknowledged and comes again after five seconds, and the others of its batch go on.
package final class OutboxReader<Events: Outbox, Deliveries: DeliveryQueue, C: Clock>: Service
where C.Duration == Duration, C.Instant: Sendable {
    /// Entries read at a time.
    private let batch = 128
    /// An entry another notifier has held for longer was left by a dead one.
    private let abandonedAfter = Duration.seconds(5)
    /// Marks stored at a time, for some milliseconds: what is marked is acknowledged before the rest.
    private let marksMax = 1000

    private let outbox: Events
    private let deliveries: Deliveries
    private let directory: EndpointDirectory?
    private let notes: OrderNotes<C>
    private let suspects: PoisonGuard
    private let owner: OwnerID
    private let clock: C
    private let logger: Logger
    private let arrivals: OutboxArrivals<Events, C>
    /// The events for many that were left lately.
    private let leftFanOuts = LeftFanOuts<C>()
    /// The partitions that are being read, and whether news have come of them since.
    private let reads = Mutex<[Int: Bool]>([:])
    /// The partitions that could not be read last.
    private let isAway = Mutex<Set<Int>>([])

    /// A reader; several in one group share the work.
    ///
    /// Without a directory only inline `notify` URLs are told; without a book nothing is noted of orders,
    /// and without `refunds` what was paid twice stays. `suspects` sets aside entries that end notifiers.
    package init(
        outbox: Events,
        deliveries: Deliveries,
        directory: EndpointDirectory? = nil,
        orders: OrderBook? = nil,
        refunds: DuplicateRefunds? = nil,
        suspects: PoisonGuard = .none,
        owner: OwnerID,
        clock: C,
        logger: Logger
    ) {
        self.outbox = outbox
        self.deliveries = deliveries
        self.directory = directory
        notes = OrderNotes(orders: orders, refunds: refunds, clock: clock, logger: logger)
        self.suspects = suspects
        self.owner = owner
        self.clock = clock
        self.logger = logger
        arrivals = OutboxArrivals(outbox, clock: clock)
    }

    /// Reads until shut down or cancelled.
    ///
    /// Each partition for itself: one with an event for thousands of endpoints does not hold the others up.
    package func run() async {
        // Once, or each partition would read all endpoints; what fails here is asked for again with the first entry.
        try? await directory?.refresh()
        let (turns, turn) = AsyncStream.makeStream(of: Int.self)
        await withDiscardingTaskGroup { group in
            // Hears of news while partitions are read, and ends at the shutdown, which ends all else.
            group.addTask {
                await self.arrivals.run { partitions in
                    for partition in partitions where self.begins(partition) {
                        turn.yield(partition)
                    }
                }
                turn.finish()
            }
            for await partition in turns {
                // One for each partition at most, which goes on until it has read all.
                group.addTask {
                    repeat { await self.readAll(partition) } while self.goesOn(partition)
                }
            }
            group.cancelAll()
        }
    }

    /// Whether the partition is to be read by a task of its own; one that has it already looks again.
    private func begins(_ partition: Int) -> Bool {
        reads.withLock { reads in
            defer { reads[partition] = reads[partition] != nil }
            return reads[partition] == nil
        }
    }

    /// Whether news came while the partition was read.
    private func goesOn(_ partition: Int) -> Bool {
        reads.withLock { reads in
            let isAgain = reads[partition] == true && !Task.isCancelled
            reads[partition] = isAgain ? false : nil
            return isAgain
        }
    }

    private func readAll(_ partition: Int) async {
        var failure: StoreError?
        do throws(StoreError) {
            var count: Int
            repeat {
                let read = try await readBatch(partition)
                count = read.count
                failure = failure ?? read.failure
            } while count >= batch && !Task.isCancelled
        } catch {
            failure = failure ?? error
        }
        guard let failure else {
            isAway.withLock { _ = $0.remove(partition) }
            return
        }
        guard !Task.isCancelled else { return }
        // Once for an outage, in whatever partition it is met first.
        let isNews = isAway.withLock { $0.insert(partition).inserted && $0.count == 1 }
        logger.log(
            level: isNews ? .warning : .debug,
            "outbox not read to its end",
            metadata: ["partition": "\(partition)", "error": "\(failure)"]
        )
    }

    /// Deals with a batch, but for what needs something that does not answer.
    ///
    /// - Returns: how many entries were read, and why the first of those was left that were; nil when none was.
    private func readBatch(
        _ partition: Int
    ) async throws(StoreError) -> (count: Int, failure: StoreError?) {
        let read = try await outbox.read(
            partition: partition,
            consumer: owner,
            idle: abandonedAfter,
            limit: batch
        )
        guard !read.isEmpty else { return (0, nil) }
        // After the entries were read: every endpoint that is older than they are is known then.
        try await directory?.refresh()
        var held = PendingEntries(
            read.fresh.map(\.id) + read.abandoned,
            partition: partition,
            in: outbox,
            consumer: owner,
            clock: clock
        )
        var failure = try await handle(read.fresh, partition, &held)
        guard !Task.isCancelled else { return (0, failure) }
        // Behind the new ones: an entry that ends the process must not hold those up.
        try await suspects.handle(
            read.abandoned.map { Suspect(.outbox, partition: partition, name: $0) }
        ) { (group) async throws(StoreError) in
            let ids = group.map(\.name).filter { held.has($0) }
            let entries = try await outbox.handedOver(partition: partition, ids)
            let left = try await handle(entries, partition, &held)
            failure = failure ?? left
        }
        let count = max(read.fresh.count, read.abandoned.count)
        return (Task.isCancelled ? 0 : count, failure)
    }

    /// Deals with some entries of a partition.
    ///
    /// - Returns: why the first of those was left that were; nil when none was.
    private func handle(
        _ read: [OutboxEntry],
        _ partition: Int,
        _ held: inout PendingEntries<Events, C>
    ) async throws(StoreError) -> StoreError? {
        guard !read.isEmpty else { return nil }
        #if DEBUG
        for entry in read { PlantedTrap.check(.outbox, entry.event.key.source.description) }
        #endif
        var left = LeftEntries()
        if notes.isSomethingAway {
            // Who concerns no order does not wait for the asking; where all is well one round of marks is cheaper.
            let others = notes.unconcerned(of: read).map { ($0, self.audience(of: $0)) }
            try await mark(others.filter { !isForMany($0.1) }, &held, &left)
        }
        for unnoted in try await note(read, &held) {
            left.leave(unnoted.entry, because: unnoted.failure)
        }
        // What many are told waits for what few are: it takes long. A delivery reads its watch's events itself, so
        // their order is not that of marks.
        var few: [(OutboxEntry, Audience)] = []
        var many: [(OutboxEntry, Audience)] = []
        // What another reader has taken over is its to mark and to acknowledge.
        for entry in read where held.has(entry) && !left.holdsBack(entry) {
            let audience = self.audience(of: entry)
            if isForMany(audience) {
                many.append((entry, audience))
            } else {
                few.append((entry, audience))
            }
        }
        try await mark(few, &held, &left)
        let positions = try await outbox.positions(partition: partition, of: many.map(\.0.id))
        for (entry, audience) in many where held.has(entry) && !Task.isCancelled {
            if let failure = leftFanOuts.failure(of: entry, at: clock.now) {
                left.leave(entry, because: failure)
                continue
            }
            let operators = directory?.operators ?? []
            let fanOut = FanOut(
                entry,
                to: audience,
                operators: operators,
                after: positions[entry.id]
            )
            switch try await fanOut.run(in: deliveries, holding: &held) {
            case .marked: try await acknowledge([entry], &held)
            case .left(let failure):
                leftFanOuts.leave(entry, because: failure, at: clock.now)
                left.leave(entry, because: failure)
            case .stopped: break
            }
        }
        return left.failure
    }

    private func audience(of entry: OutboxEntry) -> Audience {
        directory?.interested(in: entry.event) ?? .nobody
    }

    private func isForMany(_ audience: Audience) -> Bool {
        audience.isMore(than: OutboxEntry.urgentMax)
    }

    /// Notes in orders what entries say of payments, and says meanwhile that we are at work on them.
    private func note(
        _ read: [OutboxEntry],
        _ held: inout PendingEntries<Events, C>
    ) async throws(StoreError) -> [LeftEntry] {
        let notes = notes
        let clock = clock
        let pace = PendingEntries<Events, C>.pace
        let accounts = Dictionary(grouping: read.filter { notes.mayConcern($0.event) }) {
            $0.event.key.account
        }
        guard !accounts.isEmpty else { return [] }
        var failure: StoreError?
        let left = await withTaskGroup(of: [LeftEntry]?.self) { group in
            // As many as a batch has; most have one.
            for (account, entries) in accounts {
                group.addTask { await notes.note(entries, of: account) }
            }
            let pause: @Sendable () async -> [LeftEntry]? = {
                // Cancelled: nobody waits for it any more.
                try? await clock.sleep(for: pace)
                return nil
            }
            group.addTask { await pause() }
            var left: [LeftEntry] = []
            var running = accounts.count
            while running > 0, let done = await group.next() {
                if let done {
                    left += done
                    running -= 1
                } else if failure == nil, !Task.isCancelled {
                    do throws(StoreError) {
                        try await held.renew()
                    } catch {
                        failure = error
                    }
                    group.addTask { await pause() }
                }
            }
            group.cancelAll()
            return left
        }
        if let failure { throw failure }
        return left
    }

    /// Marks what is told to few, some events at a time.
    private func mark(
        _ few: [(OutboxEntry, Audience)],
        _ held: inout PendingEntries<Events, C>,
        _ left: inout LeftEntries
    ) async throws(StoreError) {
        var marks: Set<DeliveryMark> = []
        var marked: [(OutboxEntry, Audience)] = []
        for (index, (entry, audience)) in few.enumerated() {
            marks.formUnion(self.marks(of: entry, audience))
            marked.append((entry, audience))
            guard marks.count >= marksMax || index == few.count - 1 else { continue }
            var unstored = UnstoredMarks()
            var rest = Array(marks)[...]
            while !rest.isEmpty {
                try await held.renew()
                unstored.add(await deliveries.markAndCountReachable(Array(rest.prefix(marksMax))))
                // What is not acknowledged is marked by others, or by us when we are back.
                guard !Task.isCancelled else { return }
                rest = rest.dropFirst(marksMax)
            }
            var done: [OutboxEntry] = []
            for (entry, audience) in marked where held.has(entry) {
                // Nothing is looked for where all is stored.
                if let failure = unstored.failure,
                    !unstored.marks.isDisjoint(with: self.marks(of: entry, audience))
                {
                    left.leave(entry, because: failure)
                } else {
                    done.append(entry)
                }
            }
            try await acknowledge(done, &held)
            (marks, marked) = ([], [])
        }
    }

    /// The deliveries that an entry for few makes necessary.
    private func marks(of entry: OutboxEntry, _ audience: Audience) -> [DeliveryMark] {
        entry.inlineMarks(directory?.operators ?? [])
            + entry.marks(audience.next(.max, after: nil), isUrgent: true)
    }

    private func acknowledge(
        _ entries: [OutboxEntry],
        _ held: inout PendingEntries<Events, C>
    ) async throws(StoreError) {
        try await held.acknowledge(entries)
        Counter(label: "poller_outbox_entries_total").increment(by: entries.count)
    }
}
