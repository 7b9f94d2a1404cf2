package import Poller
package import RedisClient

/// Every key this system has in Redis, made in one place.
///
/// A key of the queue is `<ns><kind>{p}<name>`: `<ns>` is `poller:` for watches and `poller:d:` for
/// deliveries, which are the same kind of queue; the kinds, with what each holds, are ``KeyKind``;
/// `{p}` is the partition as hash tag, so that a partition lives in one slot of a Redis Cluster and
/// every operation is one script in one slot; the name is an item or a lane where there is one of the
/// kind for each. The fields of their hashes are in StoreSchema.swift too.
///
/// Beside the partitions there are:
///
/// | key | type | holds |
/// |---|---|---|
/// | `<ns>sweep{<account>}` | hash | an account's sweep (``SweepField``) |
/// | `<ns>unseen{<account>}` | zset | event → when the sweep saw it before any webhook, ms; at most 10,000 |
/// | `<ns>mark{<account>}<name>` | string | a mark of an event or a change, with its expiry |
/// | `<ns>reads{<account>}` | hash | what was read of an account (``UsageField``), thirty days |
/// | `poller:layout` | hash | `partitions`, fixed when the store is created; `reader` and `release` (``StoreVersion``) |
/// | `poller:secrets` | hash | what all processes share (``SecretsField``), sealed where there is a master key |
/// | `poller:functions` | hash | libraries of functions, by release (``RedisFunctions``) |
/// | `poller:suppressed:<id>` | string | why a recipient is sent no mail, by a digest of the address |
/// | `poller:spent:<id>` | string | a stream token that has stood in a URL, for as long as it lives |
/// | `poller:stream:<name>` | stream | what `redis+stream:<name>` is told, `<account>/<name>` of one account: `id`, `seq`, `event`; about 10,000 |
///
/// Channels: ``NewsChannel`` behind `<ns>`, and `<ns>events:<source>` (payload: the event).
package struct Keys: Hashable, Sendable {
    /// With the colon at its end.
    package let namespace: String
    /// How many partitions the queue has.
    package let partitions: Int

    /// The keys of one queue.
    package init(namespace: String, partitions: Int) {
        self.namespace = namespace
        self.partitions = partitions
    }

    /// The partition's meta key; scripts make every other key from it.
    package func meta(_ partition: Int) -> String { key(.meta, partition) }

    /// What every script of a partition declares: its meta key, and one that never exists.
    ///
    /// While a Cluster moves a slot, Redis refuses (`TRYAGAIN`) a script of whose declared keys one
    /// is missing, before it runs. Otherwise it would find out in the middle, at a key that has
    /// gone already, with its first writes done.
    package func declared(_ partition: Int) -> [String] {
        [meta(partition), "\(namespace)never{\(partition)}"]
    }

    /// The partition's outbox.
    package func outbox(_ partition: Int) -> String { key(.outbox, partition) }

    /// An item.
    func item(_ item: String, _ partition: Int) -> String { key(.item, partition, item) }

    /// How far marking has come, of the partition's entries that are told to many.
    func fanOuts(_ partition: Int) -> String { key(.fanOuts, partition) }

    /// The log of attempts of a delivery.
    package func attempts(of item: String, _ partition: Int) -> String {
        key(.attempts, partition, item)
    }

    /// What was noted of a watch.
    package func notes(of item: String, _ partition: Int) -> String {
        key(.notes, partition, item)
    }

    /// How the last replay of an endpoint stands.
    package func replay(of lane: String) -> String {
        key(.replay, partition(of: lane), lane)
    }

    /// The version of the registry of endpoints; of the deliveries alone.
    package var registry: String { key(.registry, 0) }

    /// What was changed by whom; of the watches alone.
    package var auditTrail: String { key(.auditTrail, 0) }

    /// How many endpoints each account has registered; of the deliveries alone.
    var endpointCounts: String { key(.endpointCounts, 0) }

    /// The registered endpoints; of the deliveries alone.
    var endpoints: String { key(.endpoints, 0) }

    /// What the keys of items match, of one partition or of all.
    func items(in partition: Int?) -> String {
        "\(namespace)\(KeyKind.item.rawValue){\(partition.map { "\($0)}" } ?? "")*"
    }

    /// The item whose key this is, and where its long values are; nil for another key.
    func item(ofKey text: String) -> (id: String, key: String, long: String)? {
        let prefix = "\(namespace)\(KeyKind.item.rawValue){"
        let parts = text.dropFirst(prefix.count).split(separator: "}", maxSplits: 1)
        guard text.hasPrefix(prefix), parts.count == 2, let partition = Int(parts[0]) else {
            return nil
        }
        return (String(parts[1]), text, key(.long, partition, String(parts[1])))
    }

    /// Where workers are told that something became due earlier.
    package var wakeChannel: String { channel(.wake) }
    /// Partitions with a leased item that was marked.
    package var markedChannel: String { channel(.marked) }

    /// Where readers of the outbox are told that something was recorded.
    package var recordedChannel: String { channel(.recorded) }

    /// Where services listen for a source's events.
    package func events(of source: String) -> String { "\(namespace)events:\(source)" }

    /// The stream that services read what `redis+stream:NAME` is told from.
    package func stream(named name: String) -> String { "\(namespace)stream:\(name)" }

    /// The partition of a lane: CRC16 as Redis Cluster computes it, modulo ``partitions``.
    package func partition(of lane: String) -> Int {
        Int(CRC16.checksum(lane.utf8)) % partitions
    }

    private func key(_ kind: KeyKind, _ partition: Int, _ name: String = "") -> String {
        "\(namespace)\(kind.rawValue){\(partition)}\(name)"
    }

    private func channel(_ channel: NewsChannel) -> String { "\(namespace)\(channel.rawValue)" }
}

/// How a store keeps what is recorded (``StoreVersion``); all are read side by side.
enum EventForm {
    /// As JSON, in the log of its watch and in the outbox.
    case json
    /// As ``PackedEvent``, likewise.
    case packed
    /// As ``PackedEvent`` in the log alone; the outbox has its number.
    case once
}

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
    /// The form of what is written (``StoreVersion``); older forms are read in any case.
    package let form: Int

    /// A layout that has been agreed on.
    package init(namespace: String, partitions: Int, form: Int = StoreVersion.current) {
        self.namespace = namespace
        self.partitions = partitions
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
        } catch {
            throw StoreError(error)
        }
        guard let agreed = value.int, (1...1024).contains(agreed) else {
            throw .corrupt("\(key) holds no number of partitions")
        }
        return StoreLayout(namespace: namespace, partitions: agreed, form: form)
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
