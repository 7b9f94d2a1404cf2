import Poller
import Synchronization

@testable import PollerAPI

/// A feed that tells how many requests have begun to listen.
///
/// A class, because server and test share it.
final class ObservedFeed: EventFeed {
    private let base: any EventFeed
    private let count = Mutex(0)

    init(_ base: any EventFeed) {
        self.base = base
    }

    /// Requests that have listened so far.
    var listened: Int { count.withLock { $0 } }

    func listen(
        bufferMax: Int,
        matching matches: @escaping @Sendable (OutboxEntry) -> Bool
    ) -> AsyncStream<FeedItem> {
        defer { count.withLock { $0 += 1 } }
        return base.listen(bufferMax: bufferMax, matching: matches)
    }
}
