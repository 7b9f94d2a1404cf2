package import PollerIdentity
package import PollerQueue

/// The recorded events in the order they were recorded, partition by partition.
///
/// Two kinds of readers: the notifiers share one position that moves when an entry is
/// acknowledged (each event is marked for delivery at least once), and live gateways each keep a
/// position of their own (nothing is ever marked).
package protocol Outbox: Sendable {
    /// Partitions 0 ..< `partitions` exist.
    var partitions: Int { get }

    /// How many there were when the store was made: what was split from one of them is a multiple of this behind it.
    var basePartitions: Int { get }

    /// Hands a consumer entries that no consumer has acknowledged: new ones, and the ids of those that another
    /// consumer has held for longer than `idle`. The consumer group is made when it is missing, from the start of the
    /// stream.
    ///
    /// `limit` applies to each of the two.
    func read(
        partition: Int,
        consumer: OwnerID,
        idle: Duration,
        limit: Int
    ) async throws(StoreError) -> OutboxRead

    /// Reads entries that ``read(partition:consumer:idle:limit:)`` has handed over, the oldest first.
    ///
    /// Entries that are no longer kept are left out.
    func handedOver(partition: Int, _ ids: [String]) async throws(StoreError) -> [OutboxEntry]

    /// Says that a consumer is still at work on entries: their idleness begins anew. With a position, how
    /// far it has come with marking one.
    ///
    /// Nothing is changed of those that the consumer has no more, because another one has taken them over
    /// or they are acknowledged: their ids are returned.
    @discardableResult
    func hold(
        partition: Int,
        consumer: OwnerID,
        _ entries: [PendingEntry]
    ) async throws(StoreError) -> Set<String>

    /// How far marking had come with entries, of those with which somebody had begun.
    func positions(
        partition: Int,
        of ids: [String]
    ) async throws(StoreError) -> [String: FanOutPosition]

    /// Marks entries as dealt with, and forgets how far marking them had come.
    func acknowledge(partition: Int, _ ids: [String]) async throws(StoreError)

    /// An instant before which every recorded event has been acknowledged, by the clock of the
    /// entries' ids.
    func settled(partition: Int) async throws(StoreError) -> Timestamp

    /// Entries after a position, oldest first.
    ///
    /// `position` is an entry's id, or `0` for the oldest that is kept.
    func entries(
        partition: Int,
        after position: String,
        limit: Int
    ) async throws(StoreError) -> [OutboxEntry]

    /// What stands behind places, oldest first, without its events: one answer for each place.
    ///
    /// A place's position is as of ``entries(partition:after:limit:)``; `limit` holds for each.
    func references(
        behind places: [OutboxPlace],
        limit: Int
    ) async throws(StoreError) -> [[OutboxReference]]

    /// The events of references, of whatever partitions, one for each in their order; nil for one that
    /// is not understood or no longer kept. Where events are told once replicas have them, they have these.
    func events(of references: [OutboxReference]) async throws(StoreError) -> [Event?]

    /// The id of the newest and of the oldest entry of each partition, in order; `0-0` where
    /// there is none.
    func bounds() async throws(StoreError) -> [OutboxBounds]

    /// The same, nil for a partition that cannot be read now; it fails where none can.
    func reachableBounds() async throws(StoreError) -> [OutboxBounds?]

    /// Drops what is older than `retention` and has been acknowledged.
    func trim(partition: Int, retention: Duration) async throws(StoreError)

    /// A sequence that yields a partition when an event was recorded in it, and nil when such
    /// news may have been lost. Lossy by design.
    func arrivals() -> AsyncStream<Int?>
}

extension Outbox {
    /// Of a store that was never given more.
    package var basePartitions: Int { partitions }

    /// As ``read(partition:consumer:idle:limit:)``, with abandoned entries decoded before the new ones.
    package func unacknowledged(
        partition: Int,
        consumer: OwnerID,
        idle: Duration,
        limit: Int
    ) async throws(StoreError) -> [OutboxEntry] {
        let read = try await read(
            partition: partition,
            consumer: consumer,
            idle: idle,
            limit: limit
        )
        return try await handedOver(partition: partition, read.abandoned) + read.fresh
    }

    /// Of a store that is whole or cannot be read.
    package func reachableBounds() async throws(StoreError) -> [OutboxBounds?] {
        try await bounds()
    }

    /// Whether nothing was ever recorded in a partition because it was split from another: a place in it may be
    /// that of the other one, and is the beginning.
    ///
    /// - Parameters:
    ///   - partition: its number.
    ///   - newest: the place of its newest entry.
    /// - Returns: true where it is a new part that has recorded nothing.
    package func isUntouched(_ partition: Int, newest: OutboxPosition) -> Bool {
        partition >= basePartitions && newest == .start
    }

    /// What stands behind a position of one partition, oldest first, without its events.
    package func references(
        partition: Int,
        after position: String,
        limit: Int
    ) async throws(StoreError) -> [OutboxReference] {
        let place = OutboxPlace(partition: partition, position: position)
        return try await references(behind: [place], limit: limit).flatMap(\.self)
    }
}

