import PollerIdentity
import Synchronization

/// The accounts that Stripe rate-limits as a whole, each with the end of the limit.
///
/// An account's limit applies to all its lanes, but a lane learns only of its own 429 responses. Once a poll of this
/// process has hit the limit, polls of the account's other lanes are not sent, so those lanes slow down as well.
/// Other processes detect the limit with their own polls.
final class LimitedAccounts: Sendable {
    /// The maximum number of stored accounts; few accounts of one process are limited at the same time.
    private static let countMax = 1000

    private let ends = Mutex<[AccountID: Timestamp]>([:])

    /// Records that an account is limited until `end`.
    func note(_ account: AccountID, until end: Timestamp) {
        ends.withLock { ends in
            if ends.count >= Self.countMax { ends.removeAll() }
            ends[account] = max(end, ends[account] ?? end)
        }
    }

    /// Returns the remaining time of an account's limit, or `nil` if it is not limited.
    func remaining(of account: AccountID, at now: Timestamp) -> Duration? {
        ends.withLock { ends in
            guard let end = ends[account] else { return nil }
            // An end that is too far in the future was recorded before the clock was set back.
            guard now < end, end - now <= RetryAfter.longest else {
                ends[account] = nil
                return nil
            }
            return end - now
        }
    }
}
