import Poller
import PollerIdentity
import Synchronization

/// Accounts that Stripe limits as a whole, and until when.
///
/// A limit of the account concerns every lane of it, and a lane learns only of its own 429s. What one of
/// them has met here ends the polls of the others before they are sent, so that they slow down as well; other
/// processes meet the limit themselves.
///
/// A class, because copies of an upstream with other credentials share it.
final class LimitedAccounts: Sendable {
    /// Accounts remembered: those that one process polls at once hardly ever meet a limit together.
    private static let countMax = 1000

    private let ends = Mutex<[AccountID: Timestamp]>([:])

    /// Remembers that an account is limited.
    func note(_ account: AccountID, until end: Timestamp) {
        ends.withLock { ends in
            if ends.count >= Self.countMax { ends.removeAll() }
            ends[account] = max(end, ends[account] ?? end)
        }
    }

    /// How long an account is limited still; nil when it is not.
    func left(of account: AccountID, at now: Timestamp) -> Duration? {
        ends.withLock { ends in
            guard let end = ends[account] else { return nil }
            // A limit from far ahead is of a clock that was set back.
            guard now < end, end - now <= RetryAfter.longest else {
                ends[account] = nil
                return nil
            }
            return end - now
        }
    }
}
