import Poller
import Synchronization

/// The subscriptions of all event loops, by what they hear.
///
/// One table for all loops: the feed asks it once for an entry and learns which loops to wake; a loop that
/// nobody hears an event on does not run for it. A class, because the hub and the loops share it.
final class LiveListeners: Sendable {
    /// Where a subscription is: its loop, and its number there.
    struct Seat: Hashable, Sendable {
        let loop: Int
        let number: Int
    }

    private let table = Mutex(InterestTable<Seat>())

    /// Lets a subscription hear this.
    func add(_ seat: Seat, hearing interest: Interest) {
        // A hundred sources are some hundred digests: not while the feed waits.
        let routes = interest.routes
        table.withLock { $0.insert(seat, hearing: interest, on: routes) }
    }

    func remove(_ seat: Seat) {
        table.withLock { $0.remove(seat) }
    }

    /// Which of these somebody may hear.
    func mayHear(_ references: [OutboxReference]) -> [Bool] {
        table.withLock { table in references.map { table.mayHear($0) } }
    }

    /// The numbers of those who hear an event, by loop.
    func hearing(_ event: FeedEvent) -> [Int: [Int]] {
        table.withLock { $0.listeners(of: event) }
            .reduce(into: [:]) { $0[$1.loop, default: []].append($1.number) }
    }

    /// What is kept to find those who listen.
    var routeCount: Int { table.withLock { $0.routeCount } }
}
