import PollerQueue
import Synchronization

/// The limits of customers' pages, so that the holder of one secret cannot exhaust the API.
final class ReturnLimits: Sendable {
    /// The maximum number of waiting pages per payment, enough for the tabs of one customer.
    static let waitersMax = 10
    /// The minimum interval between hints.
    ///
    /// A reload within it is not a hint.
    static let hintPause = Duration.seconds(10)
    /// The wait of a page for the poll that follows its customer's return.
    static let pollWait = Duration.seconds(2)

    private let waiters = Mutex<[ItemID: Int]>([:])

    /// Takes a waiting slot; `false` if the payment has too many.
    func enter(_ id: ItemID) -> Bool {
        waiters.withLock { waiters in
            guard waiters[id, default: 0] < Self.waitersMax else { return false }
            waiters[id, default: 0] += 1
            return true
        }
    }

    /// Releases the slot.
    func leave(_ id: ItemID) {
        waiters.withLock { waiters in
            let left = waiters[id, default: 1] - 1
            waiters[id] = left > 0 ? left : nil
        }
    }
}

/// The time of the last hint from the customer's return, by payment.
///
/// At its limit it drops all entries, which causes at most an additional hint per payment.
final class HintThrottle: Sendable {
    /// The maximum number of payments, about 1 MiB.
    private static let countMax = 10_000

    private let elapsed: @Sendable () -> Duration
    private let times = Mutex<[ItemID: Duration]>([:])

    init(elapsed: @escaping @Sendable () -> Duration) {
        self.elapsed = elapsed
    }

    /// Returns whether the last hint is older than the pause, and then records one now.
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
