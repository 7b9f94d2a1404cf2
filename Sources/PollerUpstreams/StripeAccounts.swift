package import Poller
package import StripeAPI

/// The credentials of each account that is polled.
package struct StripeAccounts: Sendable {
    private let configurations: [AccountID: StripeClientConfiguration]

    /// - Parameter configurations: each account's key and address. The one of `AccountID.main`
    ///   also serves connected accounts (`acct_…`) that have none of their own, with the
    ///   `Stripe-Account` header.
    package init(_ configurations: [AccountID: StripeClientConfiguration]) {
        self.configurations = configurations
    }

    /// How to reach an account; nil when nobody has told us.
    package func configuration(for account: AccountID) -> StripeClientConfiguration? {
        if let own = configurations[account] { return own }
        guard account.description.hasPrefix("acct_"), var platform = configurations[.main] else {
            return nil
        }
        platform.account = account.description
        return platform
    }
}
