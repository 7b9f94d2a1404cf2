import Poller
import PollerQueue
import Synchronization

/// What customers' pages may cost: the holder of one secret must not use up the API.
///
/// A class, because all requests share its counts.
final class ReturnLimits: Sendable {
    /// Pages of one payment that may wait at once: tabs of one customer, with room.
    static let waitersMax = 10
    /// A customer's return is a hint; loading the page again within this span is none.
    static let hintPause = Duration.seconds(10)

    private let waiters = Mutex<[ItemID: Int]>([:])

    /// Takes a place to wait in; false when a payment has too many.
    func enter(_ id: ItemID) -> Bool {
        waiters.withLock { waiters in
            guard waiters[id, default: 0] < Self.waitersMax else { return false }
            waiters[id, default: 0] += 1
            return true
        }
    }

    /// Gives the place back.
    func leave(_ id: ItemID) {
        waiters.withLock { waiters in
            let left = waiters[id, default: 1] - 1
            waiters[id] = left > 0 ? left : nil
        }
    }
}

/// When payments were last hinted by their customers' returns.
///
/// A class, because all requests share it. It forgets everything beyond a bound: the worst that
/// comes of it is one hint more.
final class HintThrottle: Sendable {
    /// Payments remembered: some 1 MiB.
    private static let countMax = 10_000

    private let elapsed: @Sendable () -> Duration
    private let times = Mutex<[ItemID: Duration]>([:])

    init(elapsed: @escaping @Sendable () -> Duration) {
        self.elapsed = elapsed
    }

    /// Whether the last hint is longer ago than this; then it is now.
    func isDue(_ id: ItemID, after pause: Duration) -> Bool {
        let now = elapsed()
        return times.withLock { times in
            if let last = times[id], now - last < pause { return false }
            if times.count >= Self.countMax { times.removeAll(keepingCapacity: true) }
            times[id] = now
            return true
        }
    }
}
