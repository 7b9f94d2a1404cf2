package import Poller
import Synchronization

/// A store's clock that stands still until a test moves it.
///
/// A class, because the store and its test share it.
package final class VirtualTime: StoreTime {
    /// Where virtual time begins unless a test says otherwise: 2026-11-20T09:00:00.000Z.
    package static let start = Timestamp(ms: 1_795_165_200_000)

    private let current: Mutex<Timestamp>

    /// A clock that stands at `start`.
    package init(start: Timestamp = VirtualTime.start) {
        current = Mutex(start)
    }

    /// The instant the clock stands at.
    package var now: Timestamp { current.withLock { $0 } }

    /// Moves the clock forward; a negative span leaves it where it is.
    package func advance(by duration: Duration) {
        current.withLock { $0 = $0 + max(duration, .zero) }
    }

    /// Sets the clock forward or back, as an operator or a failover does: no time passes.
    package func step(by duration: Duration) {
        current.withLock { $0 = $0 + duration }
    }
}
