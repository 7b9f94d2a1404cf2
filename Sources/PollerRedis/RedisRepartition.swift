package import Logging
import Poller
import PollerIdentity
package import PollerQueue
package import RedisClient

/// Gives a store more partitions while it is worked on.
///
/// *Problem*: how many partitions there are is part of every key, and says how many masters can share the work.
/// *Approach*: the number grows to a multiple, so that each partition is split into itself and new ones, one at a
/// time; the others do not notice. What has ended, most of what there is, is copied while the partition goes on.
/// Then nothing more is claimed of it, what is leased is waited for, and nothing is written (whoever asks waits):
/// the rest is copied, and of what was before what has changed since; it is taken out here, and all of them are
/// opened.
///
/// *Giving up*: whatever goes wrong before anything has left the partition, it goes on as it was (``SplitStage``),
/// and another try begins anew. From then on only deletions are left, which need no memory. Whoever is killed is
/// followed by the next who says the same; what an earlier one sends late is refused. Who does not know yet where
/// lanes are is refused, and told (``PartitionMap``).
///
/// What stays: the outbox, with its readers' places, since it names events by items and lanes; what is in partition
/// 0; named requests and incidents (``PartitionMap/fixedPartition(of:)``).
package struct RedisRepartition: Sendable {
    /// A queue whose partitions are split.
    package enum Queue: String, CaseIterable, Sendable {
        case watches
        case deliveries
    }

    /// What was done with one partition.
    package struct Outcome: Sendable {
        package var items = 0
        package var lanes = 0
        /// How long nothing was claimed in it.
        package var closed = Duration.zero
        /// How long nothing was written in it.
        package var frozen = Duration.zero
    }

    /// How often leases are looked at.
    private static let look = Duration.milliseconds(50)

    /// The share of its memory beyond which a server is given no copies.
    private static let fullest = 0.95
    /// After how many parts that are copied it is looked at again: about a thousand items, some MiB.
    private static let partsBetween = 16

    let client: RedisClient
    let layout: StoreLayout
    private let scripts: Scripts
    private let durability: RedisDurability?
    private let logger: Logger
    let owner: OwnerID

    /// The store of `layout`, which has begun to be given more partitions.
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

    /// Splits one of the former partitions of a queue, from wherever an earlier try has come.
    ///
    /// - Returns: what was done; nil when it is split already.
    /// - Throws: ``StoreError``; whatever was done stays, and the next try goes on there.
    package func split(
        _ queue: Queue,
        _ partition: Int
    ) async throws(StoreError) -> Outcome? {
        guard let former = layout.former else { return nil }
        let work = work(queue, partition, former)
        let standing = try await work.stage(of: partition)
        if standing.stage == nil, standing.lanesAmong == layout.partitions {
            // A failover may have lost that they were.
            for child in work.children where try await work.stage(of: child).stage != nil {
                try await work.reach(.open, in: child)
            }
            return nil
        }
        try await work.tryRights()
        let endpoints = queue == .deliveries ? try await registered() : []
        var outcome = Outcome()
        var closed = ContinuousClock.now
        var frozen = closed
        if standing.stage != .copied {
            do throws(StoreError) {
                (closed, frozen) = try await copy(work, endpoints)
            } catch {
                await giveUp(work, endpoints)
                throw error
            }
        }
        try await whole(work) { () throws(StoreError) in
            try await work.eachMoving(endpoints) { part throws(StoreError) in
                try await work.forget(part)
                outcome.items += part.isItems ? part.names.count : 0
                outcome.lanes += part.isItems ? 0 : part.names.count
            }
        }
        for child in work.children { try await work.reach(.open, in: child) }
        try await work.reach(.open, in: partition)
        outcome.frozen = ContinuousClock.now - frozen
        outcome.closed = ContinuousClock.now - closed
        return outcome
    }

    /// Copies all that moves; since when nothing is claimed, and since when nothing is written.
    private func copy(
        _ work: PartitionSplit,
        _ endpoints: [LaneID]
    ) async throws(StoreError) -> (closed: ContinuousClock.Instant, frozen: ContinuousClock.Instant)
    {
        try await work.reach(.before, in: work.partition)
        for child in work.children { try await work.reach(.filling, in: child) }
        try await work.emptyParts(endpoints)
        let before = try await work.histories()
        var copies = SplitCopies()
        var parts = 0
        try await work.eachEnded { part throws(StoreError) in
            if parts % Self.partsBetween == 0 { try await keepRoom(in: work.children) }
            parts += 1
            // It was open meanwhile, and has ended again: what it no longer has must not stay.
            let again = copies.known(of: part)
            if !again.names.isEmpty { try await work.forgetCopies(again) }
            copies.note(part, try await work.copy(part))
        }
        let closed = ContinuousClock.now
        try await work.reach(.closing, in: work.partition)
        try await drain(work)
        let frozen = ContinuousClock.now
        // Where a server has become another one since, it may lack some of them.
        var isAgain = try await work.histories() != before
        try await whole(work) { () throws(StoreError) in
            if isAgain {
                try await work.emptyParts(endpoints)
                copies = SplitCopies()
            }
            isAgain = true
            try await work.passClock()
            try await work.eachMoving(endpoints) { part throws(StoreError) in
                try await self.copyRest(part, work, &copies)
            }
            for gone in copies.gone { try await work.forgetCopies(gone) }
        }
        guard try await work.reach(.copied, in: work.partition) else {
            throw .unavailable("another one splits partition \(work.partition) by now")
        }
        return (closed, frozen)
    }

    /// Copies what was not copied before as it is now.
    private func copyRest(
        _ part: PartitionSplit.Part,
        _ work: PartitionSplit,
        _ copies: inout SplitCopies
    ) async throws(StoreError) {
        guard part.isItems else {
            try await work.copy(part)
            return
        }
        let sums = copies.hasAny(of: part) ? try await work.sums(of: part) : []
        let (changed, new) = copies.sort(part, sums)
        if !changed.names.isEmpty { try await work.forgetCopies(changed) }
        var rest = changed
        rest.names += new.names
        rest.lanes += new.lanes
        if !rest.names.isEmpty { copies.note(rest, try await work.copy(rest), isSeen: true) }
    }

    /// Lets a partition go on as it was, and gives back the memory that copies of it take; as far as that can be
    /// done now: whoever tries again begins with it.
    private func giveUp(_ work: PartitionSplit, _ endpoints: [LaneID]) async {
        do throws(StoreError) {
            guard try await work.isOurs() else { return }
            // False where it is copied by now: what the new parts hold is all there is then.
            guard try await work.reach(.before, in: work.partition) else { return }
            try await work.emptyParts(endpoints)
            for child in work.children { try await work.reach(.before, in: child) }
        } catch {
            logger.warning(
                "a partition may stand still, and copies of it may be left",
                metadata: ["partition": "\(work.partition)", "error": "\(error)"]
            )
        }
    }

    /// Throws where copies would take what is left of a server's memory: it would refuse what is accepted, too.
    private func keepRoom(in partitions: [Int]) async throws(StoreError) {
        for partition in partitions {
            let info = RedisCommand("INFO", ["memory"])
            let reply = try await client.ask(info, key: layout.watchKeys.meta(partition))
            let facts = (reply.string ?? "").split(whereSeparator: \.isNewline)
            func figure(_ name: String) -> Double {
                let line = facts.first { $0.hasPrefix("\(name):") }
                return line.flatMap { Double($0.dropFirst(name.count + 1)) } ?? 0
            }
            let most = figure("maxmemory")
            if most > 0, figure("used_memory") > most * Self.fullest { throw .full }
        }
    }

    /// Does something until no server has changed meanwhile, of which the one before may have had more of it.
    private func whole(
        _ work: PartitionSplit,
        _ body: () async throws(StoreError) -> Void
    ) async throws(StoreError) {
        var before: [String]
        repeat {
            before = try await work.histories()
            try await body()
        } while try await work.histories() != before
    }

    /// Opens what is still shut of a store whose partitions are all split: a failover may have lost that.
    ///
    /// - Returns: how many were.
    package func reopen() async throws(StoreError) -> Int {
        guard layout.former == nil, layout.partitions > layout.base else { return 0 }
        var count = 0
        for queue in Queue.allCases {
            let work = work(queue, 0, layout.partitions)
            for partition in 0..<layout.partitions {
                let standing = try await work.stage(of: partition)
                guard standing.stage != nil || standing.lanesAmong != layout.partitions else {
                    continue
                }
                try await work.reach(.open, in: partition)
                count += 1
            }
        }
        return count
    }

    /// Waits until nothing of a partition is leased, and freezes it.
    ///
    /// What a dead process has leased comes back by a claim, as ever.
    private func drain(_ work: PartitionSplit) async throws(StoreError) {
        var isFrozen = false
        while !isFrozen {
            // A failover may have lost that nothing is claimed.
            try await work.reach(.closing, in: work.partition)
            isFrozen = try await work.reach(.frozen, in: work.partition)
            if isFrozen { break }
            try await work.recover(as: owner)
            do {
                try await Task.sleep(for: Self.look)
            } catch {
                throw .unavailable("cancelled; run it again to go on")
            }
        }
    }

    /// The lanes of registered endpoints: of deliveries alone, and not all of them hold something.
    func registered() async throws(StoreError) -> [LaneID] {
        let key = RedisArgument.string(layout.deliveryKeys.endpoints)
        let reply = try await client.ask(RedisCommand("HKEYS", [key]))
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
