package import PollerIdentity
package import PollerQueue
package import PollerWatches

/// The recorded events in order, partition by partition.
///
/// There are two kinds of readers. The notifiers share one position that moves when an entry is acknowledged, so each
/// event is marked for delivery at least once. Live gateways each keep their own position and acknowledge nothing.
package protocol Outbox: Sendable {
    /// The number of partitions, 0 ..< `partitions`.
    var partitions: Int { get }

    /// The number of partitions when the store was created.
    ///
    /// A split partition is a multiple of this number after its origin.
    var basePartitions: Int { get }

    /// Hands a consumer unacknowledged entries: new ones, and the IDs of those that another consumer has held for
    /// longer than `idle`.
    ///
    /// A missing consumer group is created, from the start of the stream. `limit` applies to each of the two. Of the
    /// abandoned ones there may be fewer, but not fewer than ``OutboxRead/abandonedMax`` if there are more.
    func read(
        partition: Int,
        consumer: OwnerID,
        idle: Duration,
        limit: Int
    ) async throws(StoreError) -> OutboxRead

    /// Reads entries that ``read(partition:consumer:idle:limit:)`` has handed over, the oldest first.
    ///
    /// Deleted entries are left out.
    func handedOver(partition: Int, _ ids: [String]) async throws(StoreError) -> [OutboxEntry]

    /// Renews a consumer's claim on entries, so that their idle time starts again.
    ///
    /// A position is stored with its entry.
    ///
    /// Entries that the consumer no longer holds, because another one has taken them over or they are acknowledged, are
    /// not changed. Their IDs are returned.
    @discardableResult
    func hold(
        partition: Int,
        consumer: OwnerID,
        _ entries: [PendingEntry]
    ) async throws(StoreError) -> Set<String>

    /// Returns the marking positions of entries, for those with one.
    func positions(
        partition: Int,
        of ids: [String]
    ) async throws(StoreError) -> [String: FanOutPosition]

    /// Acknowledges entries and deletes their marking positions.
    func acknowledge(partition: Int, _ ids: [String]) async throws(StoreError)

    /// Returns an instant before which every recorded event has been acknowledged, by the clock of the entries' IDs.
    func acknowledgedUntil(partition: Int) async throws(StoreError) -> Timestamp

    /// Returns entries after a position, oldest first.
    ///
    /// `position` is an entry's ID, or `0` for the oldest one.
    func entries(
        partition: Int,
        after position: String,
        limit: Int
    ) async throws(StoreError) -> [OutboxEntry]

    /// Returns the references after each position, oldest first, without the events: one result for each position.
    ///
    /// The position in a partition is as in ``entries(partition:after:limit:)``; `limit` applies to each.
    func references(
        behind cursors: [OutboxReadPosition],
        limit: Int
    ) async throws(StoreError) -> [[OutboxReference]]

    /// Returns the events of references of any partitions, in their order; `nil` for an unreadable or deleted one.
    ///
    /// If events are delivered only once replicas have them, the replicas have these events.
    func events(of references: [OutboxReference]) async throws(StoreError) -> [Event?]

    /// Returns the IDs of the newest and the oldest entry of each partition, in order; `0-0` for an empty one.
    func bounds() async throws(StoreError) -> [OutboxBounds]

    /// Returns the same, with `nil` for an unreadable partition.
    ///
    /// It fails if none is readable.
    func reachableBounds() async throws(StoreError) -> [OutboxBounds?]

    /// Deletes acknowledged entries that are older than `retention`.
    func trim(partition: Int, retention: Duration) async throws(StoreError)

    /// Returns a sequence of partitions in which an event was recorded; `nil` when such messages may have been lost.
    ///
    /// The sequence is lossy by design.
    func arrivals() -> AsyncStream<Int?>
}

extension Outbox {
    /// The default for a store that was never split.
    package var basePartitions: Int { partitions }

    /// Reads like ``read(partition:consumer:idle:limit:)``, with abandoned entries decoded before the new ones.
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

    /// Returns all bounds or fails, as the default for a store that is available or unavailable as a whole.
    package func reachableBounds() async throws(StoreError) -> [OutboxBounds?] {
        try await bounds()
    }

    /// Whether a partition was split from another and has recorded nothing.
    ///
    /// A place in it may then be that of the other partition, and means the beginning.
    ///
    /// - Parameters:
    ///   - partition: its number.
    ///   - newest: the position of its newest entry.
    /// - Returns: true for a new partition without entries.
    package func isUntouched(_ partition: Int, newest: OutboxPosition) -> Bool {
        partition >= basePartitions && newest == .start
    }

    /// Returns the references after a position of one partition, oldest first, without the events.
    package func references(
        partition: Int,
        after position: String,
        limit: Int
    ) async throws(StoreError) -> [OutboxReference] {
        let cursor = OutboxReadPosition(partition: partition, position: position)
        return try await references(behind: [cursor], limit: limit).flatMap(\.self)
    }
}

