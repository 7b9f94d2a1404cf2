package import PollerIdentity
package import PollerQueue
import PollerWatches
import SafeNumbers

/// The pending events of one source for one endpoint: a cursor into the watch's log.
package struct Delivery: Hashable, Sendable {
    private struct Fields: Hashable, Sendable {
        let endpoint: EndpointID
        let url: NotifyURL?
        let watch: WatchKey
        let state: DeliveryState
    }

    private let fields: Box<Fields>

    /// Creates a delivery from the fields of a store.
    package init(endpoint: EndpointID, url: NotifyURL?, watch: WatchKey, state: DeliveryState) {
        fields = Box(Fields(endpoint: endpoint, url: url, watch: watch, state: state))
    }

    package var endpoint: EndpointID { fields.value.endpoint }
    /// The inline `notify` URL; `nil` for a registered endpoint, whose data is in the registry.
    package var url: NotifyURL? { fields.value.url }
    package var watch: WatchKey { fields.value.watch }
    package var state: DeliveryState { fields.value.state }

    /// Returns the item ID of the delivery of a source's events to an endpoint.
    package static func id(endpoint: EndpointID, watch: WatchKey) -> ItemID {
        ItemID(
            of: endpoint.description,
            watch.account.description,
            watch.kind.rawValue,
            watch.source.description
        )
    }
}

/// The public ID of a delivery: `dlv_7_q3Xo0bZ1kLpA`, its partition and its item.
///
/// With the partition one read finds the delivery. An ID from before a split is also found, with one read per part.
package struct DeliveryID: Hashable, Sendable, CustomStringConvertible {
    package let partition: Int
    package let item: ItemID

    package init(partition: Int, item: ItemID) {
        self.partition = partition
        self.item = item
    }

    /// Parses an ID.
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
                "delivery",
                "must be the ID of a delivery such as dlv_7_q3Xo0bZ1kLpA"
            )
        }
        self.partition = partition
        item = ItemID(unchecked: String(name))
    }

    package var description: String { "dlv_\(partition)_\(item)" }
}

