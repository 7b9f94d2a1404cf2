package import Logging
import Metrics
import ServiceLifecycle
import Synchronization

/// Reads recorded events, marks the deliveries they make necessary and notes in orders what they say of
/// payments.
///
/// Marking is idempotent, and an entry is acknowledged only after its marks are stored: a crash
/// between the two marks again, and a delivery with nothing to tell rests at once.
package final class OutboxReader<Events: Outbox, Deliveries: DeliveryQueue, C: Clock>: Service
where C.Duration == Duration, C.Instant: Sendable {
    /// Entries read at a time.
    private let batch = 128
    /// An entry another notifier has held for longer was left by a dead one.
    private let abandonedAfter = Duration.seconds(5)
    /// So often a reader says that it is still at work on its batch.
    private let heldAgainAfter = Duration.seconds(1)
    /// Marks stored at a time, for some milliseconds each: one event may be for thousands of
    /// endpoints, and what is marked is acknowledged before the rest.
    private let marksMax = 1000

    private let outbox: Events
    private let deliveries: Deliveries
    private let directory: EndpointDirectory?
    private let orders: OrderBook?
    private let refunds: DuplicateRefunds?
    private let owner: OwnerID
    private let clock: C
    private let logger: Logger
    private let arrivals: OutboxArrivals<Events, C>
    /// The partitions that are being read, and whether news have come of them since.
    private let reads = Mutex<[Int: Bool]>([:])
    /// The partitions that could not be read last.
    private let isAway = Mutex<Set<Int>>([])

    /// A reader; several in one group share the work.
    ///
    /// Without a directory only inline `notify` URLs are told; without a book nothing is noted of orders,
    /// and without `refunds` what was paid twice stays.
    package init(
        outbox: Events,
        deliveries: Deliveries,
        directory: EndpointDirectory? = nil,
        orders: OrderBook? = nil,
        refunds: DuplicateRefunds? = nil,
        owner: OwnerID,
        clock: C,
        logger: Logger
    ) {
        self.outbox = outbox
        self.deliveries = deliveries
        self.directory = directory
        self.orders = orders
        self.refunds = refunds
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
        do {
            while try await readBatch(partition) >= batch, !Task.isCancelled {}
            isAway.withLock { _ = $0.remove(partition) }
        } catch {
            guard !Task.isCancelled else { return }
            // Once for an outage, in whatever partition it is met first.
            let isNews = isAway.withLock { $0.insert(partition).inserted && $0.count == 1 }
            logger.log(
                level: isNews ? .warning : .debug,
                "outbox unreadable",
                metadata: ["partition": "\(partition)", "error": "\(error)"]
            )
        }
    }

    private func readBatch(_ partition: Int) async throws(StoreError) -> Int {
        let read = try await outbox.unacknowledged(
            partition: partition,
            consumer: owner,
            idle: abandonedAfter,
            limit: batch
        )
        guard !read.isEmpty else { return 0 }
        // After the entries were read: every endpoint that is older than they are is known then.
        try await directory?.refresh()
        var heldAgain = clock.now.advanced(by: heldAgainAfter)
        /// Nobody else may take for abandoned what takes us long.
        func hold(_ left: some Sequence<OutboxEntry>) async throws(StoreError) {
            guard clock.now >= heldAgain else { return }
            try await outbox.hold(partition: partition, consumer: owner, left.map(\.id))
            heldAgain = clock.now.advanced(by: heldAgainAfter)
        }
        for entry in read {
            try await hold(read)
            try await note(entry.event)
        }
        // What many are told waits for what few are: it takes long. A delivery reads its watch's events itself, so
        // their order is not that of marks.
        let (few, many) = read.reduce(into: ([OutboxEntry](), [OutboxEntry]())) {
            if $1.isForMany(directory) { $0.1.append($1) } else { $0.0.append($1) }
        }
        let entries = few + many
        var marks: Set<DeliveryMark> = []
        var isMarked = 0
        for index in entries.indices {
            marks.formUnion(entries[index].marks(directory))
            let isLast = index == few.count - 1 || index == entries.count - 1
            guard marks.count >= marksMax || isLast else { continue }
            var rest = Array(marks)[...]
            while !rest.isEmpty {
                try await hold(entries[isMarked...])
                try await deliveries.mark(Array(rest.prefix(marksMax)))
                // What is not acknowledged is marked by others, or by us when we are back.
                guard !Task.isCancelled else { return 0 }
                rest = rest.dropFirst(marksMax)
            }
            let done = entries[isMarked...index].map(\.id)
            try await outbox.acknowledge(partition: partition, done)
            Counter(label: "poller_outbox_entries_total").increment(by: done.count)
            marks = []
            isMarked = index + 1
        }
        return entries.count
    }

    /// Takes what is told of a payment over into its order, before the entry is acknowledged.
    private func note(_ event: Event) async throws(StoreError) {
        do throws(StoreError) {
            try await orders?.note(event)
            try await refunds?.note(event)
        } catch .corrupt(let reason) {
            // An order of another release must not hold up what all others are told.
            logger.error(
                "order not understood",
                metadata: [
                    "order": "\(event.order?.description ?? "")", "event.id": "\(event.id)",
                    "error": "\(reason)",
                ]
            )
        }
    }
}

extension OutboxEntry {
    /// An event for more endpoints than this hurries for none of them, or thousands of one account would stand
    /// before the one of another.
    static var urgentMax: Int { 16 }

    /// Whether more endpoints want the event than can be told in a hurry.
    func isForMany(_ directory: EndpointDirectory?) -> Bool {
        (directory?.interested(in: event).count ?? 0) > Self.urgentMax
    }

    /// The deliveries the event makes necessary: inline URLs, and the endpoints that want it; of what tells
    /// of the cluster also the operators of the configuration.
    func marks(_ directory: EndpointDirectory?) -> [DeliveryMark] {
        let endpoints = directory?.interested(in: event) ?? []
        let operators = event.isForOperators ? directory?.operators ?? [] : []
        return (notify + operators).map { DeliveryMark(url: $0, watch: event.key) }
            + endpoints.map {
                DeliveryMark(
                    endpoint: $0,
                    watch: event.key,
                    isUrgent: endpoints.count <= Self.urgentMax
                )
            }
    }
}
