import Poller
import Synchronization

/// What customers' pages may cost: whoever holds a secret must not take the API from others.
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
