package import PollerIdentity

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

extension NotifyURL {
    /// Refuses a stream that is not the account's own, for who may not see everything.
    ///
    /// A stream has one length for all that is written to it: who writes into one of others stands between
    /// their entries, and pushes those out that they have not read.
    package func check(
        for caller: Caller,
        of account: AccountID,
        field: String
    ) throws(InvalidInput) {
        guard scheme == "redis+stream", !caller.accounts.isAll, !host.hasPrefix("\(account)/")
        else { return }
        throw InvalidInput(
            field: field,
            message: "is not this account's: with a key that is bound to accounts write "
                + "redis+stream:\(account)/NAME"
        )
    }
}
