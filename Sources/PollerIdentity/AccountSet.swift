/// The accounts that somebody may see and touch.
package enum AccountSet: Hashable, Sendable {
    case all
    /// These and no others; none at all when it is empty.
    case some(Set<AccountID>)

    /// Accounts a key may be bound to: a platform with more gives a key to each.
    package static let countMax = 50

    /// Whether everything is open, whatever accounts there will be.
    package var isAll: Bool { self == .all }

    /// The accounts, in the order of their names; nil for all.
    package var names: [String]? {
        guard case .some(let accounts) = self else { return nil }
        return accounts.map(\.description).sorted()
    }

    /// Whether an account is among them.
    package func contains(_ account: AccountID) -> Bool {
        switch self {
        case .all: true
        case .some(let accounts): accounts.contains(account)
        }
    }

    /// Whether each account of another set is among them.
    package func contains(_ others: AccountSet) -> Bool {
        switch (self, others) {
        case (.all, _): true
        case (.some, .all): false
        case (.some(let mine), .some(let others)): mine.isSuperset(of: others)
        }
    }

    /// The one that is meant where none is named: `default` when it is among them, otherwise the only
    /// one; nil when nobody can tell.
    package var standard: AccountID? {
        switch self {
        case .all: .main
        case .some(let accounts):
            accounts.contains(.main) ? .main : accounts.count == 1 ? accounts.first : nil
        }
    }

    /// The part of them that is this account; all of them where none is named.
    package func narrowed(to account: AccountID?) -> AccountSet {
        guard let account else { return self }
        return contains(account) ? .some([account]) : .some([])
    }
}
