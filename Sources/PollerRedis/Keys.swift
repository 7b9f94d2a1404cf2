/// Every key this system has in Redis, in one place.
///
/// `<ns>` is `poller:` for watches and `poller:d:` for deliveries, which are the same kind of
/// queue; `{p}` is the partition as hash tag, so that a partition lives in one slot of a Redis
/// Cluster and every operation is one script in one slot.
///
/// | key | type | holds |
/// |---|---|---|
/// | `<ns>w{p}<id>` | hash | one item, short fields, a listpack (see below) |
/// | `<ns>o{p}<id>` | hash | its long values, only when it has some: `n` notify URLs by newline, `m` metadata, `p` client secret or endpoint URL, `k` order to charge, `y` last error |
/// | `<ns>l{p}<id>` | list | the item's own log: its last 100 events |
/// | `<ns>z{p}<lane>` | zset | the lane's wheel: item → due ms, for those not leased |
/// | `<ns>u{p}<lane>` | zset | the lane's urgent wheel, likewise |
/// | `<ns>a{p}` | zset | lane → ready time in µs; `+inf` while it is parked or only in flight |
/// | `<ns>b{p}` | zset | lane → ready time of its urgent wheel, likewise |
/// | `<ns>r{p}` | zset | leases: item → end ms |
/// | `<ns>f{p}` | hash | leases: item → token, owner, marks, wheel, due ms, lane, packed |
/// | `<ns>c{p}<lane>` | hash | lane, see below |
/// | `<ns>k{p}` | set | lanes with settings of their own |
/// | `<ns>h{p}` | zset | closed: item → closed ms |
/// | `<ns>x{p}` | zset | of those, quarantined: item → closed ms |
/// | `<ns>e{p}` | stream | outbox: `i` item, `e` event, `n` notify URLs; group `notifier` |
/// | `<ns>p{p}` | hash | in partition 0 only, live processes: owner → end ms and what it says of itself |
/// | `<ns>m{p}` | hash | partition meta: `trimmed`, the newest outbox id ever dropped; `turn`, counts claims, so that every fifth begins with the rest |
/// | `poller:layout` | hash | `partitions`, fixed when the store is created |
///
/// Fields of an item: `s` source · `i` facts, packed · `l` lane · `b` began ms · `x` deadline ms ·
/// `n` run · `q` seq · `v` state, packed · `g` token · `c` closed reason · `h` hinted ms · `e` has a
/// private value (2: and an order to charge) · `y` has an error · `j` leases in a row that ended by themselves.
///
/// Fields of a lane: `f` in flight · `t` GCRA arrival ms · `n` not before ms · `u` held until ms ·
/// `s` failures in a row · `o` times the circuit opened · `r` factor after a slow · `v` when that
/// begins to grow back, ms · `p` parked for want of a slot · `du`, `dz` its turn in the list of the
/// urgent and of the rest, thousandths of a ms · its settings: `x` paused, `i` interval µs, `b`
/// burst, `m` most in flight.
///
/// Channels: `<ns>wake` (payload: partition), `<ns>recorded` (payload: partition),
/// `<ns>events:<source>` (payload: the event).
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
    package func meta(_ partition: Int) -> String { "\(namespace)m{\(partition)}" }

    /// What every script of a partition declares: its meta key, and one that never exists.
    ///
    /// While a Cluster moves a slot, Redis refuses (`TRYAGAIN`) a script of whose declared keys one
    /// is missing, before it runs. Otherwise it would find out in the middle, at a key that has
    /// gone already, with its first writes done.
    package func declared(_ partition: Int) -> [String] {
        [meta(partition), "\(namespace)never{\(partition)}"]
    }

    /// The partition's outbox.
    package func outbox(_ partition: Int) -> String { "\(namespace)e{\(partition)}" }

    /// Where workers are told that something became due earlier.
    package var wakeChannel: String { "\(namespace)wake" }

    /// Where readers of the outbox are told that something was recorded.
    package var recordedChannel: String { "\(namespace)recorded" }

    /// Where services listen for a source's events.
    package func events(of source: String) -> String { "\(namespace)events:\(source)" }

    /// The partition of a lane: CRC16 as Redis Cluster computes it, modulo ``partitions``.
    package func partition(of lane: String) -> Int {
        Int(CRC16.checksum(lane.utf8)) % partitions
    }
}
