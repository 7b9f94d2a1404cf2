import Poller
package import PollerIdentity

/// The sources that the configuration of this process can poll: Stripe accounts and HTTP upstreams.
///
/// A watch with a mistyped account would be accepted and become due, but no worker would ever poll it. So it is
/// rejected if the configuration names accounts of that kind and this one is missing. A process without configured
/// accounts of a kind accepts every account, because the keys may be configured only on the workers.
package struct ConfiguredSources: SourceLocator {
    private let sources: HTTPSources
    private let accounts: StripeAccounts

    /// Creates a locator for the configured upstreams and accounts.
    package init(_ sources: [HTTPSource], accounts: StripeAccounts) {
        self.sources = HTTPSources(sources)
        self.accounts = accounts
    }

    package func key(
        of url: String,
        account: AccountID?,
        among accounts: AccountSet
    ) throws(InvalidInput) -> WatchKey {
        try sources.key(of: url, account: account, among: accounts)
    }

    package func check(_ key: WatchKey, among accounts: AccountSet) throws(InvalidInput) {
        guard key.kind != .http else { return try sources.check(key, among: accounts) }
        let names = self.accounts.named
        guard !names.isEmpty, self.accounts.configuration(for: key.account) == nil else { return }
        guard !self.accounts.organisations.contains(key.account) else {
            throw InvalidInput(
                "account",
                "is \(key.account), whose key is an organisation's (sk_org_…): name the account "
                    + "of the payment, acct_…"
            )
        }
        throw .unknownAccount(key.account, among: names.filter(accounts.contains))
    }
}
