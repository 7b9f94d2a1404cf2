import PollerDeliveries
import Synchronization

/// The subscriptions of all event loops, indexed by interest.
///
/// One table serves all loops. The feed looks up an entry once and learns which loops to wake. A loop without a
/// subscriber for the event does not run.
final class LiveListeners: Sendable {
    /// The location of a subscription: its loop, and its number there.
    struct Location: Hashable, Sendable {
        let loop: Int
        let number: Int
    }

    private let table = Mutex(InterestTable<Location>())

    /// Adds a subscription with its interest.
    func add(_ location: Location, matching interest: Interest) {
        // Computed before the lock, because a hundred sources take some hundred digests and the feed would wait.
        let routes = interest.routes
        table.withLock { $0.insert(location, matching: interest, on: routes) }
    }

    func remove(_ location: Location) {
        table.withLock { $0.remove(location) }
    }

    /// Returns which of the references may have a subscriber.
    func mayMatch(_ references: [OutboxReference]) -> [Bool] {
        table.withLock { table in references.map { table.mayMatch($0) } }
    }

    /// Returns the numbers of an event's subscriptions, by loop.
    func matching(_ event: FeedEvent) -> [Int: [Int]] {
        table.withLock { $0.listeners(of: event) }
            .reduce(into: [:]) { $0[$1.loop, default: []].append($1.number) }
    }

    /// The number of index entries.
    var routeCount: Int { table.withLock { $0.routeCount } }
}
