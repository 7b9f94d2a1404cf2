package import JSONText
package import PollerIdentity

/// Something that somebody has changed, or wanted to and was refused.
///
/// It holds no secret: what changed is told by names and by values that a viewer may see anyway.
package struct AuditedChange: Hashable, Sendable {
    package let by: AuditActor
    /// From where: the peer of the connection, a client or the last proxy; nil for what came by no
    /// connection.
    package let address: String?
    /// The id of the request, as its answer and the log have it.
    package let request: String?
    /// What was done: the operation's name in the API's description.
    package let action: String
    package let target: AuditTarget
    /// Whose it is; nil for what is of the whole cluster, which a key bound to accounts does not see.
    package let account: AccountID?
    /// A JSON object of the fields that changed, as they were; nil for what was not there.
    package let before: RawJSON?
    /// The same fields as they are now; nil for what is not there any more.
    package let after: RawJSON?
    /// Why it was not done, by a problem's code; nil when it was.
    package let refused: String?

    /// The member of `after` that has the words of a search, by which what was changed was found.
    package static let words = "q"

    /// Describes a change.
    package init(
        by actor: AuditActor,
        address: String? = nil,
        request: String? = nil,
        action: String,
        target: AuditTarget,
        account: AccountID? = nil,
        before: RawJSON? = nil,
        after: RawJSON? = nil,
        refused: String? = nil
    ) {
        by = actor
        self.address = address
        self.request = request
        self.action = action
        self.target = target
        self.account = account
        self.before = before
        self.after = after
        self.refused = refused
    }
}

/// A change as the store keeps it.
package struct AuditEntry: Hashable, Sendable {
    /// Ascending in the order in which they were noted: `<ms>-<n>`.
    package let id: String
    /// By the store's clock.
    package let at: Timestamp
    package let change: AuditedChange

    /// What the store has noted.
    package init(id: String, at: Timestamp, change: AuditedChange) {
        self.id = id
        self.at = at
        self.change = change
    }

    /// The entry as somebody may see it; nil when they may not see that there is one.
    ///
    /// Who is bound to accounts learns of others' changes to what is theirs that they happened, and
    /// not whose they were, nor by which words they were found: these may name what is of other accounts.
    package func told(to accounts: AccountSet) -> AuditEntry? {
        guard !accounts.isAll else { return self }
        guard let account = change.account, accounts.contains(account) else { return nil }
        guard !accounts.contains(change.by.accounts), change.by.isPerson else { return self }
        let masked = AuditedChange(
            by: .somebodyElse,
            action: change.action,
            target: change.target,
            account: change.account,
            before: change.before,
            after: change.after?.removing(member: AuditedChange.words),
            refused: change.refused
        )
        return AuditEntry(id: id, at: at, change: masked)
    }
}

/// Who changes something.
package struct AuditActor: Hashable, Sendable {
    /// What people call the key; its id when it has no name.
    package let name: String
    /// The key; nil for one of the server's file, and for whoever has none.
    package let key: KeyID?
    package let role: KeyRole?
    /// What it is bound to, which decides who may see its name.
    package let accounts: AccountSet
    /// Whether it is the holder of a key, or whoever is on this machine, rather than the system.
    package let isPerson: Bool

    /// Names somebody.
    package init(
        name: String,
        key: KeyID? = nil,
        role: KeyRole? = nil,
        accounts: AccountSet = .all,
        isPerson: Bool = true
    ) {
        self.name = name
        self.key = key
        self.role = role
        self.accounts = accounts
        self.isPerson = isPerson
    }

    /// Whoever is on this machine, where there are no keys.
    package static let open = AuditActor(name: "open")
    /// The endpoints of the configuration file.
    package static let configuration = AuditActor(name: "configuration", isPerson: false)
    /// The system itself, and whoever runs commands beside the store.
    package static let pollerd = AuditActor(name: "pollerd", isPerson: false)
    /// The name that is told instead of one that is nobody's business.
    package static let somebodyElse = AuditActor(name: "another key")

    /// Refuses a name for a key by which the trail calls those who have no key, whatever the case.
    package static func checkName(_ name: String?) throws(InvalidInput) {
        let own = [open, configuration, pollerd, somebodyElse, Caller.local.actor].map(\.name)
        let plain = name?.lowercased().split(whereSeparator: \.isWhitespace).joined(separator: " ")
        guard let plain, (own + [Caller.local.name, Caller.stranger.name]).contains(plain) else {
            return
        }
        throw InvalidInput(
            field: "name",
            message: "is what the audit trail calls the system itself, or whoever has no key"
        )
    }
}

/// What is changed.
package struct AuditTarget: Hashable, Sendable {
    /// The sort of thing.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case watch
        case order
        case endpoint
        case delivery
        case lane
        case key
        /// Of a recipient of mails, by a digest of the address.
        case suppression
        /// A stored entry that is set aside.
        case entry
        /// All that is stored, or something of no other kind.
        case store
    }

    package let kind: Kind
    /// As the API names it.
    package let id: String
    /// The name of the target at the time of the change; nil for a target without a name.
    package let name: String?

    /// Names something.
    package init(_ kind: Kind, _ id: String, name: String? = nil) {
        self.kind = kind
        self.id = id
        self.name = name
    }
}
