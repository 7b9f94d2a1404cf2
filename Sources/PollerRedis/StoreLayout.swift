package import Poller
package import RedisClient

/// Where a cluster's data is: its namespace and among how many partitions.
///
/// *Shape*: hash `<ns>layout`. `partitions`, how many there are; `base`, how many the store was created with,
/// where these are others; `former`, how many there were, while the store is given more (``RedisRepartition``).
package struct StoreLayout: Hashable, Sendable {
    /// What a store on one Redis is created with: enough to spread the scripts' work over
    /// workers, few enough to look at each of them every second.
    package static let partitionsOnOneRedis = 16
    /// What a store on a Redis Cluster is created with: enough for every node of a large one to
    /// have a share.
    package static let partitionsOnCluster = 64
    /// The most there may be: each is looked at every second.
    package static let partitionsMax = 1024

    static let (partitionsField, baseField, formerField) = ("partitions", "base", "former")

    /// As configured, without the colon: two clusters may share one Redis.
    package let namespace: String
    package let partitions: Int
    /// How many it was created with.
    package let base: Int
    /// How many there were, while the store is given more.
    package let former: Int?
    /// The form of what is written (``StoreVersion``); older forms are read in any case.
    package let form: Int

    /// A layout that has been agreed on.
    package init(
        namespace: String,
        partitions: Int,
        base: Int? = nil,
        former: Int? = nil,
        form: Int = StoreVersion.current
    ) {
        self.namespace = namespace
        self.partitions = partitions
        self.base = base ?? partitions
        self.former = former
        self.form = form
    }

    /// How events are stored.
    var eventForm: EventForm {
        if form >= StoreVersion.eventsOnce { return .once }
        return form >= StoreVersion.packedEvents ? .packed : .json
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
        let key = "\(namespace):layout"
        let value: RedisValue
        let others: [RedisValue]
        let form: Int
        do throws(RedisError) {
            let known = RedisCommand("HEXISTS", [.string(key), "partitions"])
            if try await client.send(known).int == 0 {
                // Before the store is there: whoever reads it then finds the form it has.
                try await StoreVersion.begin(key, on: client)
            }
            value = try await AgreedField.value(
                of: "partitions",
                in: key,
                on: client,
                fresh: String(partitions)
            )
            form = try await StoreVersion.form(key, on: client)
            let read = RedisCommand(
                "HMGET",
                [.string(key), .string(baseField), .string(formerField)]
            )
            others = try await client.send(read).array ?? []
        } catch {
            throw StoreError(error)
        }
        guard let agreed = value.int, (1...partitionsMax).contains(agreed) else {
            throw .corrupt("\(key) holds no number of partitions")
        }
        let base = others.first?.int ?? agreed
        let former = others.last?.int
        guard base > 0, agreed % base == 0,
            former.map({ $0 > 0 && agreed % $0 == 0 && $0 % base == 0 }) ?? true
        else { throw .corrupt("\(key) holds numbers of partitions that do not fit") }
        return StoreLayout(
            namespace: namespace,
            partitions: agreed,
            base: base,
            former: former,
            form: form
        )
    }

    /// The keys of the queue of watches.
    package var watchKeys: Keys { Keys(namespace: "\(namespace):", map: map) }

    /// The keys of the queue of deliveries.
    package var deliveryKeys: Keys { Keys(namespace: "\(namespace):d:", map: map) }

    private var map: PartitionMap {
        PartitionMap(partitions: partitions, base: base, former: former)
    }
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
