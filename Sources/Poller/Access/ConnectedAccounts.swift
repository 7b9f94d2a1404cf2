package import PollerIdentity

/// The connected accounts of a platform (Stripe Connect): those that its webhook secret may name.
///
/// An event of a connected account names that account, and the platform's secret signs it. So the name is a claim
/// of the signer, and it is believed for these accounts alone. A name that the configuration gives to an account or
/// upstream of its own is never a connected account, whatever a list says.
package enum ConnectedAccounts: Hashable, Sendable {
    /// It is no platform; an event that names an account is ignored.
    case none
    /// These and no others.
    case listed(Set<AccountID>)
    /// Every account that the platform's key can read.
    ///
    /// For platforms whose accounts come and go: the upstream is asked before anything is enqueued for one of them.
    case all

    /// Accounts of one list: each may have lanes of its own, and a limit counts all of them.
    package static let listedMax = 1000

    /// The account that a text from outside names; nil for anything but an id of the upstream's, `acct_` and
    /// up to 59 letters or digits.
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

    /// Whether an account, named as the upstream names it, is one of them.
    package func includes(_ account: AccountID) -> Bool {
        switch self {
        case .none: false
        case .listed(let accounts): accounts.contains(account)
        case .all: Self.account(named: account.description) != nil
        }
    }
}
