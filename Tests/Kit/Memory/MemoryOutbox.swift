import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerWatches
import Synchronization

/// One partition of an in-memory outbox: a stream with one consumer group.
struct MemoryOutbox: Sendable {
    /// An entry's position: `<ms>-<n>`.
    private struct Position: Hashable, Comparable, Sendable, CustomStringConvertible {
        let ms: Int64
        let n: Int64

        init(ms: Int64, n: Int64) {
            self.ms = ms
            self.n = n
        }

        /// Reads `<ms>-<n>` or `<ms>`; `nil` for other text.
        init?(_ text: String) {
            let parts = text.split(separator: "-", maxSplits: 1)
            guard let first = parts.first, let ms = Int64(first) else { return nil }
            self.ms = ms
            guard parts.count == 2 else {
                n = 0
                return
            }
            guard let n = Int64(parts[1]) else { return nil }
            self.n = n
        }

        var description: String { "\(ms)-\(n)" }

        static func < (lhs: Position, rhs: Position) -> Bool {
            (lhs.ms, lhs.n) < (rhs.ms, rhs.n)
        }
    }

    /// The state of an entry in the consumer group.
    private enum Delivered: Hashable, Sendable {
        case never
        case at(Timestamp, OwnerID)
        case acknowledged
    }

    private struct Kept: Sendable {
        let position: Position
        let entry: OutboxEntry
        var delivered = Delivered.never
    }

    private let partition: Int
    private let flaws: Set<QueueFlaw>
    private var kept: [Kept] = []
    /// The marking progress of entries.
    private(set) var positions: [String: FanOutPosition] = [:]
    private var newest = Position(ms: 0, n: 0)
    private var trimmed = Position(ms: 0, n: 0)

    /// Creates an empty stream.
    init(partition: Int, flaws: Set<QueueFlaw>) {
        self.partition = partition
        self.flaws = flaws
    }

    /// The number of stored entries.
    var count: Int { kept.count }

    /// The number of unacknowledged entries.
    var unacknowledgedCount: Int { kept.count { $0.delivered != .acknowledged } }

    /// Adds an event.
    mutating func append(_ event: Event, notify: [NotifyURL], now: Timestamp) {
        newest =
            now.ms > newest.ms
            ? Position(ms: now.ms, n: 0) : Position(ms: newest.ms, n: newest.n + 1)
        let entry = OutboxEntry(
            id: newest.description,
            partition: partition,
            event: event,
            notify: notify
        )
        kept.append(Kept(position: newest, entry: entry))
    }

    /// Assigns entries that are neither acknowledged nor in progress at another consumer.
    mutating func handOut(
        to consumer: OwnerID,
        idle: Duration,
        limit: Int,
        now: Timestamp
    ) -> OutboxRead {
        var fresh: [OutboxEntry] = []
        var abandoned: [String] = []
        for index in kept.indices {
            switch kept[index].delivered {
            case .acknowledged: continue
            case .at(let then, _):
                guard now - then >= idle, abandoned.count < limit else { continue }
                abandoned.append(kept[index].entry.id)
            case .never:
                guard fresh.count < limit else { continue }
                fresh.append(kept[index].entry)
            }
            kept[index].delivered = .at(now, consumer)
        }
        return OutboxRead(fresh: fresh, abandoned: abandoned)
    }

    /// Returns the stored entries with these ids.
    func entries(_ ids: [String]) -> [OutboxEntry] {
        kept.filter { ids.contains($0.entry.id) }.map(\.entry)
    }

    /// Removes an entry as if it had been acknowledged; `nil` if it is not stored.
    mutating func remove(_ id: String) -> OutboxEntry? {
        guard let index = kept.firstIndex(where: { $0.entry.id == id }) else { return nil }
        positions[id] = nil
        return kept.remove(at: index).entry
    }

