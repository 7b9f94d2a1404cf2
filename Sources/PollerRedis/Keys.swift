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
/// | `<ns>y{p}<id>` | list | of a delivery: its last 20 attempts, for 30 days after the newest |
/// | `<ns>n{…}<lane>` | string | of an endpoint: how its last replay stands, JSON, for a week |
/// | `<ns>z{p}<lane>` | zset | the lane's wheel: item → due ms, for those not leased |
/// | `<ns>u{p}<lane>` | zset | the lane's urgent wheel, likewise |
/// | `<ns>a{p}` | zset | lane → ready time in µs; `+inf` while it is parked or only in flight |
/// | `<ns>b{p}` | zset | lane → ready time of its urgent wheel, likewise |
/// | `<ns>s{p}` | zset | all score 0: the lanes that hold something, by name |
/// | `<ns>r{p}` | zset | leases: item → end ms |
/// | `<ns>f{p}` | hash | leases: item → token, owner, marks, wheel, due ms, lane, packed |
/// | `<ns>c{p}<lane>` | hash | lane, see below |
/// | `<ns>k{p}` | set | lanes with settings of their own |
/// | `<ns>h{p}` | zset | closed: item → closed ms |
/// | `<ns>x{p}` | zset | of those, quarantined: item → closed ms |
/// | `<ns>e{p}` | stream | outbox: `i` item, `e` event, `n` notify URLs; group `notifier` |
/// | `<ns>p{p}` | hash | in partition 0 only, live processes: owner → end ms and what it says of itself |
/// | `<ns>m{p}` | hash | partition meta: `trimmed`, the newest outbox id ever dropped; `turn`, counts claims, so that every fifth begins with the rest; `seen`, the queue's clock at a claim, at most two seconds ago while there are claims, ms; `back`, what it is ahead of the server's; `gap`, `gapend`, the last span nobody saw pass and its end by the server's clock, ms, `gaps` the sum of all, which fade in 90 days; `listed`, `s` is complete; `joined` and `confirmed`, written only so that replicas can be waited for; of deliveries `history` and `whole`, in which history of its server all marks of events before that ms are there |
/// | `<ns>g{p}` | hash | in partition 0 of the deliveries only, registered endpoints: id → `created ms, updated ms, account, JSON` |
/// | `<ns>j{p}` | zset | all score 0: `created ms, id`, their order in lists |
/// | `<ns>v{p}` | zset | endpoint → version of its last change |
/// | `<ns>t{p}` | zset | removed endpoint → version, the newest 1,000 |
/// | `<ns>q{p}` | hash | `v` version of the registry; `f` readers of an older one begin anew |
/// | `<ns>i{p}<key>` | string | a request to create: `fingerprint, endpoint, version`, for a day |
/// | `<ns>sweep{<account>}` | hash | an account's sweep: `o` owner, `u` until ms, `d` due ms, `c` cursor (`<ms` since, `=id` after), `t` caught up ms, `p` pause to `d` ms |
/// | `<ns>unseen{<account>}` | zset | event → when the sweep saw it before any webhook, ms; at most 10,000 |
/// | `<ns>mark{<account>}<name>` | string | a mark of an event or a change, with its expiry |
/// | `<ns>reads{<account>}` | hash | `r<day>` reads, `t<day>` transactions, thirty days |
/// | `poller:layout` | hash | `partitions`, fixed when the store is created |
/// | `poller:suppressed:<id>` | string | why a recipient is sent no mail, by a digest of the address |
/// | `poller:stream:<name>` | stream | what `redis+stream:<name>` is told: `id`, `seq`, `event`; about 10,000 |
///
/// Fields of an item: `s` source · `i` facts, packed · `l` lane · `b` began ms · `x` deadline ms ·
/// `n` run · `q` seq · `v` state, packed · `g` token · `c` closed reason · `h` hinted ms · `e` has a
/// private value (2: and an order to charge) · `y` has an error · `j` leases in a row that ended by themselves ·
/// `r` seq at which a hint opened it again.
///
/// Fields of a lane: `f` in flight · `t` GCRA arrival ms · `n` not before ms · `u` held until ms ·
/// `s` failures in a row · `o` times the circuit opened · `q` denials that held it · `w` of an endpoint: failing since ms · `r` factor after a slow · `v` when that
/// begins to grow back, ms · `p` parked for want of a slot · `l` listed in `s` · `e` empty, to be forgotten by its TTL · `du`, `dz` its turn in the list of the
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

    /// The log of attempts of a delivery.
    package func attempts(of item: String, _ partition: Int) -> String {
        "\(namespace)y{\(partition)}\(item)"
    }

    /// How the last replay of an endpoint stands.
    package func replay(of lane: String) -> String {
        "\(namespace)n{\(partition(of: lane))}\(lane)"
    }

    /// The version of the registry of endpoints; of the deliveries alone.
    package var registry: String { "\(namespace)q{0}" }

    /// Where workers are told that something became due earlier.
    package var wakeChannel: String { "\(namespace)wake" }

    /// Where readers of the outbox are told that something was recorded.
    package var recordedChannel: String { "\(namespace)recorded" }

    /// Where services listen for a source's events.
    package func events(of source: String) -> String { "\(namespace)events:\(source)" }

    /// The stream that services read what `redis+stream:NAME` is told from.
    package func stream(named name: String) -> String { "\(namespace)stream:\(name)" }

    /// The partition of a lane: CRC16 as Redis Cluster computes it, modulo ``partitions``.
    package func partition(of lane: String) -> Int {
        Int(CRC16.checksum(lane.utf8)) % partitions
    }
}