/// The progress of a delivery.
///
/// *Limits*: counts and event numbers are kept from 0 to `SafeInteger.max`, so that increments cannot overflow.
package struct DeliveryState: Hashable, Sendable {
    /// The maximum number of remembered dead letters.
    ///
    /// An older one remains in the log of its watch, but a retry does not send it again.
    package static let deadMax = 20

    /// The `seq` of the last accepted or dead-lettered event; the next one is to be sent.
    package private(set) var cursor: Int
    /// The digest of that event, see `Event.digest`; `nil` if unknown.
    ///
    /// After a failover the log may contain a different event with the same number.
    package private(set) var cursorDigest: String?
    /// The failed attempts of the current event: the first of ``again``, or the one after the cursor.
    package var failures: Int
    /// The total number of attempts.
    package var attempts: Int
    /// The time of the next scheduled attempt after a failure.
    ///
    /// An earlier attempt, made because a new event was recorded, does not count towards the schedule if it fails.
    package var retryAt: Timestamp?
    /// The first failure of the current event; `nil` without one.
    package var failedSince: Timestamp?
    /// The newest event that was sent to the fallback endpoint.
    package var escalated: Int
    /// The dead letters, oldest first, at most ``deadMax``.
    package private(set) var dead: [Int]
    /// The events that are sent before new ones, even if the endpoint does not subscribe to them: requested retries of
    /// dead letters and, at a fallback, events that another endpoint did not accept.
    package private(set) var again: [Int]
    /// The events that are still to be sent to the fallback endpoint, whose delivery was leased when they were due; at
    /// most ``deadMax``.
    package private(set) var pendingFallback: [Int]

    /// Creates a state; the defaults are those of a delivery without attempts.
    package init(
        cursor: Int = 0,
        failures: Int = 0,
        attempts: Int = 0,
        retryAt: Timestamp? = nil,
        failedSince: Timestamp? = nil,
        escalated: Int = 0,
        dead: [Int] = [],
        again: [Int] = [],
        cursorDigest: String? = nil,
        pendingFallback: [Int] = []
    ) {
        self.cursor = SafeInteger.count(cursor)
        self.cursorDigest = cursorDigest
        self.failures = SafeInteger.count(failures)
        self.attempts = SafeInteger.count(attempts)
        self.retryAt = retryAt
        self.failedSince = failedSince
        self.escalated = SafeInteger.count(escalated)
        self.dead = dead.suffix(Self.deadMax).map(SafeInteger.count)
        self.again = again.suffix(Self.deadMax).map(SafeInteger.count)
        self.pendingFallback = pendingFallback.suffix(Self.deadMax).map(SafeInteger.count)
    }

    /// Settles an event that was accepted, or is no longer in the log (without a `digest`).
    package mutating func settle(_ seq: Int, digest: String? = nil) {
        end(seq, digest)
        dead.removeAll { $0 == seq }
    }

    /// Skips the unsubscribed events up to `seq`.
    ///
    /// `digest` is that of the last one.
    mutating func pass(_ seq: Int, digest: String?) {
        move(to: seq, digest)
    }

    /// Dead-letters an event.
    package mutating func deadLetter(_ seq: Int, digest: String? = nil) {
        end(seq, digest)
        dead.removeAll { $0 == seq }
        dead = Array((dead + [seq]).sorted().suffix(Self.deadMax))
    }

    /// Queues dead letters for another attempt, on a new schedule: those in `seqs`, or all if `nil`.
    package mutating func revive(_ seqs: Set<Int>? = nil) {
        let wanted = dead.filter { seqs?.contains($0) ?? true }
        guard !Set(wanted).isSubset(of: again) else { return }
        again = dead.filter { again.contains($0) || wanted.contains($0) }
        begin()
    }

    /// Dismisses the dead letters: they are not remembered, and no retry sends them again.
    package mutating func dismiss() {
        if again.contains(where: dead.contains) {
            again.removeAll(where: dead.contains)
            begin()
        }
        dead = []
    }

    /// Queues an event before new ones, even if the endpoint does not subscribe to it.
    package mutating func sendForced(_ seq: Int) {
        guard !again.contains(seq) else { return }
        again = Array((again + [seq]).suffix(Self.deadMax))
    }

    /// Records that the fallback must still receive an event.
    mutating func addPendingFallback(_ seq: Int) {
        guard !pendingFallback.contains(seq) else { return }
        pendingFallback = Array((pendingFallback + [seq]).suffix(Self.deadMax))
    }

    /// Records that the fallback is marked for an event.
    mutating func removePendingFallback(_ seq: Int) {
        pendingFallback.removeAll { $0 == seq }
    }

    /// Moves the cursor back, so that everything after `seq` is sent again, even accepted events.
    ///
    /// `digest` is that of the event at `seq`; `nil` if unknown.
    package mutating func rewind(to seq: Int, digest: String? = nil) {
        if seq == cursor, digest != nil { cursorDigest = digest }
        guard seq < cursor else { return }
        cursor = max(seq, 0)
        cursorDigest = digest
        escalated = min(escalated, cursor)
        dead.removeAll { $0 > cursor }
        again.removeAll { $0 > cursor }
        pendingFallback.removeAll { $0 > cursor }
        begin()
    }

    private mutating func end(_ seq: Int, _ digest: String?) {
        if again.contains(seq) {
            again.removeAll { $0 == seq }
        } else {
            move(to: seq, digest)
        }
        begin()
    }

    private mutating func move(to seq: Int, _ digest: String?) {
        guard seq > cursor else { return }
        cursor = seq
        cursorDigest = digest
    }

    private mutating func begin() {
        failures = 0
        retryAt = nil
        failedSince = nil
    }
}