    /// Resets the idle time of entries that a consumer processes; returns the ids it no longer has.
    mutating func hold(
        _ entries: [PendingEntry],
        by consumer: OwnerID,
        now: Timestamp
    ) -> Set<String> {
        guard !flaws.contains(.ignoresActiveConsumers) else { return [] }
        var lost: Set<String> = []
        for entry in entries {
            let index = kept.firstIndex { $0.entry.id == entry.id }
            guard let index, case .at(_, let holder) = kept[index].delivered,
                holder == consumer || flaws.contains(.allowsRetakingEntries)
            else {
                lost.insert(entry.id)
                continue
            }
            kept[index].delivered = .at(now, consumer)
            if let position = entry.position { positions[entry.id] = position }
        }
        return lost
    }

    /// Acknowledges entries.
    ///
    /// Unknown ids belong to entries that are gone. Entries that were never assigned cannot be acknowledged.
    mutating func acknowledge(_ ids: Set<String>) {
        for index in kept.indices where ids.contains(kept[index].entry.id) {
            guard kept[index].delivered != .never else { continue }
            kept[index].delivered = .acknowledged
            positions[kept[index].entry.id] = nil
        }
    }

    /// When the oldest unacknowledged entry was recorded; `nil` if there is none.
    var acknowledgedUntil: Timestamp? {
        kept.first { $0.delivered != .acknowledged }.map { Timestamp(ms: $0.position.ms) }
    }

    /// Returns entries after a position; `nil` if the position is not an id.
    func entries(after position: String, limit: Int) -> [OutboxEntry]? {
        guard let position = Position(position) else { return nil }
        return kept.lazy.filter { $0.position > position }.prefix(max(limit, 0)).map(\.entry)
    }

    /// Returns the event of an entry; `nil` if it is no longer stored.
    func event(_ id: String) -> Event? {
        guard let position = Position(id) else { return nil }
        // Ascending, as entries were added.
        var (low, high) = (0, kept.count)
        while low < high {
            let middle = (low + high) / 2
            if kept[middle].position < position { low = middle + 1 } else { high = middle }
        }
        return low < kept.count && kept[low].position == position ? kept[low].entry.event : nil
    }

    /// The ends of the stream.
    var bounds: OutboxBounds {
        OutboxBounds(
            oldest: kept.first?.entry.id ?? "0-0",
            newest: newest.description,
            trimmed: trimmed.description
        )
    }

    /// Drops the oldest entries up to the first that is recent or unacknowledged.
    mutating func trim(before instant: Timestamp) {
        let sparesUnread = !flaws.contains(.trimsUnacknowledged)
        let count =
            kept.firstIndex {
                $0.position.ms >= instant.ms || sparesUnread && $0.delivered != .acknowledged
            } ?? kept.count
        guard count > 0 else { return }
        trimmed = kept[count - 1].position
        kept.removeFirst(count)
    }
}

extension OutboxEntry {
    /// The entry without its event.
    var reference: OutboxReference {
        OutboxReference(
            id: id,
            partition: partition,
            item: event.key.id,
            lane: event.key.lane,
            seq: event.seq
        )
    }
}

/// Notifies every subscriber of a change in a partition.
///
/// It is lossy like Redis' pub/sub: a slow subscriber loses the oldest notifications and receives a `nil` instead. This
/// is a class because a store and its subscribers share it.
final class NotificationStreams: Sendable {
    /// The notifications kept for a slow subscriber; each only names a partition, so a few are enough.
    private let bufferMax = 64
    private let state = Mutex(State())

    private struct State: Sendable {
        var next = 0
        var listeners: [Int: AsyncStream<Int?>.Continuation] = [:]
    }

    /// Returns notifications from now on.
    func stream() -> AsyncStream<Int?> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Int?.self,
            bufferingPolicy: .bufferingNewest(bufferMax)
        )
        let number = state.withLock { state in
            state.next += 1
            state.listeners[state.next] = continuation
            return state.next
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { $0.listeners[number] = nil }
        }
        return stream
    }

    /// Notifies all subscribers of changes in the partitions.
    func send(_ partitions: some Sequence<Int>) {
        let listeners = state.withLock { Array($0.listeners.values) }
        for partition in partitions {
            for listener in listeners {
                if case .dropped = listener.yield(partition) { listener.yield(nil) }
            }
        }
    }

    /// Notifies all subscribers that notifications may have been lost.
    func sendLoss() {
        for listener in state.withLock({ Array($0.listeners.values) }) { listener.yield(nil) }
    }
}
