import Poller
package import PollerQueue
package import RedisClient

/// Where a cluster's data is: its namespace and among how many partitions.
///
/// *Shape*: hash `<ns>layout`. `partitions`, how many there are; `base`, how many the store was created with,
/// where these are others; `former`, how many there were, while the store is given more (``RedisRepartition``);
/// `form`, how it is written (``StoreVersion``).
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
    /// The form of its records (``StoreVersion``).
    package let form: Int

    /// A layout that has been agreed on.
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
        if let known = try await stored(on: client, namespace: namespace) { return known }
        let key = "\(namespace):layout"
        do throws(RedisError) {
            // Before the store is there: whoever reads it then finds the form it has.
            try await StoreVersion.begin(key, on: client)
            _ = try await AgreedField.value(
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

    /// What the store says of its layout; reads and never writes.
    ///
    /// - Parameters:
    ///   - client: the connection; it must be running.
    ///   - namespace: as configured, without the colon.
    /// - Returns: the layout; nil where the store has none, because it is empty.
    /// - Throws: ``StoreError`` when Redis cannot be asked or holds something else at the key.
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
        let fields = try await client.ask(read).array ?? []
        guard fields.count == 4 else { throw .corrupt("\(key) holds no layout") }
        if fields[0] == .null { return nil }
        guard let form = fields[3].int else { throw .corrupt("\(key) holds no form") }
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

/// What becomes of the layout while processes work by it.
///
/// Problem: a process reads the layout when it starts. A Redis that comes back empty has none, and whoever starts
/// next would make one with as many partitions as new stores get, beside processes that place lanes among others.
/// A copy from before a repartition has another one.
///
/// Approach: each process looks every few seconds. Where there is none it writes back what it knows, as it does
/// with the roots (``RedisSecrets``). Where there is another it cannot go by that one, because what it has read
/// and claimed is placed by its own: it says that it is to be started again.
extension StoreLayout {
    /// How a store stands to a process that works by a layout.
    package enum Standing: Hashable, Sendable {
        /// It has that layout, or one that such a process may work on.
        case fits
        /// It has none.
        case missing
        /// It has another one: the process is to be started again.
        case other(StoreLayout)

        /// How a store that says `stored` stands to a process that works by `known`.
        package init(of stored: StoreLayout?, to known: StoreLayout) {
            guard let stored else {
                self = .missing
                return
            }
            self = known.isFit(for: stored) ? .fits : .other(stored)
        }
    }

    /// How the store stands to who works by this layout; reads and never writes.
    package func standing(on client: RedisClient) async throws(StoreError) -> Standing {
        Standing(of: try await Self.stored(on: client, namespace: namespace), to: self)
    }

    /// Writes this layout into a store that has none any more, all of it at once.
    ///
    /// - Returns: whether it was written; false where there is one.
    package func restore(on client: RedisClient) async throws(StoreError) -> Bool {
        var fields: [RedisArgument] = [
            StoreVersion.field, RedisArgument(form),
            .string(Self.partitionsField), RedisArgument(partitions),
        ]
        if base != partitions { fields += [.string(Self.baseField), RedisArgument(base)] }
        if let former { fields += [.string(Self.formerField), RedisArgument(former)] }
        let key = "\(namespace):layout"
        return try await client.run(Scripts.live[.layoutRestore], [key], fields).int == 1
    }

    /// As logs and the doctor tell it.
    package var text: String {
        "\(partitions) partitions" + (base == partitions ? "" : " of \(base)")
            + (former.map { ", formerly \($0)" } ?? "") + ", form \(form)"
    }

    /// Whether who works by this layout may work on a store that has `stored`.
    ///
    /// Three things change while processes work, and each sees to them by itself: a repartition begins, which moves
    /// nothing before everybody knows of it; one ends; and a newer form, which concerns those that start from then on.
    private func isFit(for stored: StoreLayout) -> Bool {
        guard stored.base == base, stored.form >= form else { return false }
        if stored.partitions == partitions {
            return stored.former == nil || stored.former == former
        }
        return stored.former == partitions
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
        return replies.last ?? .null
    }
}