/// The entries that a consumer receives.
package struct OutboxRead: Hashable, Sendable {
    /// The number of abandoned entries that a store may limit a read to.
    ///
    /// If one of them ends its process again, each of them is handled alone.
    package static let abandonedMax = 128

    /// The new entries, the oldest first.
    package let fresh: [OutboxEntry]
    /// The number of new entries that were read, with those whose event is gone or not understood.
    package let freshCount: Int
    /// The IDs of entries that another consumer has abandoned, and that may have crashed its process.
    package let abandoned: [String]

    /// Creates a value from the results of a store.
    ///
    /// `freshCount` is `nil` if each new entry that was read has its event.
    package init(fresh: [OutboxEntry], freshCount: Int? = nil, abandoned: [String]) {
        self.fresh = fresh
        self.freshCount = freshCount ?? fresh.count
        self.abandoned = abandoned
    }

    /// Whether no entry has an event to handle.
    var isEmpty: Bool { fresh.isEmpty && abandoned.isEmpty }

    /// Whether there may be more entries than those of a read with this limit.
    func isFull(limit: Int) -> Bool {
        freshCount >= limit || abandoned.count >= Self.abandonedMax
    }
}

/// The position of a reader in one partition of the outbox.
package struct OutboxReadPosition: Hashable, Sendable {
    package let partition: Int
    /// The ID of the last entry that was read, or `0` before the oldest.
    package let position: String

    package init(partition: Int, position: String) {
        self.partition = partition
        self.position = position
    }
}

/// An event in the outbox.
package struct OutboxEntry: Hashable, Sendable {
    /// The ID, `<ms>-<n>`, ascending within a partition.
    package let id: String
    package let partition: Int
    /// The `notify` URLs of the watch.
    package let notify: [NotifyURL]
    private let boxedEvent: Box<Event>

    /// Creates an entry from the values of a store.
    package init(id: String, partition: Int, event: Event, notify: [NotifyURL]) {
        self.id = id
        self.partition = partition
        self.notify = notify
        boxedEvent = Box(event)
    }

    package var event: Event { boxedEvent.value }
}

/// An entry that a consumer is processing.
package struct PendingEntry: Hashable, Sendable {
    package let id: String
    /// The position of its marking; `nil` keeps the stored one.
    package let position: FanOutPosition?

    package init(_ id: String, at position: FanOutPosition? = nil) {
        self.id = id
        self.position = position
    }
}

/// The ends of one partition of the outbox.
package struct OutboxBounds: Hashable, Sendable {
    /// The oldest entry, or `0-0`.
    package let oldest: String
    /// The newest entry ever recorded, or `0-0`.
    package let newest: String
    /// The newest entry ever deleted, or `0-0`: a reader at an earlier position has missed entries.
    package let trimmed: String

    /// Creates bounds from the values of a store.
    package init(oldest: String, newest: String, trimmed: String) {
        self.oldest = oldest
        self.newest = newest
        self.trimmed = trimmed
    }
}

/// A position in one partition of the outbox: `<ms>-<n>`, the ID format of Redis streams.
///
/// It consists of numbers, so that 9 sorts before 10.
package struct OutboxPosition: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The position before every entry.
    package static let start = OutboxPosition(ms: 0, n: 0)

    /// The time at which the entry was recorded, by the store's clock.
    package let ms: UInt64
    /// The number of the entry within its ms, from 0.
    package let n: UInt64

    /// Creates a position from its numbers.
    package init(ms: UInt64, n: UInt64) {
        self.ms = ms
        self.n = n
    }

    /// Parses an entry's ID; `nil` for any other text.
    package init?(_ text: some StringProtocol) {
        // Byte by byte, because each event that is read has one, with or without subscribers.
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

    /// The entry's ID.
    package var description: String { "\(ms)-\(n)" }

    /// Sorts by the time, then by the number.
    package static func < (lhs: OutboxPosition, rhs: OutboxPosition) -> Bool {
        (lhs.ms, lhs.n) < (rhs.ms, rhs.n)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    /// Whether a number of positions, one per partition, fits a store with this many partitions, now or before a split.
    package static func areOfStore(_ count: Int, partitions: Int) -> Bool {
        count > 0 && count <= partitions && partitions % count == 0
    }

    /// Returns positions in all partitions of a store, from those before a split.
    ///
    /// A new partition contains only later entries than its origin, and continues its numbers.
    package static func extended(_ cursors: [Self], to partitions: Int) -> [Self] {
        (0..<max(cursors.count, partitions)).map { cursors[$0 % cursors.count] }
    }
}

/// Encodes and decodes the cursors of clients over the whole outbox: one position per partition.
///
/// If a node has a live gateway, its cursors are used, so that a client can switch between long polls, event streams
/// and the WebSocket at any event.
package protocol EventCursors: Sendable {
    /// Returns the text of a cursor for a reader that has everything up to these positions.
    ///
    /// `accounts`: the accounts that the reader may access.
    func text(after positions: [OutboxPosition], accounts: AccountSet) -> String

    /// Parses the text of a cursor; `nil` for any other text.
    func positions(of text: String, partitions: Int, accounts: AccountSet) -> [OutboxPosition]?
}
