package import PollerIdentity
package import StripeAPI
import Synchronization

/// The API credentials of each polled account.
///
/// A class, because it caches the clients of connected accounts. A client checks and builds its request headers once,
/// not for each of thousands of polls.
package final class StripeAccounts: Sendable {
    /// The maximum number of cached clients of connected accounts; clients of further ones are created for each poll.
    private static let connectedMax = 10_000

    private let own: [AccountID: StripeClient]
    /// The platform of each connected account that the configuration assigns to one.
    private let platforms: [AccountID: AccountID]
    private let connected = Mutex<[AccountID: StripeClient]>([:])

    /// Creates the credentials.
    ///
    /// - Parameters:
    ///   - configurations: the key and address of each account. The key of `AccountID.main` also reads connected
    ///     accounts (`acct_…`) without their own key, with the `Stripe-Account` header. An organisation's key reads
    ///     the account that the section is named after, `acct_…`, and its connected accounts. It cannot read an
    ///     account with another name.
    ///   - platforms: the platform of each connected account whose platform is not `AccountID.main`.
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

    /// The accounts with their own credentials, sorted.
    package var named: [AccountID] {
        own.keys.sorted { $0.description < $1.description }
    }

    /// Returns the key and address of an account: its own, or for an `acct_…` without one its platform's, acting for
    /// it; `nil` if there is neither.
    ///
    /// Also returns `nil` if the key is an organisation's and the name is not a Stripe account ID.
    package func configuration(for account: AccountID) -> StripeClientConfiguration? {
        client(for: account)?.configuration
    }

    /// The accounts whose organisation key can read only accounts named `acct_…`.
    package var organisations: [AccountID] {
        named.filter { own[$0]?.configuration.isOrganisationWithoutAccount ?? false }
    }

    /// Returns the reason why an account is not polled, and the fix.
    func whyUnserved(_ account: AccountID) -> String {
        organisations.contains(account)
            ? "the key of account \(account) is an organisation's, which only reads accounts named acct_…: "
                + "enqueue the source under its account"
            : "this worker has no API key for account \(account): STRIPE_API_KEY, or accounts: in its "
                + "configuration"
    }

    /// Returns the client of an account, or `nil` if no key for it is configured.
    package func client(for account: AccountID) -> StripeClient? {
        if let own = own[account] {
            return own.configuration.isOrganisationWithoutAccount ? nil : own
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
    /// Whether the name is a Stripe account ID, `acct_…`.
    fileprivate var isOfStripe: Bool { description.hasPrefix("acct_") }
}

extension StripeClientConfiguration {
    /// Whether the key is an organisation's and no account is named.
    fileprivate var isOrganisationWithoutAccount: Bool { key.isOrganization && account == nil }
}
