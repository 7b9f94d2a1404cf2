import RedisClient

/// Every key of this system in Redis, made in one place.
///
/// A key of the queue is `<ns><kind>{p}<name>`. `<ns>` is `poller:` for watches and `poller:d:` for deliveries, which
/// use the same kind of queue. ``KeyKind`` lists the kinds and their contents. `{p}` is the partition as a hash tag, so
/// a partition is in one slot of a Redis Cluster and every operation is one script in one slot. The name is an item or
/// a lane, for kinds with one key each. The fields of their hashes are in StoreSchema.swift too.
///
/// Outside of the partitions there are:
///
/// | key | type | holds |
/// |---|---|---|
/// | `<ns>sweep{<account>}` | hash | an account's sweep (``SweepField``) |
/// | `<ns>unseen{<account>}` | zset | event → when the sweep saw it before any webhook, ms; at most 10,000 |
/// | `<ns>mark{<account>}<name>` | string | a mark of an event or a change, with its expiry |
/// | `<ns>paid{<account>}` | string | exists for a day after money arrived on an account |
/// | `<ns>reads{<account>}` | hash | the reads of an account (``UsageField``), thirty days |
/// | `<ns>refused` | hash | account → its rejected webhooks since one was accepted (``RefusedWebhooks``), two days |
/// | `poller:layout` | hash | `partitions`, `former`, `base` (``StoreLayout``); `format` and `release` (``StoreVersion``)
/// |
/// | `poller:repartition` | string | the process that adds partitions to the store (``RedisRepartition``) |
/// | `poller:secrets` | hash | the secrets shared by all processes (``SecretsField``), encrypted if there is a master
/// key |
/// | `poller:functions` | hash | libraries of functions, by release (``RedisFunctions``) |
/// | `poller:suppressed:<id>` | string | why a recipient is sent no mail, by a digest of the address |
/// | `poller:suppressedNote:<id>` | string | details for the list of that entry: time, account, masked address |
/// | `poller:refused:<id>` | string | when a relay first rejected a recipient as unknown, ms; ninety days |
/// | `poller:relay` | hash | the mail relay's rejections (``RedisRelayFailures``), a day |
/// | `poller:spent:<id>` | string | a stream token used in a URL, for its lifetime |
/// | `poller:stream:<name>` | stream | events for `redis+stream:<name>`, `<account>/<name>` for one account: `id`,
/// `seq`, `event`; about 10,000 |
///
/// Channels: ``NotificationChannel`` after `<ns>`, and `<ns>events:<source>` (payload: the event).
package struct Keys: Hashable, Sendable {
    /// The prefix of all keys, with its final colon.
    package let namespace: String
    /// The partition of each lane.
    let map: PartitionMap
    /// The number of partitions of the queue.
    package var partitions: Int { map.partitions }

    /// Creates the keys of one queue.
    package init(namespace: String, partitions: Int) {
        self.init(namespace: namespace, map: PartitionMap(partitions: partitions))
    }

    /// Creates the keys of one queue whose lanes are distributed by `map`.
    init(namespace: String, map: PartitionMap) {
        self.namespace = namespace
        self.map = map
    }

    /// Returns the partition's meta key; scripts make every other key from it.
    package func meta(_ partition: Int) -> String { key(.meta, partition) }

    /// Returns the keys that every script of a partition declares: its meta key, and one that never exists.
    ///
    /// While a Cluster moves a slot, Redis rejects (`TRYAGAIN`) a script that declares a key which does not exist. The
    /// second key is there for this. Without it a script could start and fail halfway, after its first writes, at a key
    /// that has moved. The second key also states the caller's lane layout, by which a partition that was split since
    /// rejects the call (``PartitionMap``).
    package func declared(_ partition: Int) -> [String] {
        [meta(partition), "\(namespace)never{\(partition)}\(map.mark(of: partition))"]
    }

    package func outbox(_ partition: Int) -> String { key(.outbox, partition) }

    func item(_ item: String, _ partition: Int) -> String { key(.item, partition, item) }

    /// Returns the key of the entries that background readers are processing.
    func suspects(_ partition: Int) -> String { key(.suspects, partition) }

    /// Returns the key of the entries that are set aside.
    func setAside(_ partition: Int) -> String { key(.setAside, partition) }

    /// Returns the key of the marking progress of the partition's entries with many recipients.
    func fanOuts(_ partition: Int) -> String { key(.fanOuts, partition) }

    /// Returns the key of a delivery's log of attempts.
    package func attempts(of item: String, _ partition: Int) -> String {
        key(.attempts, partition, item)
    }

    /// Returns the key of a watch's notes.
    package func notes(of item: String, _ partition: Int) -> String {
        key(.notes, partition, item)
    }

    /// Returns the key of the progress of an endpoint's last replay.
    package func replay(of lane: String) -> String {
        key(.replay, partition(of: lane), lane)
    }

    /// The key of the version of the endpoint registry; only for deliveries.
    package var registry: String { key(.registry, 0) }

    /// The key of the audit trail; only for watches.
    package var auditTrail: String { key(.auditTrail, 0) }

    /// The key of the number of registered endpoints per account; only for deliveries.
    var endpointCounts: String { key(.endpointCounts, 0) }

    /// The key of the registered endpoints; only for deliveries.
    var endpoints: String { key(.endpoints, 0) }

    /// Returns the key of a list of a kind, of the partition or of a lane in it.
    func list(_ kind: KeyKind, _ lane: String, _ partition: Int) -> String {
        key(kind, partition, lane)
    }

    /// Returns the pattern of the keys of items, of one partition or of all.
    func items(in partition: Int?) -> String {
        "\(namespace)\(KeyKind.item.rawValue){\(partition.map { "\($0)}" } ?? "")*"
    }

    /// Returns the item with a key, and the key of its long values; `nil` for another kind of key.
    func item(ofKey text: String) -> (id: String, key: String, long: String)? {
        guard let (partition, id) = itemLocation(key: text) else { return nil }
        return (id, text, key(.long, partition, id))
    }

    /// Returns the partition and the id of the item with a key; `nil` for another kind of key.
    func itemLocation(key text: String) -> (partition: Int, id: String)? {
        let prefix = "\(namespace)\(KeyKind.item.rawValue){"
        let parts = text.dropFirst(prefix.count).split(separator: "}", maxSplits: 1)
        guard text.hasPrefix(prefix), parts.count == 2, let partition = Int(count: parts[0]) else {
            return nil
        }
        return (partition, String(parts[1]))
    }

    /// The channel that wakes workers when an item becomes due earlier.
    package var wakeChannel: String { channel(.wake) }
    /// The channel for partitions with a leased item that was marked.
    package var markedChannel: String { channel(.marked) }

    /// The channel that notifies readers of the outbox of new events.
    package var recordedChannel: String { channel(.recorded) }

    /// Returns the channel on which services receive a source's events.
    package func events(of source: String) -> String { "\(namespace)events:\(source)" }

    /// Returns the key of the stream for events to `redis+stream:NAME`.
    package func stream(named name: String) -> String { "\(namespace)stream:\(name)" }

    package func partition(of lane: String) -> Int { map.partition(of: lane) }

    /// Returns the partition of a name that is not moved when the store gets more partitions.
    package func fixedPartition(of name: String) -> Int { map.fixedPartition(of: name) }

    private func key(_ kind: KeyKind, _ partition: Int, _ name: String = "") -> String {
        "\(namespace)\(kind.rawValue){\(partition)}\(name)"
    }

    private func channel(_ channel: NotificationChannel) -> String {
        "\(namespace)\(channel.rawValue)"
    }
}
