package import Poller
package import RedisClient

/// Where a cluster's data is: its namespace and how many partitions it was created with.
package struct StoreLayout: Hashable, Sendable {
    /// What a store on one Redis is created with: enough to spread the scripts' work over
    /// workers, few enough to look at each of them every second.
    package static let partitionsOnOneRedis = 16
    /// What a store on a Redis Cluster is created with: enough for every node of a large one to
    /// have a share.
    package static let partitionsOnCluster = 64

    /// As configured, without the colon: two clusters may share one Redis.
    package let namespace: String
    package let partitions: Int

    /// A layout that has been agreed on.
    package init(namespace: String, partitions: Int) {
        self.namespace = namespace
        self.partitions = partitions
    }

    /// Reads the layout of the store, or creates the store with `partitions` when it is new.
    ///
    /// - Parameters:
    ///   - client: the connection; it must be running.
    ///   - namespace: 1–32 letters, digits, `_`, `-`, `.`; checked by the configuration.
    ///   - partitions: for a new store only; an existing one keeps its own.
    /// - Returns: the layout that every process of the cluster uses.
    /// - Throws: ``StoreError`` when Redis cannot be asked or holds something else at the key.
    package static func agreed(
        on client: RedisClient,
        namespace: String,
        partitions: Int = partitionsOnOneRedis
    ) async throws(StoreError) -> StoreLayout {
        let value: RedisValue
        do throws(RedisError) {
            value = try await AgreedField.value(
                of: "partitions",
                in: "\(namespace):layout",
                on: client,
                fresh: String(partitions)
            )
        } catch {
            throw StoreError(error)
        }
        guard let agreed = value.int, (1...1024).contains(agreed) else {
            throw .corrupt("\(namespace):layout holds no number of partitions")
        }
        return StoreLayout(namespace: namespace, partitions: agreed)
    }

    /// The keys of the queue of watches.
    package var watchKeys: Keys { Keys(namespace: "\(namespace):", partitions: partitions) }

    /// The keys of the queue of deliveries.
    package var deliveryKeys: Keys { Keys(namespace: "\(namespace):d:", partitions: partitions) }
}

/// A field of a hash that all processes of a cluster must agree on: whoever comes first sets it.
///
/// Read before it is written: a store that is full refuses every write that may need memory, and a
/// process must be able to start into it.
package enum AgreedField {
    /// The field's value: what is stored, or `fresh` when nobody has stored anything.
    package static func value(
        of field: String,
        in key: String,
        on client: RedisClient,
        fresh: String
    ) async throws(RedisError) -> RedisValue {
        let read = RedisCommand("HGET", [.string(key), .string(field)])
        let stored = try await client.send(read)
        if stored != .null { return stored }
        let write = RedisCommand("HSETNX", [.string(key), .string(field), .string(fresh)])
        let replies = try await client.pipeline([write, read])
        if let error = replies.lazy.compactMap(\.error).first { throw .reply(error) }
        return replies[1]
    }
}

extension StoreError {
    /// What an error of the client means to the callers of a store.
    ///
    /// A script that met a key on its way to another node had read before it wrote, so repeating is
    /// safe; every other answer that says "not now" means that nothing was executed.
    package init(_ error: RedisError) {
        switch error {
        case .reply(let reply):
            switch reply.kind {
            case .outOfMemory: self = .full
            case .other where reply.code == ScriptError.outOfOrder.rawValue:
                self = .outOfOrder("\(reply)")
            case .other: self = .corrupt("\(reply)")
            default: self = .unavailable("\(reply)")
            }
        case .protocolError(let detail), .replyTooLarge(let detail):
            self = .corrupt(detail)
        default:
            self = .unavailable("\(error)")
        }
    }
}
