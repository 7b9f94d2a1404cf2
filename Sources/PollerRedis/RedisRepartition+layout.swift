import Poller
import PollerIdentity
package import PollerQueue
package import RedisClient

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

/// How a store stands that is being given more partitions.
package struct SplitStanding: Sendable {
    /// How many there are, or are to be.
    package let partitions: Int
    /// How many there were; nil when all are split.
    package let former: Int?
    /// How many of the former ones, of both queues, are split.
    package var split = 0
    /// Those of which nothing is claimed, or written, just now.
    package var still: [String] = []
    /// Those of them that can go on as they were.
    package var mayGoOn = 0
    /// Whether somebody is at work.
    package let isHeld: Bool
    /// How the store stands to the layout that was asked about.
    package let layout: StoreLayout.Standing
}

extension RedisRepartition {
    /// How the store stands, whatever this process knows of it; reads and never writes.
    ///
    /// Of a store without a layout it has what `layout` says.
    package static func standing(
        _ layout: StoreLayout,
        on client: RedisClient
    ) async throws(StoreError) -> SplitStanding {
        let stored = try await StoreLayout.stored(on: client, namespace: layout.namespace)
        let now = stored ?? layout
        let holder = RedisArgument.string("\(layout.namespace):repartition")
        let isHeld = try await client.ask(RedisCommand("EXISTS", [holder])).int == 1
        var standing = SplitStanding(
            partitions: now.partitions,
            former: now.former,
            isHeld: isHeld,
            layout: StoreLayout.Standing(of: stored, to: layout)
        )
        guard let former = now.former else { return standing }
        for queue in Queue.allCases {
            let keys = queue == .watches ? now.watchKeys : now.deliveryKeys
            let replies = try await client.ask(
                (0..<former).map { partition in
                    RedisCommand(
                        "HMGET",
                        [
                            .string(keys.meta(partition)), .string(MetaField.splitting.rawValue),
                            .string(MetaField.split.rawValue),
                        ]
                    )
                }
            )
            for (partition, reply) in replies.enumerated() {
                if let error = reply.error { throw StoreError(.reply(error)) }
                let stage = reply.array?.first?.string.flatMap(SplitStage.init(rawValue:))
                if let stage {
                    standing.still.append("partition \(partition) of the \(queue.rawValue)")
                    standing.mayGoOn += stage == .copied ? 0 : 1
                } else if reply.array?.last?.int == now.partitions {
                    standing.split += 1
                }
            }
        }
        return standing
    }

    /// Lets partitions go on as they were that stand still because whoever split them was killed, and takes out of
    /// the new ones what was copied.
    ///
    /// - Returns: how many stood still, and those that still do, because what moves is leaving them.
    package func stop() async throws(StoreError) -> (freed: Int, left: Int) {
        guard let former = layout.former else { return (0, 0) }
        var (freed, left) = (0, 0)
        for queue in Queue.allCases {
            let endpoints = queue == .deliveries ? try await registered() : []
            for partition in 0..<former {
                let work = work(queue, partition, former)
                let standing = try await work.stage(of: partition)
                if standing.lanesAmong == layout.partitions { continue }
                guard standing.stage != .copied else {
                    left += 1
                    continue
                }
                freed += standing.stage == nil ? 0 : 1
                try await work.reach(.before, in: partition)
                for child in work.children where try await work.stage(of: child).stage != nil {
                    try await work.reach(.filling, in: child)
                    try await work.empty(child, endpoints)
                    // It is as it was, empty: what comes late is refused without a stage, too.
                    try await work.reach(.before, in: child)
                }
            }
        }
        return (freed, left)
    }
}
