import Poller
import Synchronization

/// When payments were last hinted by their customers' returns.
///
/// A class, because all requests share it. It forgets everything beyond a bound: the worst that
/// comes of it is one hint more.
final class HintTimes: Sendable {
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