/// The entries that a consumer was handed.
package struct OutboxRead: Hashable, Sendable {
    /// New entries, the oldest first.
    package let fresh: [OutboxEntry]
    /// The ids of entries that another consumer has left, which may have ended its process.
    package let abandoned: [String]

    /// Puts both together, as a store does.
    package init(fresh: [OutboxEntry], abandoned: [String]) {
        self.fresh = fresh
        self.abandoned = abandoned
    }

    /// Whether there is nothing to do.
    var isEmpty: Bool { fresh.isEmpty && abandoned.isEmpty }
}

/// Where a reader stands in one partition of the outbox.
package struct OutboxPlace: Hashable, Sendable {
    package let partition: Int
    /// The id of the last entry that was read, or `0` before the oldest.
    package let position: String

    /// Names a place.
    package init(partition: Int, position: String) {
        self.partition = partition
        self.position = position
    }
}

/// One event in the outbox.
package struct OutboxEntry: Hashable, Sendable {
    /// `<ms>-<n>`, ascending within a partition.
    package let id: String
    package let partition: Int
    package let event: Event
    /// Where this watch's customers want to be told.
    package let notify: [NotifyURL]

    /// Puts an entry together, as a store does.
    package init(id: String, partition: Int, event: Event, notify: [NotifyURL]) {
        self.id = id
        self.partition = partition
        self.event = event
        self.notify = notify
    }
}

/// An entry that a consumer is at work on.
package struct PendingEntry: Hashable, Sendable {
    package let id: String
    /// How far marking it has come; nil for what is known of that.
    package let position: FanOutPosition?

    /// Names an entry.
    package init(_ id: String, at position: FanOutPosition? = nil) {
        self.id = id
        self.position = position
    }
}

/// The ends of one partition of the outbox.
package struct OutboxBounds: Hashable, Sendable {
    /// The oldest entry kept, or `0-0`.
    package let oldest: String
    /// The newest entry ever recorded, or `0-0`.
    package let newest: String
    /// The newest entry ever trimmed away, or `0-0`: a position before it has lost entries.
    package let trimmed: String

    /// Puts bounds together, as a store does.
    package init(oldest: String, newest: String, trimmed: String) {
        self.oldest = oldest
        self.newest = newest
        self.trimmed = trimmed
    }
}

/// A place in one partition of the outbox: `<ms>-<n>`, as Redis streams number their entries.
///
/// Numbers rather than the text, so that 9 comes before 10.
package struct OutboxPosition: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Before every entry.
    package static let start = OutboxPosition(ms: 0, n: 0)

    /// When the entry was recorded, by the store's clock.
    package let ms: UInt64
    /// Counts the entries of one ms, from 0.
    package let n: UInt64

    /// The place with these numbers.
    package init(ms: UInt64, n: UInt64) {
        self.ms = ms
        self.n = n
    }

    /// Reads an entry's id; nil when the text is none.
    package init?(_ text: some StringProtocol) {
        // Byte by byte: each event that is read has one, heard or not.
        var ms: UInt64?
        var (value, digits): (UInt64, Int) = (0, 0)
        for byte in text.utf8 {
            if byte == UInt8(ascii: "-"), ms == nil, digits > 0 {
                (ms, value, digits) = (value, 0, 0)
                continue
            }
            let (tens, isOver) = value.multipliedReportingOverflow(by: 10)
            guard Self.isDigit(byte), !isOver else { return nil }
            let (sum, isOverToo) = tens.addingReportingOverflow(
                UInt64(truncatingIfNeeded: byte - 0x30)
            )
            guard !isOverToo else { return nil }
            (value, digits) = (sum, digits + 1)
        }
        guard let ms, digits > 0 else { return nil }
        self.init(ms: ms, n: value)
    }

    /// The entry's id.
    package var description: String { "\(ms)-\(n)" }

    /// Orders by the time, then by the number.
    package static func < (lhs: OutboxPosition, rhs: OutboxPosition) -> Bool {
        (lhs.ms, lhs.n) < (rhs.ms, rhs.n)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    /// Whether so many places, one of each partition, may be of a store: it has so many, or had before it was given
    /// more.
    package static func areOfStore(_ count: Int, partitions: Int) -> Bool {
        count > 0 && count <= partitions && partitions % count == 0
    }

    /// Places in all partitions of a store, for one of which it had before it was given more: in a new one all was
    /// recorded later than in the one that it was split from, and goes on behind its numbers.
    package static func extended(_ places: [Self], to partitions: Int) -> [Self] {
        (0..<max(places.count, partitions)).map { places[$0 % places.count] }
    }
}

/// Writes and reads the places in the whole outbox that clients keep: one of each partition.
///
/// The live gateway's are used when a node has one, so that a client changes between long polls,
/// event streams and the WebSocket at any event.
package protocol EventCursors: Sendable {
    /// The text for a reader who has everything up to these places.
    ///
    /// `accounts`: those the reader may see.
    func text(after positions: [OutboxPosition], accounts: AccountSet) -> String

    /// The places a text stands for; nil when it is not one of ours.
    func positions(of text: String, partitions: Int, accounts: AccountSet) -> [OutboxPosition]?
}
