package import PollerQueue
package import RedisClient

/// The location of a cluster's data: its namespace and its number of partitions.
///
/// *Shape*: hash `<ns>layout`. `partitions`, their number; `base`, the number at the store's creation, if it differs;
/// `former`, the number before a repartition that is in progress (``RedisRepartition``); `format`, the store format
/// (``StoreVersion``).
package struct StoreLayout: Hashable, Sendable {
    /// The number of partitions of a new store on one Redis.
    ///
    /// It is large enough to spread the scripts' work over workers, and small enough to check each of them every
    /// second.
    package static let partitionsOnOneRedis = 16
    /// The number of partitions of a new store on a Redis Cluster.
    ///
    /// It is large enough for every node of a large cluster to have some.
    package static let partitionsOnCluster = 64
    /// The most partitions: each is checked every second.
    package static let partitionsMax = 1024

    static let (partitionsField, baseField, formerField) = ("partitions", "base", "former")

    /// The configured name, without the colon, so that two clusters may share one Redis.
    package let namespace: String
    package let partitions: Int
    /// The number of partitions at the store's creation.
    package let base: Int
    /// The number of partitions before the repartition in progress.
    package let former: Int?
    /// The format of its records (``StoreVersion``).
    package let form: Int

    /// Creates a layout that all processes share.
    package init(
        namespace: String,
        partitions: Int,
        base: Int? = nil,
        former: Int? = nil,
        form: Int = StoreVersion.live.current
    ) {
        self.namespace = namespace
        self.partitions = partitions
        self.base = base ?? partitions
        self.former = former
        self.form = form
    }

    /// Reads the layout of the store, or creates the store with `partitions` if it is new.
    ///
    /// - Parameters:
    ///   - client: the connection; it must be running.
    ///   - namespace: 1–32 letters, digits, `_`, `-`, `.`; checked by the configuration.
    ///   - partitions: for a new store only; an existing one keeps its own.
    /// - Returns: the layout that every process of the cluster uses.
    /// - Throws: ``StoreError`` if Redis is unavailable or holds another value at the key.
    package static func loadOrCreate(
        on client: RedisClient,
        namespace: String,
        partitions: Int = partitionsOnOneRedis
    ) async throws(StoreError) -> StoreLayout {
        if let known = try await stored(on: client, namespace: namespace) { return known }
        let key = "\(namespace):layout"
        do throws(RedisError) {
            // Written before the store exists: a process that reads the store then finds its format.
            try await StoreVersion.begin(key, on: client)
            _ = try await SharedHashField.value(
                of: partitionsField,
                in: key,
                on: client,
                fresh: String(partitions)
            )
        } catch {
            throw StoreError(error)
        }
        guard let made = try await stored(on: client, namespace: namespace) else {
            throw .unavailable("\(key) was emptied while the store was made")
        }
        return made
    }

    /// Reads the stored layout; it never writes.
    ///
    /// - Parameters:
    ///   - client: the connection; it must be running.
    ///   - namespace: as configured, without the colon.
    /// - Returns: the layout; `nil` if the store has none, because it is empty.
    /// - Throws: ``StoreError`` if Redis is unavailable or holds another value at the key.
    package static func stored(
        on client: RedisClient,
        namespace: String
    ) async throws(StoreError) -> StoreLayout? {
        let key = "\(namespace):layout"
        let read = RedisCommand(
            "HMGET",
            [
                .string(key), .string(partitionsField), .string(baseField), .string(formerField),
                StoreVersion.field,
            ]
        )
        let fields = try await client.execute(read).array ?? []
        guard fields.count == 4 else { throw .corrupt("\(key) holds no layout") }
        if fields[0] == .null { return nil }
        guard let form = fields[3].int else { throw .corrupt("\(key) holds no format") }
        guard let partitions = fields[0].int, (1...partitionsMax).contains(partitions) else {
            throw .corrupt("\(key) holds no number of partitions")
        }
        // A store that was never given more partitions has neither.
        let base = fields[1].isNull ? partitions : fields[1].int
        let former = fields[2].isNull ? nil : fields[2].int
        guard let base, fields[2].isNull || former != nil, base > 0, partitions % base == 0,
            former.map({ $0 > 0 && partitions % $0 == 0 && $0 % base == 0 }) ?? true
        else { throw .corrupt("\(key) holds numbers of partitions that do not fit") }
        return StoreLayout(
            namespace: namespace,
            partitions: partitions,
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

/// A field of a hash on which all processes of a cluster must agree: the first process sets it.
///
/// It is read before it is written. A full store rejects every write that may need memory, and a process must be able
/// to start with such a store.
package enum SharedHashField {
    /// Returns the field's value: the stored one, or `fresh` if there is none.
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
        return replies.last ?? .null
    }
}
