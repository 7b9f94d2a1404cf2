import Poller
package import PollerIdentity

/// What this process' configuration says can be polled: Stripe's accounts and other upstreams.
///
/// A watch whose account is a typing mistake would be accepted, made due and never polled. So it is
/// refused where the configuration knows better. A process without any account of a sort knows
/// nothing: the keys may be the workers' alone.
package struct ConfiguredSources: SourceLocator {
    private let sources: HTTPSources
    private let accounts: StripeAccounts

    /// Looks through the configured upstreams and accounts.
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
                field: "account",
                message:
                    "is \(key.account), whose key is an organisation's (sk_org_…): name the account "
                    + "of the payment, acct_…"
            )
        }
        throw .unknownAccount(key.account, among: names.filter(accounts.contains))
    }
}

extension InvalidInput {
    /// An account that no configuration names; `names` are those that may be told.
    static func unknownAccount(_ account: AccountID, among names: [AccountID]) -> InvalidInput {
        let known = names.map(\.description).joined(separator: ", ")
        return InvalidInput(
            field: "account",
            message: "names \(account), which is not configured"
                + (known.isEmpty ? "" : " (configured: \(known))")
                + ": correct it, or give it a key under accounts in the configuration file"
        )
    }
}
