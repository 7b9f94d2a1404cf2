package import Poller
package import StripeAPI
import Synchronization

/// The credentials of each account that is polled.
///
/// A class, because clients of connected accounts are made on first use and kept: a client checks
/// and builds the head of its requests once, not for each of thousands of polls.
package final class StripeAccounts: Sendable {
    /// Connected accounts remembered; beyond it their clients are made anew for each poll.
    private static let connectedMax = 10_000

    private let clients: [AccountID: StripeClient]
    private let connected = Mutex<[AccountID: StripeClient]>([:])

    /// - Parameter configurations: each account's key and address. The one of `AccountID.main`
    ///   also serves connected accounts (`acct_…`) that have none of their own, with the
    ///   `Stripe-Account` header.
    package init(_ configurations: [AccountID: StripeClientConfiguration]) {
        clients = configurations.mapValues(StripeClient.init(configuration:))
    }

    /// The accounts with credentials of their own, in order.
    package var named: [AccountID] {
        clients.keys.sorted { $0.description < $1.description }
    }

    /// How to reach an account; nil when nobody has told us.
    package func configuration(for account: AccountID) -> StripeClientConfiguration? {
        client(for: account)?.configuration
    }

    /// What reaches an account; nil when nobody has told us how.
    package func client(for account: AccountID) -> StripeClient? {
        if let own = clients[account] { return own }
        guard account.description.hasPrefix("acct_"), let platform = clients[.main] else {
            return nil
        }
        return connected.withLock { connected in
            if let known = connected[account] { return known }
            let client = platform.acting(for: account.description)
            if connected.count < Self.connectedMax { connected[account] = client }
            return client
        }
    }
}
