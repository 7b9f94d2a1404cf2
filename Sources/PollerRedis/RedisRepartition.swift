package import Logging
package import Poller
package import RedisClient

/// Gives a store more partitions while it is worked on.
///
/// *Problem*: how many partitions there are is part of every key, and says how many masters can share the work.
/// *Approach*: the number grows to a multiple, so that each partition is split into itself and new ones, one at a
/// time; the others do not notice. Of the one that is split nothing more is claimed, what is leased is waited for,
/// then nothing is written (whoever asks waits), what belongs into new partitions is copied there, taken out here,
/// and all of them are opened. Each stage stands in the partition (``SplitStage``) and each step may be done twice: whoever is
/// killed is followed by the next who says the same. Who does not know yet where lanes are is refused, and told
/// (``PartitionMap``).
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

    private let client: RedisClient
    private let layout: StoreLayout
    private let scripts: Scripts
    private let durability: RedisDurability?
    private let logger: Logger
    private let owner: OwnerID

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
        let work = PartitionSplit(
            partitions: partitions(of: queue),
            partition: partition,
            children: Array(stride(from: partition + former, to: layout.partitions, by: former))
        )
        let standing = try await work.stage(of: partition)
        if standing.stage == nil, standing.lanesAmong == layout.partitions {
            // A failover may have lost that they were.
            for child in work.children where try await work.stage(of: child).stage != nil {
                try await work.reach(.open, in: child)
            }
            return nil
        }
        try await work.tryRights()
        var outcome = Outcome()
        let began = ContinuousClock.now
        if standing.stage != .frozen, standing.stage != .copied {
            for child in work.children { try await work.reach(.filling, in: child) }
            try await work.reach(.closing, in: partition)
            try await drain(work)
        }
        let frozen = ContinuousClock.now
        let endpoints = queue == .deliveries ? try await registered() : []
        if standing.stage != .copied {
            try await whole(work) { () throws(StoreError) in
                try await work.passClock()
                try await work.eachMoving(endpoints) { part throws(StoreError) in
                    try await work.copy(part)
                }
            }
            try await work.reach(.copied, in: partition)
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
        outcome.closed = ContinuousClock.now - began
        return outcome
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
            let work = PartitionSplit(partitions: partitions(of: queue), partition: 0, children: [])
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
    private func registered() async throws(StoreError) -> [LaneID] {
        let key = RedisArgument.string(layout.deliveryKeys.endpoints)
        let reply = try await client.ask(RedisCommand("HKEYS", [key]))
        return (reply.array ?? []).compactMap(\.string)
            .map { LaneID(endpoint: EndpointID(unchecked: $0)) }
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

/// The beginning and the end: what stands in the layout.
extension RedisRepartition {
    /// Says that the store is to have so many partitions; processes that start from now on know of it.
    ///
    /// - Returns: the layout; that which there is, when the store is being given as many already.
    /// - Throws: ``InvalidInput`` when that many cannot be had, ``StoreError`` when Redis cannot be asked.
    package static func begin(
        _ layout: StoreLayout,
        partitions: Int,
        on client: RedisClient
    ) async throws -> StoreLayout {
        if layout.partitions == partitions { return layout }
        if layout.former != nil {
            throw InvalidInput(
                field: "partitions",
                message:
                    "the store is being given \(layout.partitions) partitions: run pollerd repartition "
                    + "\(layout.partitions) to the end first"
            )
        }
        guard layout.form >= StoreVersion.eventsOnce else {
            throw InvalidInput(
                field: "partitions",
                message:
                    "the store has form \(layout.form), whose programs cannot follow: run pollerd migrate apply first"
            )
        }
        guard partitions > layout.partitions, partitions % layout.partitions == 0,
            partitions <= StoreLayout.partitionsMax
        else {
            let fitting = stride(
                from: 2 * layout.partitions,
                through: StoreLayout.partitionsMax,
                by: layout.partitions
            )
            .prefix(4).map(String.init).joined(separator: ", ")
            throw InvalidInput(
                field: "partitions",
                message:
                    "the store has \(layout.partitions) partitions and can be given a multiple of them, "
                    + "\(StoreLayout.partitionsMax) at most"
                    + (fitting.isEmpty ? "" : ": \(fitting), …")
            )
        }
        let key = RedisArgument.string("\(layout.namespace):layout")
        _ = try await client.ask(
            RedisCommand(
                "HSET",
                [
                    key, .string(StoreLayout.partitionsField), RedisArgument(partitions),
                    .string(StoreLayout.baseField), RedisArgument(layout.base),
                    .string(StoreLayout.formerField), RedisArgument(layout.partitions),
                ]
            )
        )
        return StoreLayout(
            namespace: layout.namespace,
            partitions: partitions,
            base: layout.base,
            former: layout.partitions,
            form: layout.form
        )
    }

    /// Says that all partitions are split.
    package func end() async throws(StoreError) {
        let key = RedisArgument.string("\(layout.namespace):layout")
        _ = try await client.ask(RedisCommand("HDEL", [key, .string(StoreLayout.formerField)]))
    }

    /// Keeps others from doing the same for a while; false where another one does.
    ///
    /// A courtesy: two at once are refused what would do harm (split_write.lua), and cost pauses.
    package func hold(for span: Duration) async throws(StoreError) -> Bool {
        let key = RedisArgument.string("\(layout.namespace):repartition")
        let name = RedisArgument.string(owner.description)
        let set = RedisCommand("SET", [key, name, "NX", "PX", RedisArgument(span.ms)])
        if try await client.ask(set).string != nil { return true }
        guard try await client.ask(RedisCommand("GET", [key])).string == owner.description else {
            return false
        }
        _ = try await client.ask(RedisCommand("PEXPIRE", [key, RedisArgument(span.ms)]))
        return true
    }

    /// Lets others.
    package func letGo() async throws(StoreError) {
        let key = RedisArgument.string("\(layout.namespace):repartition")
        guard try await client.ask(RedisCommand("GET", [key])).string == owner.description else {
            return
        }
        _ = try await client.ask(RedisCommand("DEL", [key]))
    }
}
