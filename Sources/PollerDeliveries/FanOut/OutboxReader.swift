package import Logging
import Metrics
import PollerIdentity
package import PollerOperations
package import PollerQueue
package import PollerWatches
import ServiceLifecycle
import Synchronization

/// Reads recorded events, marks their deliveries, and applies payment events to orders.
///
/// Marking is idempotent, and an entry is acknowledged only after its marks are stored. A crash between the two repeats
/// the marks, and a delivery without pending events rests at once. For an event with many endpoints at most one segment
/// is marked again (``FanOut``).
///
/// *An entry that crashes the process* (a trap in Swift) is abandoned by its notifier, and handed to the next one after
/// five seconds. Such entries are handled after the new ones and under the `PoisonGuard`, which sets the cause aside.
/// New entries are handled without it.
///
/// *An unavailable shard* delays only what is stored on it: an entry whose order or deliveries are there stays
/// unacknowledged and is read again after five seconds. The other entries of its batch continue.
package final class OutboxReader<Events: Outbox, Deliveries: DeliveryQueue, C: Clock>: Service
where C.Duration == Duration, C.Instant: Sendable {
    /// The number of entries in the first batch of a partition, and while events are large.
    private let batch = 128
    /// The number of entries in a later batch.
    ///
    /// Each batch is marked with a script for each partition, whose fixed cost its deliveries share.
    private let longBatch = 512
    /// The mean size of the last batch's events up to which the next one may be long: usually 4 MiB for each partition.
    private let smallEventBytes = 8192
    /// The time after which another notifier's entry counts as abandoned.
    private let abandonedAfter = Duration.seconds(5)
    /// The number of marks stored at a time, which takes some milliseconds.
    ///
    /// Marked entries are acknowledged before the rest.
    private let marksMax = 1000

    private let outbox: Events
    private let deliveries: Deliveries
    private let directory: EndpointDirectory?
    private let orderUpdater: OrderUpdater<C>
    private let suspects: PoisonGuard
    private let owner: OwnerID
    private let clock: C
    private let logger: Logger
    private let readLoop: OutboxReadLoop<Events, C>
    /// The recently deferred events for many endpoints.
    private let deferredFanOuts = DeferredFanOuts<C>()
    /// The partitions being read, and whether they have had arrivals since.
    private let reads = Mutex<[Int: Bool]>([:])
    /// The partitions whose last read failed.
    private let unavailablePartitions = Mutex<Set<Int>>([])

    /// Creates a reader; several readers in one group share the work.
    ///
    /// Without a directory only inline `notify` URLs receive events. Without `orders` no order is updated. Without
    /// `refunds` duplicate payments are not refunded. `suspects` sets aside entries that crash notifiers.
    package init(
        outbox: Events,
        deliveries: Deliveries,
        directory: EndpointDirectory? = nil,
        orders: OrderService? = nil,
        refunds: DuplicateRefunds? = nil,
        suspects: PoisonGuard = .none,
        owner: OwnerID,
        clock: C,
        logger: Logger
    ) {
        self.outbox = outbox
        self.deliveries = deliveries
        self.directory = directory
        orderUpdater = OrderUpdater(orders: orders, refunds: refunds, clock: clock, logger: logger)
        self.suspects = suspects
        self.owner = owner
        self.clock = clock
        self.logger = logger
        readLoop = OutboxReadLoop(outbox, clock: clock)
    }

    /// Reads until shutdown or cancellation.
    ///
    /// Partitions are independent: one with an event for thousands of endpoints does not delay the others.
    package func run() async {
        // Once here, because otherwise each partition would read all endpoints. After a failure the first entry
        // refreshes again.
        try? await directory?.refresh()
        let (partitionStream, continuation) = AsyncStream.makeStream(of: Int.self)
        await withDiscardingTaskGroup { group in
            // Receives arrivals while partitions are read, and ends at the shutdown, which ends everything else.
            group.addTask {
                await self.readLoop.run { partitions in
                    for partition in partitions where self.begins(partition) {
                        continuation.yield(partition)
                    }
                }
                continuation.finish()
            }
            for await partition in partitionStream {
                // At most one task for each partition, which continues until everything is read.
                group.addTask {
                    repeat { await self.readAll(partition) } while self.continuesReading(partition)
                }
            }
            group.cancelAll()
        }
    }

    /// Returns whether the partition needs a new task; a running task reads again.
    private func begins(_ partition: Int) -> Bool {
        reads.withLock { reads in
            defer { reads[partition] = reads[partition] != nil }
            return reads[partition] == nil
        }
    }

    /// Returns whether arrivals came while the partition was read.
    private func continuesReading(_ partition: Int) -> Bool {
        reads.withLock { reads in
            let hasNewArrivals = reads[partition] == true && !Task.isCancelled
            reads[partition] = hasNewArrivals ? false : nil
            return hasNewArrivals
        }
    }

    private func readAll(_ partition: Int) async {
        var failure: StoreError?
        do throws(StoreError) {
            var limit: Int? = batch
            while let most = limit, !Task.isCancelled {
                let read = try await readBatch(partition, limit: most)
                limit = read.next
                failure = failure ?? read.failure
            }
        } catch {
            failure = failure ?? error
        }
        guard let failure else {
            unavailablePartitions.withLock { _ = $0.remove(partition) }
            return
        }
        guard !Task.isCancelled else { return }
        // Once per outage, for the first affected partition.
        let isFirstFailure = unavailablePartitions.withLock {
            $0.insert(partition).inserted && $0.count == 1
        }
        logger.log(
            level: isFirstFailure ? .warning : .debug,
            "outbox not read completely",
            metadata: ["partition": "\(partition)", "error": "\(failure)"]
        )
    }

    /// Processes a batch, except entries that need an unavailable part of the store.
    ///
    /// - Returns: the limit of the next batch, `nil` if there are no more entries; and the reason of the first deferral,
    ///   `nil` without one.
    private func readBatch(
        _ partition: Int,
        limit: Int
    ) async throws(StoreError) -> (next: Int?, failure: StoreError?) {
        let read = try await outbox.read(
            partition: partition,
            consumer: owner,
            idle: abandonedAfter,
            limit: limit
        )
        // Entries without an event count, too: behind a batch of them there may be others.
        let hasMore = read.isFull(limit: limit)
        guard !read.isEmpty else { return (hasMore ? batch : nil, nil) }
        // After the read, so that every endpoint older than the entries is known.
        try await directory?.refresh()
        var held = PendingEntries(
            read.fresh.map(\.id) + read.abandoned,
            partition: partition,
            in: outbox,
            consumer: owner,
            clock: clock
        )
        var failure = try await handle(read.fresh, partition, &held)
        guard !Task.isCancelled else { return (nil, failure) }
        // After the new entries, which must not be delayed by one that crashes the process.
        try await suspects.handle(
            read.abandoned.map { Suspect(.outbox, partition: partition, name: $0) }
        ) { (group) async throws(StoreError) in
            let ids = group.map(\.name).filter { held.has($0) }
            let entries = try await outbox.handedOver(partition: partition, ids)
            let pending = try await handle(entries, partition, &held)
            failure = failure ?? pending
        }
        guard hasMore else { return (nil, failure) }
        // Unreadable entries do not show how large the next ones are.
        let isReadable = !read.fresh.isEmpty && read.fresh.count == read.freshCount
        return (isReadable ? nextBatch(after: read.fresh) : batch, failure)
    }

    /// Returns the limit of the batch after these entries.
    ///
    /// Each event that concerns an order is a request, and they precede the marks. Of a long batch they would delay the
    /// others four times as long, so it is only read after a batch with few of them.
    func nextBatch(after entries: [OutboxEntry]) -> Int {
        let bytes = entries.reduce(0) { $0 + $1.event.json.utf8.count }
        let concerned = entries.count - orderUpdater.unconcerned(of: entries).count
        let isCheap = bytes <= smallEventBytes * entries.count && concerned * 4 <= entries.count
        return isCheap ? longBatch : batch
    }

    /// Processes some entries of a partition.
    ///
    /// - Returns: the reason of the first deferral; `nil` without one.
    private func handle(
        _ read: [OutboxEntry],
        _ partition: Int,
        _ held: inout PendingEntries<Events, C>
    ) async throws(StoreError) -> StoreError? {
        guard !read.isEmpty else { return nil }
        #if DEBUG
        for entry in read { FailPoint.check(.outbox, entry.event.key.source.description) }
        #endif
        var pending = DeferredEntries()
        if orderUpdater.hasUnreachablePartition {
            // Entries without an order do not wait for the requests. While everything is available, one round of marks
            // is cheaper.
            let others = orderUpdater.unconcerned(of: read).map { ($0, self.audience(of: $0)) }
            try await mark(others.filter { !isForMany($0.1) }, &held, &pending)
        }
        for deferredEntry in try await note(read, &held) {
            pending.postpone(deferredEntry.entry, because: deferredEntry.failure)
        }
        // Events for many recipients come after those for few, because they take long. A delivery reads its watch's
        // events itself, so the order of marks does not matter.
        var few: [(OutboxEntry, Audience)] = []
        var many: [(OutboxEntry, Audience)] = []
        // Entries that another reader has taken over are left to it.
        for entry in read where held.has(entry) && !pending.holdsBack(entry) {
            let audience = self.audience(of: entry)
            if isForMany(audience) {
                many.append((entry, audience))
            } else {
                few.append((entry, audience))
            }
        }
        try await mark(few, &held, &pending)
        let positions = try await outbox.positions(partition: partition, of: many.map(\.0.id))
        for (entry, audience) in many where held.has(entry) && !Task.isCancelled {
            if let failure = deferredFanOuts.failure(of: entry, at: clock.now) {
                pending.postpone(entry, because: failure)
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
            case .pending(let failure):
                deferredFanOuts.postpone(entry, because: failure, at: clock.now)
                pending.postpone(entry, because: failure)
            case .stopped: break
            }
        }
        return pending.failure
    }

    private func audience(of entry: OutboxEntry) -> Audience {
        directory?.interested(in: entry.event) ?? .empty
    }

    private func isForMany(_ audience: Audience) -> Bool {
        audience.isMore(than: OutboxEntry.urgentMax)
    }

    /// Applies entries to orders, and renews the claim on them meanwhile.
    private func note(
        _ read: [OutboxEntry],
        _ held: inout PendingEntries<Events, C>
    ) async throws(StoreError) -> [DeferredEntry] {
        let orderUpdater = orderUpdater
        let clock = clock
        let pace = PendingEntries<Events, C>.pace
        let accounts = Dictionary(grouping: read.filter { orderUpdater.mayConcern($0.event) }) {
            $0.event.key.account
        }
        guard !accounts.isEmpty else { return [] }
        var failure: StoreError?
        let pending = await withTaskGroup(of: [DeferredEntry]?.self) { group in
            // One task per account in the batch; most batches have one.
            for (account, entries) in accounts {
                group.addTask { await orderUpdater.note(entries, of: account) }
            }
            let pause: @Sendable () async -> [DeferredEntry]? = {
                // A cancelled sleep means that the result is no longer needed.
                try? await clock.sleep(for: pace)
                return nil
            }
            group.addTask { await pause() }
            var pending: [DeferredEntry] = []
            var running = accounts.count
            while running > 0, let done = await group.next() {
                if let done {
                    pending += done
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
            return pending
        }
        if let failure { throw failure }
        return pending
    }

    /// Marks the events for few recipients, several at a time.
    private func mark(
        _ few: [(OutboxEntry, Audience)],
        _ held: inout PendingEntries<Events, C>,
        _ pending: inout DeferredEntries
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
                // Unacknowledged entries are marked by other readers, or by this one after a restart.
                guard !Task.isCancelled else { return }
                rest = rest.dropFirst(marksMax)
            }
            var done: [OutboxEntry] = []
            for (entry, audience) in marked where held.has(entry) {
                // The lookup is skipped if all marks are stored.
                if let failure = unstored.failure,
                    !unstored.marks.isDisjoint(with: self.marks(of: entry, audience))
                {
                    pending.postpone(entry, because: failure)
                } else {
                    done.append(entry)
                }
            }
            try await acknowledge(done, &held)
            (marks, marked) = ([], [])
        }
    }

    /// Returns the deliveries of an entry for few recipients.
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
