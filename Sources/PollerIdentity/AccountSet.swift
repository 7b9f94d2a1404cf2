/// The accounts that a caller may access.
package enum AccountSet: Hashable, Sendable {
    case all
    /// Only these accounts; none if it is empty.
    case some(Set<AccountID>)

    /// The maximum number of accounts of a key: a larger platform creates a key per account.
    package static let countMax = 50

    /// Whether all current and future accounts are accessible.
    package var isAll: Bool { self == .all }

    /// The accounts, sorted by name; `nil` for all.
    package var names: [String]? {
        guard case .some(let accounts) = self else { return nil }
        return accounts.map(\.description).sorted()
    }

    package func contains(_ account: AccountID) -> Bool {
        switch self {
        case .all: true
        case .some(let accounts): accounts.contains(account)
        }
    }

    /// Whether the set contains each account of another set.
    package func contains(_ others: AccountSet) -> Bool {
        switch (self, others) {
        case (.all, _): true
        case (.some, .all): false
        case (.some(let mine), .some(let others)): mine.isSuperset(of: others)
        }
    }

    /// The default account when none is named: `default` if the set contains it, otherwise the only one; `nil` if it is
    /// ambiguous.
    package var standard: AccountID? {
        switch self {
        case .all: .main
        case .some(let accounts):
            accounts.contains(.main) ? .main : accounts.count == 1 ? accounts.first : nil
        }
    }

    /// Returns the set limited to an account; the whole set without one.
    package func narrowed(to account: AccountID?) -> AccountSet {
        guard let account else { return self }
        return contains(account) ? .some([account]) : .some([])
    }
}
