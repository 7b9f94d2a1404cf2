import Logging
import PollerIdentity
import PollerQueue
import PollerWatches
import Synchronization

/// Logs each event that is not understood once.
///
/// *Problem.* Deliveries and pages pass over such an event, because it must not hide the later ones. So an operator
/// would never learn why a receiver has a gap. Each attempt and each endpoint reads it again.
///
/// *Approach.* A process remembers the events that it has logged, up to a number, and then forgets all.
final class UnreadableEvents: Sendable {
    /// An event by its place.
    private struct Place: Hashable, Sendable {
        let item: ItemID
        let seq: Int
    }

    /// The most events that are remembered, some 100 KiB.
    private static let countMax = 1000

    private let logger: Logger
    private let logged = Mutex<Set<Place>>([])

    /// Creates a memory for one process.
    init(logger: Logger) {
        self.logger = logger
    }

    /// Logs an entry of a watch's log, unless that was done before.
    func report(_ key: WatchKey, seq: Int) {
        let isNew = logged.withLock { logged in
            if logged.count >= Self.countMax { logged = [] }
            return logged.insert(Place(item: key.id, seq: seq)).inserted
        }
        guard isNew else { return }
        logger.error(
            "event not understood",
            metadata: ["account": "\(key.account)", "source": "\(key.source)", "seq": "\(seq)"]
        )
    }
}
