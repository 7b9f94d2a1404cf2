package import PollerIdentity
package import PollerQueue
import SafeNumbers

/// What one endpoint still has to be told about one source: a cursor into the watch's log.
package struct Delivery: Hashable, Sendable {
    package let endpoint: EndpointID
    /// Of an inline `notify`; nil for a registered endpoint, of which the registry tells the rest.
    package let url: NotifyURL?
    package let watch: WatchKey
    package let state: DeliveryState

    /// Puts a delivery together, as a store does.
    package init(endpoint: EndpointID, url: NotifyURL?, watch: WatchKey, state: DeliveryState) {
        self.endpoint = endpoint
        self.url = url
        self.watch = watch
        self.state = state
    }

    /// The short key of the delivery of a source's events to an endpoint.
    package static func id(endpoint: EndpointID, watch: WatchKey) -> ItemID {
        ItemID(
            of: endpoint.description,
            watch.account.description,
            watch.kind.rawValue,
            watch.source.description
        )
    }
}

/// The name of a delivery for operators: `dlv_7_q3Xo0bZ1kLpA`, its partition and its item.
///
/// The partition is part of it so that one read finds the delivery. One that was told before the partition was split
/// finds it too, with a read for each part.
package struct DeliveryID: Hashable, Sendable, CustomStringConvertible {
    package let partition: Int
    package let item: ItemID

    /// Names a delivery.
    package init(partition: Int, item: ItemID) {
        self.partition = partition
        self.item = item
    }

    /// Reads a name.
    package init(_ text: String) throws(InvalidInput) {
        let parts = text.split(separator: "_", maxSplits: 2, omittingEmptySubsequences: false)
        let isItem = { (byte: UInt8) in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        let (number, name) = (parts.dropFirst().first ?? "", parts.dropFirst(2).first ?? "")
        guard parts.count == 3, parts.first == "dlv", let partition = Int(decimal: number),
            partition >= 0, String(partition) == number, name.utf8.count == 12,
            name.utf8.allSatisfy(isItem)
        else {
            throw InvalidInput(
                field: "delivery",
                message: "must be the id of a delivery such as dlv_7_q3Xo0bZ1kLpA"
            )
        }
        self.partition = partition
        item = ItemID(unchecked: String(name))
    }

    package var description: String { "dlv_\(partition)_\(item)" }
}

/// How far a delivery has come.
///
/// *Limits*: counts and numbers of events are kept from 0 to `SafeInteger.max`, so that counting on cannot
/// overflow.
package struct DeliveryState: Hashable, Sendable {
    /// Events remembered as given up; one that is pushed out by newer ones is still in the log of
    /// its watch, but no longer sent again by a retry.
    package static let deadMax = 20

    /// The `seq` of the last event that was accepted or given up; the next one is to be sent.
    package private(set) var cursor: Int
    /// The beginning of that event's id, see ``EventID/digest``; nil where it is not known.
    ///
    /// After a failover the log may hold another event under the same number.
    package private(set) var told: String?
    /// Failed attempts of the event in hand: the first of ``again``, or the one after the cursor.
    package var failures: Int
    /// Attempts ever made.
    package var attempts: Int
    /// When the schedule has the next attempt after a failure.
    ///
    /// One made earlier, because something new was recorded, uses nothing of the schedule when it
    /// fails too.
    package var retryAt: Timestamp?
    /// When the event in hand failed first; nil while it has not.
    package var failedSince: Timestamp?
    /// The newest event of which the fallback endpoint was told.
    package var escalated: Int
    /// Events given up, oldest first, at most ``deadMax``.
    package private(set) var dead: [Int]
    /// What is sent before anything new, whatever the endpoint asked for: of the events given up
    /// those somebody wants sent again, and at a fallback those another endpoint did not accept.
    package private(set) var again: [Int]
    /// Events of which the fallback endpoint is still to be told, which somebody held when it was
    /// their time; at most ``deadMax``.
    package private(set) var owed: [Int]

    /// A state; by default that of a delivery nobody has tried.
    package init(
        cursor: Int = 0,
        failures: Int = 0,
        attempts: Int = 0,
        retryAt: Timestamp? = nil,
        failedSince: Timestamp? = nil,
        escalated: Int = 0,
        dead: [Int] = [],
        again: [Int] = [],
        told: String? = nil,
        owed: [Int] = []
    ) {
        self.cursor = SafeInteger.count(cursor)
        self.told = told
        self.failures = SafeInteger.count(failures)
        self.attempts = SafeInteger.count(attempts)
        self.retryAt = retryAt
        self.failedSince = failedSince
        self.escalated = SafeInteger.count(escalated)
        self.dead = dead.suffix(Self.deadMax).map(SafeInteger.count)
        self.again = again.suffix(Self.deadMax).map(SafeInteger.count)
        self.owed = owed.suffix(Self.deadMax).map(SafeInteger.count)
    }

    /// The event was accepted, or there is nothing left of it to send; then it has no `id`.
    package mutating func settle(_ seq: Int, _ id: EventID? = nil) {
        end(seq, id)
        dead.removeAll { $0 == seq }
    }

    /// The endpoint does not want the events up to this one.
    mutating func pass(_ event: Event) {
        move(to: event.seq, event.id)
    }

    /// The event will not be tried again by itself.
    package mutating func giveUp(_ seq: Int, _ id: EventID? = nil) {
        end(seq, id)
        dead.removeAll { $0 == seq }
        dead = Array((dead + [seq]).sorted().suffix(Self.deadMax))
    }

    /// Events given up, or (not nil) those of them that are named, are to be sent again, on a
    /// schedule that begins anew.
    package mutating func revive(_ seqs: Set<Int>? = nil) {
        let wanted = dead.filter { seqs?.contains($0) ?? true }
        guard !Set(wanted).isSubset(of: again) else { return }
        again = dead.filter { again.contains($0) || wanted.contains($0) }
        begin()
    }

    /// What was given up stays so: it is not remembered, and no retry sends it again.
    package mutating func dismiss() {
        if again.contains(where: dead.contains) {
            again.removeAll(where: dead.contains)
            begin()
        }
        dead = []
    }

    /// The event is sent before anything new, whatever the endpoint asked for.
    package mutating func sendAlso(_ seq: Int) {
        guard !again.contains(seq) else { return }
        again = Array((again + [seq]).suffix(Self.deadMax))
    }

    /// The fallback could not be told of the event yet.
    mutating func owe(_ seq: Int) {
        guard !owed.contains(seq) else { return }
        owed = Array((owed + [seq]).suffix(Self.deadMax))
    }

    /// The fallback was told of the event.
    mutating func pay(_ seq: Int) {
        owed.removeAll { $0 == seq }
    }

    /// Everything after `seq` is to be told anew, whether it was accepted or not.
    package mutating func rewind(to seq: Int) {
        guard seq < cursor else { return }
        cursor = max(seq, 0)
        told = nil
        escalated = min(escalated, cursor)
        dead.removeAll { $0 > cursor }
        again.removeAll { $0 > cursor }
        owed.removeAll { $0 > cursor }
        begin()
    }

    private mutating func end(_ seq: Int, _ id: EventID?) {
        if again.contains(seq) {
            again.removeAll { $0 == seq }
        } else {
            move(to: seq, id)
        }
        begin()
    }

    private mutating func move(to seq: Int, _ id: EventID?) {
        guard seq > cursor else { return }
        cursor = seq
        told = id?.digest
    }

    private mutating func begin() {
        failures = 0
        retryAt = nil
        failedSince = nil
    }
}
