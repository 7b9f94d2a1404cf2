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

/// Somebody who asks, and what they may do and see.
package struct Caller: Hashable, Sendable {
    /// For logs and counting: a key's id and name; never the key.
    package let name: String
    package let scopes: Set<Scope>
    package let accounts: AccountSet
    /// When the key ends; nil for never.
    package let endsAt: Timestamp?
    /// Who they are in the audit trail.
    package let actor: AuditActor

    /// Describes somebody; what is of the whole cluster is nobody's who is bound to accounts.
    ///
    /// `actor`: nil for one who has that very name.
    package init(
        name: String,
        scopes: Set<Scope>,
        accounts: AccountSet,
        endsAt: Timestamp? = nil,
        actor: AuditActor? = nil
    ) {
        self.actor = actor ?? AuditActor(name: name, accounts: accounts)
        self.name = name
        self.scopes = accounts.isAll ? scopes : scopes.filter { !$0.isOfCluster }
        self.accounts = accounts
        self.endsAt = endsAt
    }

    /// Whoever is on this machine, where there are no keys.
    package static let local = Caller(
        name: "anonymous",
        scopes: Set(Scope.allCases),
        accounts: .all,
        actor: .open
    )
    /// Somebody of whom nothing is known: may do what everybody may.
    package static let stranger = Caller(name: "stranger", scopes: [], accounts: .some([]))

    package func may(_ scope: Scope) -> Bool { scopes.contains(scope) }
}
