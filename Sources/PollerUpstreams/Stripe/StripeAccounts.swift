import Poller
package import PollerIdentity
package import StripeAPI
import Synchronization

/// The credentials of each account that is polled.
///
/// A class, because clients of connected accounts are made on first use and kept: a client checks
/// and builds the head of its requests once, not for each of thousands of polls.
package final class StripeAccounts: Sendable {
    /// Connected accounts remembered; beyond it their clients are made anew for each poll.
    private static let connectedMax = 10_000

    private let own: [AccountID: StripeClient]
    /// The platform of each connected account that a list names.
    private let platforms: [AccountID: AccountID]
    private let connected = Mutex<[AccountID: StripeClient]>([:])

    /// - Parameters:
    ///   - configurations: each account's key and address. The key of `AccountID.main` also reads connected
    ///     accounts (`acct_…`) without a key, with the `Stripe-Account` header. An organisation's key reads the
    ///     account that the section is named after, `acct_…`, and those connected to it; an account of another
    ///     name it cannot read.
    ///   - platforms: the platform of each connected account that has another platform than `AccountID.main`.
    package init(
        _ configurations: [AccountID: StripeClientConfiguration],
        platforms: [AccountID: AccountID] = [:]
    ) {
        self.platforms = platforms
        own = Dictionary(
            uniqueKeysWithValues: configurations.map { account, configuration in
                var configuration = configuration
                if configuration.key.isOrganization, account.isOfStripe {
                    configuration.account = configuration.account ?? account.description
                }
                return (account, StripeClient(configuration: configuration))
            }
        )
    }

    /// The accounts with credentials of their own, in order.
    package var named: [AccountID] {
        own.keys.sorted { $0.description < $1.description }
    }

    /// How to reach an account; nil when nobody has told us, and for a name that no account of Stripe's has while
    /// the key is an organisation's.
    package func configuration(for account: AccountID) -> StripeClientConfiguration? {
        client(for: account)?.configuration
    }

    /// The accounts whose key is an organisation's and reads none but those connected to them.
    package var organisations: [AccountID] {
        named.filter { own[$0]?.configuration.isOfOrganisationAlone ?? false }
    }

    /// Why an account is not polled, and what to do.
    func whyUnserved(_ account: AccountID) -> String {
        organisations.contains(account)
            ? "the key of account \(account) is an organisation's, which reads accounts named acct_… alone: "
                + "enqueue the source under its account"
            : "this worker has no API key for account \(account): STRIPE_API_KEY, or accounts: in its "
                + "configuration"
    }

    /// The client of an account; nil when no key for it is configured.
    package func client(for account: AccountID) -> StripeClient? {
        if let own = own[account] {
            return own.configuration.isOfOrganisationAlone ? nil : own
        }
        guard account.isOfStripe,
            let platform = own[platforms[account] ?? .main]
        else { return nil }
        return connected.withLock { connected in
            if let known = connected[account] { return known }
            let client = platform.acting(for: account.description)
            if connected.count < Self.connectedMax { connected[account] = client }
            return client
        }
    }
}

extension AccountID {
    /// Whether Stripe has named it, `acct_…`.
    fileprivate var isOfStripe: Bool { description.hasPrefix("acct_") }
}

extension StripeClientConfiguration {
    /// Whether it names no account and its key needs one.
    fileprivate var isOfOrganisationAlone: Bool { key.isOrganization && account == nil }
}
