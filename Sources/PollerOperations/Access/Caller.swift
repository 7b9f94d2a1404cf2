package import PollerIdentity

/// An authenticated caller and its permissions.
package struct Caller: Hashable, Sendable {
    /// The name for logs and metrics: a key's ID and name; never the key.
    package let name: String
    package let scopes: Set<Scope>
    package let accounts: AccountSet
    /// The expiry of the key; `nil` for none.
    package let endsAt: Timestamp?
    /// The name in the audit trail.
    package let actor: AuditActor

    /// Creates a caller; a caller that is bound to accounts gets no cluster-wide scopes.
    ///
    /// `actor`: `nil` for an actor with the caller's name.
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

    /// The caller on this machine, if there are no keys.
    package static let local = Caller(
        name: "anonymous",
        scopes: Set(Scope.allCases),
        accounts: .all,
        actor: .open
    )
    /// An unauthenticated caller, with only the public permissions.
    package static let unauthenticated = Caller(name: "stranger", scopes: [], accounts: .some([]))

    package func may(_ scope: Scope) -> Bool { scopes.contains(scope) }
}

extension NotifyURL {
    /// Rejects a stream of another account unless the caller may access all accounts.
    ///
    /// A stream has one length limit for all its writers. A writer to another account's stream could push out entries
    /// that are not read yet.
    package func check(
        for caller: Caller,
        of account: AccountID,
        field: String
    ) throws(InvalidInput) {
        guard scheme == "redis+stream", !caller.accounts.isAll, !host.hasPrefix("\(account)/")
        else { return }
        throw InvalidInput(
            field,
            "does not belong to this account: with a key that is limited to accounts "
                + "write "
                + "redis+stream:\(account)/NAME"
        )
    }
}
