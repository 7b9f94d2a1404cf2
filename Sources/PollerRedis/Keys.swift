import RedisClient

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
/// | `<ns>paid{<account>}` | string | exists for a day after money arrived on an account |
/// | `<ns>reads{<account>}` | hash | what was read of an account (``UsageField``), thirty days |
/// | `<ns>refused` | hash | account → its webhooks that were refused since one was accepted (``RefusedWebhooks``), two days |
/// | `poller:layout` | hash | `partitions`, `former`, `base` (``StoreLayout``); `form` and `release` (``StoreVersion``) |
/// | `poller:repartition` | string | who gives the store more partitions just now (``RedisRepartition``) |
/// | `poller:secrets` | hash | what all processes share (``SecretsField``), sealed where there is a master key |
/// | `poller:functions` | hash | libraries of functions, by release (``RedisFunctions``) |
/// | `poller:suppressed:<id>` | string | why a recipient is sent no mail, by a digest of the address |
/// | `poller:suppressedNote:<id>` | string | details for the list of that entry: time, account, masked address |
/// | `poller:refused:<id>` | string | when a relay first refused a recipient as unknown, ms; ninety days |
/// | `poller:relay` | hash | what the mail relay refuses (``RedisRelayTroubles``), a day |
/// | `poller:spent:<id>` | string | a stream token that has stood in a URL, for as long as it lives |
/// | `poller:stream:<name>` | stream | what `redis+stream:<name>` is told, `<account>/<name>` of one account: `id`, `seq`, `event`; about 10,000 |
///
/// Channels: ``NewsChannel`` behind `<ns>`, and `<ns>events:<source>` (payload: the event).
package struct Keys: Hashable, Sendable {
    /// With the colon at its end.
    package let namespace: String
    /// Which partition each lane is in.
    let map: PartitionMap
    /// How many partitions the queue has.
    package var partitions: Int { map.partitions }

    /// The keys of one queue.
    package init(namespace: String, partitions: Int) {
        self.init(namespace: namespace, map: PartitionMap(partitions: partitions))
    }

    /// The keys of one queue whose lanes are where `map` says.
    init(namespace: String, map: PartitionMap) {
        self.namespace = namespace
        self.map = map
    }

    /// The partition's meta key; scripts make every other key from it.
    package func meta(_ partition: Int) -> String { key(.meta, partition) }

    /// What every script of a partition declares: its meta key, and one that never exists.
    ///
    /// While a Cluster moves a slot, Redis refuses (`TRYAGAIN`) a script of whose declared keys one
    /// is missing, before it runs. Otherwise it would find out in the middle, at a key that has
    /// gone already, with its first writes done. The second one also says how the caller places lanes, by which
    /// a partition that was split since refuses it (``PartitionMap``).
    package func declared(_ partition: Int) -> [String] {
        [meta(partition), "\(namespace)never{\(partition)}\(map.mark(of: partition))"]
    }

    /// The partition's outbox.
    package func outbox(_ partition: Int) -> String { key(.outbox, partition) }

    /// An item.
    func item(_ item: String, _ partition: Int) -> String { key(.item, partition, item) }

    /// The entries that background readers are handling.
    func suspects(_ partition: Int) -> String { key(.suspects, partition) }

    /// The entries that are set aside.
    func setAside(_ partition: Int) -> String { key(.setAside, partition) }

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

    /// A list of a kind, of the partition or of a lane in it.
    func list(_ kind: KeyKind, _ lane: String, _ partition: Int) -> String {
        key(kind, partition, lane)
    }

    /// What the keys of items match, of one partition or of all.
    func items(in partition: Int?) -> String {
        "\(namespace)\(KeyKind.item.rawValue){\(partition.map { "\($0)}" } ?? "")*"
    }

    /// The item whose key this is, and where its long values are; nil for another key.
    func item(ofKey text: String) -> (id: String, key: String, long: String)? {
        guard let (partition, id) = placeOfItem(key: text) else { return nil }
        return (id, text, key(.long, partition, id))
    }

    /// The partition and the id of the item whose key this is; nil for another key.
    func placeOfItem(key text: String) -> (partition: Int, id: String)? {
        let prefix = "\(namespace)\(KeyKind.item.rawValue){"
        let parts = text.dropFirst(prefix.count).split(separator: "}", maxSplits: 1)
        guard text.hasPrefix(prefix), parts.count == 2, let partition = Int(count: parts[0]) else {
            return nil
        }
        return (partition, String(parts[1]))
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

    /// The partition of a lane.
    package func partition(of lane: String) -> Int { map.partition(of: lane) }

    /// The partition of what stays in its place when the store is given more partitions.
    package func fixedPartition(of name: String) -> Int { map.fixedPartition(of: name) }

    private func key(_ kind: KeyKind, _ partition: Int, _ name: String = "") -> String {
        "\(namespace)\(kind.rawValue){\(partition)}\(name)"
    }

    private func channel(_ channel: NewsChannel) -> String { "\(namespace)\(channel.rawValue)" }
}
