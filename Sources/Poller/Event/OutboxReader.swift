package import Logging
import Metrics
import ServiceLifecycle
import Synchronization

/// Reads recorded events, marks the deliveries they make necessary and notes in orders what they say of
/// payments.
///
/// Marking is idempotent, and an entry is acknowledged only after its marks are stored: a crash
/// between the two marks again, and a delivery with nothing to tell rests at once. Of an event for many
/// endpoints one segment is marked again at most (``FanOut``).
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
        var held = PendingEntries(
            read,
            partition: partition,
            in: outbox,
            consumer: owner,
            clock: clock
        )
        // What another reader has taken over is its to note, to mark and to acknowledge.
        var noted: [OutboxEntry] = []
        for entry in read {
            try await held.renew()
            guard held.has(entry) else { continue }
            try await note(entry.event)
            noted.append(entry)
        }
        // What many are told waits for what few are: it takes long. A delivery reads its watch's events itself, so
        // their order is not that of marks.
        var few: [(OutboxEntry, Audience)] = []
        var many: [(OutboxEntry, Audience)] = []
        for entry in noted {
            let audience = directory?.interested(in: entry.event) ?? .nobody
            let isForMany = audience.isMore(than: OutboxEntry.urgentMax)
            if isForMany { many.append((entry, audience)) } else { few.append((entry, audience)) }
        }
        try await mark(few, &held)
        let positions = try await outbox.positions(partition: partition, of: many.map(\.0.id))
        for (entry, audience) in many where held.has(entry) && !Task.isCancelled {
            let operators = directory?.operators ?? []
            let fanOut = FanOut(
                entry,
                to: audience,
                operators: operators,
                after: positions[entry.id]
            )
            guard try await fanOut.run(in: deliveries, holding: &held) else { continue }
            try await acknowledge([entry], &held)
        }
        return Task.isCancelled ? 0 : read.count
    }

    /// Marks what is told to few, some events at a time.
    private func mark(
        _ few: [(OutboxEntry, Audience)],
        _ held: inout PendingEntries<Events, C>
    ) async throws(StoreError) {
        var marks: Set<DeliveryMark> = []
        var marked: [OutboxEntry] = []
        for (index, (entry, audience)) in few.enumerated() {
            marks.formUnion(entry.inlineMarks(directory?.operators ?? []))
            marks.formUnion(entry.marks(audience.next(.max, after: nil), isUrgent: true))
            marked.append(entry)
            guard marks.count >= marksMax || index == few.count - 1 else { continue }
            var rest = Array(marks)[...]
            while !rest.isEmpty {
                try await held.renew()
                try await deliveries.markAndCount(Array(rest.prefix(marksMax)))
                // What is not acknowledged is marked by others, or by us when we are back.
                guard !Task.isCancelled else { return }
                rest = rest.dropFirst(marksMax)
            }
            try await acknowledge(marked.filter { held.has($0) }, &held)
            (marks, marked) = ([], [])
        }
    }

    private func acknowledge(
        _ entries: [OutboxEntry],
        _ held: inout PendingEntries<Events, C>
    ) async throws(StoreError) {
        try await held.acknowledge(entries)
        Counter(label: "poller_outbox_entries_total").increment(by: entries.count)
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
