package import PollerIdentity

/// The connected accounts of a platform (Stripe Connect): those that its webhook secret may name.
///
/// An event of a connected account names that account, and the platform's secret signs it. So the name is a claim of
/// the signer, and it is trusted for these accounts only. A name that the configuration gives to its own account or
/// upstream is never a connected account, whatever a list says.
package enum ConnectedAccounts: Hashable, Sendable {
    /// The account is not a platform; an event that names another account is ignored.
    case none
    /// Only these accounts.
    case listed(Set<AccountID>)
    /// Every account that the platform's key can read.
    ///
    /// For platforms with changing accounts: the upstream is queried before a source of one of them is enqueued.
    case all

    /// The maximum number of listed accounts: each may have its own lanes, and a limit counts all of them.
    package static let listedMax = 1000

    /// Parses the account that a text from outside names; `nil` for anything but an ID of the upstream, `acct_` and up
    /// to 59 letters or digits.
    package static func account(named text: String) -> AccountID? {
        let digits = text.utf8.dropFirst(5)
        guard text.hasPrefix("acct_"), (1...59).contains(digits.count),
            digits.allSatisfy({ byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
                    || (0x61...0x7A).contains(byte)
            })
        else { return nil }
        return AccountID(unchecked: text)
    }

    /// Whether it includes an account, given by the upstream's ID.
    package func includes(_ account: AccountID) -> Bool {
        switch self {
        case .none: false
        case .listed(let accounts): accounts.contains(account)
        case .all: Self.account(named: account.description) != nil
        }
    }
}
