package import Logging
import PollerIdentity
package import PollerQueue
package import RedisClient

/// Adds partitions to a store in use.
///
/// *Problem*: the number of partitions is part of every key, and limits how many masters can share the work.
/// *Approach*: the number grows to a multiple, so each partition is split into itself and new ones, one at a time; the
/// others are not affected. Ended items, which are most of them, are copied while the partition is in use. Then claims
/// from it stop, leases are waited for, and writes stop (callers wait). The remaining items are copied, and ended items
/// that have changed since. The moved items are removed from the old partition, and all parts are opened.
///
/// *Failure*: if anything fails before an item has left the partition, the partition resumes as before
/// (``SplitStage``), and a new attempt starts over. After that only deletions are left, which need no memory. If the
/// process is killed, another one can continue with the same command; late calls of the earlier one are rejected. A
/// caller with an outdated layout is rejected and gets the new one (``PartitionMap``).
///
/// These are not moved: the outbox with its readers' positions, because it refers to events by items and lanes;
/// partition 0; idempotent requests and incidents (``PartitionMap/fixedPartition(of:)``).
package struct RedisRepartition: Sendable {
    /// A queue whose partitions are split.
    package enum Queue: String, CaseIterable, Sendable {
        case watches
        case deliveries
    }

    /// The result for one partition.
    package struct Outcome: Sendable {
        package var items = 0
        package var lanes = 0
        /// How long it was closed to claims.
        package var closed = Duration.zero
        /// How long it was closed to writes.
        package var frozen = Duration.zero
    }

    /// The interval at which leases are checked.
    private static let leaseCheckInterval = Duration.milliseconds(50)

    /// The share of memory use above which a server gets no copies.
    private static let memoryUseMax = 0.95
    /// How many parts are copied between two checks of memory: about a thousand items, some MiB.
    private static let partsPerMemoryCheck = 16

    let client: RedisClient
    let layout: StoreLayout
    private let scripts: Scripts
    private let durability: RedisDurability?
    private let logger: Logger
    let owner: OwnerID

    /// Creates the repartition of a store whose `layout` has begun to get more partitions.
    package init(
        client: RedisClient,
        layout: StoreLayout,
        scripts: Scripts = .live,
        durability: RedisDurability? = nil,
        owner: OwnerID,
        logger: Logger
    ) {
        self.client = client
        self.layout = layout
        self.scripts = scripts
        self.durability = durability
        self.owner = owner
        self.logger = logger
    }

    /// Splits one of the former partitions of a queue, from the stage an earlier attempt has reached.
    ///
    /// - Returns: the result; `nil` if it is split already.
    /// - Throws: ``StoreError``; completed work stays, and the next attempt continues there.
    package func split(
        _ queue: Queue,
        _ partition: Int
    ) async throws(StoreError) -> Outcome? {
        guard let former = layout.former else { return nil }
        let work = work(queue, partition, former)
        let status = try await work.stage(of: partition)
        if status.stage == nil, status.laneSpread == layout.partitions {
            // A failover may have lost that they were opened.
            for child in work.children where try await work.stage(of: child).stage != nil {
                try await work.enter(.open, in: child)
            }
            return nil
        }
        try await work.checkPermissions()
        let endpoints = queue == .deliveries ? try await registered() : []
        var outcome = Outcome()
        var closed = ContinuousClock.now
        var frozen = closed
        if status.stage != .copied {
            do throws(StoreError) {
                (closed, frozen) = try await copy(work, endpoints)
            } catch {
                await rollBack(work, endpoints)
                throw error
            }
        }
        try await repeatingOnFailover(work) { () throws(StoreError) in
            try await work.eachMoving(endpoints) { part throws(StoreError) in
                try await work.forget(part)
                outcome.items += part.isItems ? part.names.count : 0
                outcome.lanes += part.isItems ? 0 : part.names.count
            }
        }
        for child in work.children { try await work.enter(.open, in: child) }
        try await work.enter(.open, in: partition)
        outcome.frozen = ContinuousClock.now - frozen
        outcome.closed = ContinuousClock.now - closed
        return outcome
    }

    /// Copies everything that moves; returns since when claims stop, and since when writes stop.
    private func copy(
        _ work: PartitionSplit,
        _ endpoints: [LaneID]
    ) async throws(StoreError) -> (closed: ContinuousClock.Instant, frozen: ContinuousClock.Instant)
    {
        try await work.enter(.before, in: work.partition)
        for child in work.children { try await work.enter(.filling, in: child) }
        try await work.clearChildren(endpoints)
        let before = try await work.histories()
        var copies = SplitCopies()
        var parts = 0
        try await work.eachEnded { part throws(StoreError) in
            if parts % Self.partsPerMemoryCheck == 0 { try await checkMemory(in: work.children) }
            parts += 1
            // The item was reopened and has ended again: its outdated copy must be removed.
            let again = copies.copiedItems(of: part)
            if !again.names.isEmpty { try await work.forgetCopies(again) }
            copies.note(part, try await work.copy(part))
        }
        let closed = ContinuousClock.now
        try await work.enter(.closing, in: work.partition)
        try await drain(work)
        let frozen = ContinuousClock.now
        // A server that was replaced since may lack some of the copies.
        var isAgain = try await work.histories() != before
        try await repeatingOnFailover(work) { () throws(StoreError) in
            if isAgain {
                try await work.clearChildren(endpoints)
                copies = SplitCopies()
            }
            isAgain = true
            try await work.copyClock()
            try await work.eachMoving(endpoints) { part throws(StoreError) in
                try await self.copyRemaining(part, work, &copies)
            }
            for removed in copies.removed { try await work.forgetCopies(removed) }
        }
        guard try await work.enter(.copied, in: work.partition) else {
            throw .unavailable("another one splits partition \(work.partition) by now")
        }
        return (closed, frozen)
    }

    /// Copies items that were not copied before in their present state.
    private func copyRemaining(
        _ part: PartitionSplit.Part,
        _ work: PartitionSplit,
        _ copies: inout SplitCopies
    ) async throws(StoreError) {
        guard part.isItems else {
            try await work.copy(part)
            return
        }
        let sums = copies.hasAny(of: part) ? try await work.sums(of: part) : []
        let (changed, new) = copies.classify(part, sums)
        if !changed.names.isEmpty { try await work.forgetCopies(changed) }
        var rest = changed
        rest.names += new.names
        rest.lanes += new.lanes
        if !rest.names.isEmpty { copies.note(rest, try await work.copy(rest), isConfirmed: true) }
    }

    /// Resumes a partition as before, and frees the memory of its copies.
    ///
    /// If that fails now, the next attempt begins with it.
    private func rollBack(_ work: PartitionSplit, _ endpoints: [LaneID]) async {
        do throws(StoreError) {
            guard try await work.isOwner() else { return }
            // False if everything was copied: then the new parts have the only current data.
            guard try await work.enter(.before, in: work.partition) else { return }
            try await work.clearChildren(endpoints)
            for child in work.children { try await work.enter(.before, in: child) }
        } catch {
            logger.warning(
                "a partition may stand still, and copies of it may be left",
                metadata: ["partition": "\(work.partition)", "error": "\(error)"]
            )
        }
    }

    /// Throws if copies would use up a server's memory, because it would then reject requests, too.
    private func checkMemory(in partitions: [Int]) async throws(StoreError) {
        for partition in partitions {
            let info = RedisCommand("INFO", ["memory"])
            let reply = try await client.execute(info, key: layout.watchKeys.meta(partition))
            let facts = (reply.string ?? "").split(whereSeparator: \.isNewline)
            func number(_ name: String) -> Double {
                let line = facts.first { $0.hasPrefix("\(name):") }
                return line.flatMap { Double($0.dropFirst(name.count + 1)) } ?? 0
            }
            let most = number("maxmemory")
            if most > 0, number("used_memory") > most * Self.memoryUseMax { throw .full }
        }
    }

    /// Repeats `body` until no server was replaced meanwhile; a replaced server may have had more of the data.
    private func repeatingOnFailover(
        _ work: PartitionSplit,
        _ body: () async throws(StoreError) -> Void
    ) async throws(StoreError) {
        var before: [String]
        repeat {
            before = try await work.histories()
            try await body()
        } while try await work.histories() != before
    }

    /// Opens partitions that are still closed in a store whose partitions are all split.
    ///
    /// A failover may have lost that they were opened.
    ///
    /// - Returns: how many were closed.
    package func reopen() async throws(StoreError) -> Int {
        guard layout.former == nil, layout.partitions > layout.base else { return 0 }
        var count = 0
        for queue in Queue.allCases {
            let work = work(queue, 0, layout.partitions)
            for partition in 0..<layout.partitions {
                let status = try await work.stage(of: partition)
                guard status.stage != nil || status.laneSpread != layout.partitions else {
                    continue
                }
                try await work.enter(.open, in: partition)
                count += 1
            }
        }
        return count
    }

    /// Waits until the partition has no leases, and freezes it.
    ///
    /// Leases of a dead process are recovered by a claim, as always.
    private func drain(_ work: PartitionSplit) async throws(StoreError) {
        var isFrozen = false
        while !isFrozen {
            // A failover may have lost that the partition is closed to claims.
            try await work.enter(.closing, in: work.partition)
            isFrozen = try await work.enter(.frozen, in: work.partition)
            if isFrozen { break }
            try await work.recover(as: owner)
            do {
                try await Task.sleep(for: Self.leaseCheckInterval)
            } catch {
                throw .unavailable("cancelled; run it again to go on")
            }
        }
    }

    /// Returns the lanes of registered endpoints; only for deliveries, and some may be empty.
    func registered() async throws(StoreError) -> [LaneID] {
        let key = RedisArgument.string(layout.deliveryKeys.endpoints)
        let reply = try await client.execute(RedisCommand("HKEYS", [key]))
        return (reply.array ?? []).compactMap(\.string)
            .map { LaneID(endpoint: EndpointID(unchecked: $0)) }
    }

    func work(_ queue: Queue, _ partition: Int, _ former: Int) -> PartitionSplit {
        PartitionSplit(
            partitions: partitions(of: queue),
            partition: partition,
            children: Array(stride(from: partition + former, to: layout.partitions, by: former)),
            splitter: "\(owner).\(UInt32.random(in: .min ... .max))"
        )
    }

    private func partitions(of queue: Queue) -> RedisPartitions {
        RedisPartitions(
            client: client,
            keys: queue == .watches ? layout.watchKeys : layout.deliveryKeys,
            scripts: scripts,
            logger: logger,
            durability: durability
        )
    }
}
