package import JSONText
package import PollerIdentity

/// A change, or a rejected attempt to make one.
///
/// It contains no secret: changes are described by names and by values that a viewer may see anyway.
package struct AuditedChange: Hashable, Sendable {
    package let by: AuditActor
    /// The peer of the connection, a client or the last proxy; `nil` without a connection.
    package let address: String?
    /// The ID of the request, as in its response and the log.
    package let request: String?
    /// The action: the name of the operation in the API's description.
    package let action: String
    package let target: AuditTarget
    /// The account; `nil` for a cluster-wide change, which a key bound to accounts cannot see.
    package let account: AccountID?
    /// A JSON object of the changed fields before the change; `nil` for a new object.
    package let before: RawJSON?
    /// The same fields after the change; `nil` for a removed object.
    package let after: RawJSON?
    /// The problem code of a rejection; `nil` when the change was made.
    package let refused: String?

    /// The member of `after` with the search text by which the target was found.
    package static let words = "q"

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

/// A stored change.
package struct AuditEntry: Hashable, Sendable {
    /// The ID, `<ms>-<n>`, ascending in recorded order.
    package let id: String
    /// The time of the note, by the store's clock.
    package let at: Timestamp
    package let change: AuditedChange

    /// Creates an entry from the values of a store.
    package init(id: String, at: Timestamp, change: AuditedChange) {
        self.id = id
        self.at = at
        self.change = change
    }

    /// Returns the entry in the form that a caller may see; `nil` when the caller may not see it.
    ///
    /// A caller that is bound to accounts sees changes by others to its accounts, but not their authors or search
    /// texts, which may name other accounts.
    package func visible(to accounts: AccountSet) -> AuditEntry? {
        guard !accounts.isAll else { return self }
        guard let account = change.account, accounts.contains(account) else { return nil }
        guard !accounts.contains(change.by.accounts), change.by.isPerson else { return self }
        let masked = AuditedChange(
            by: .anotherKey,
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

/// The author of a change.
package struct AuditActor: Hashable, Sendable {
    /// The name of the key; its ID if it has no name.
    package let name: String
    /// The key; `nil` for a key of the server's file, and for a caller without a key.
    package let key: KeyID?
    package let role: KeyRole?
    /// The accounts that it is bound to, which determine the callers that may see its name.
    package let accounts: AccountSet
    /// Whether it is the holder of a key or the caller on this machine, and not the system.
    package let isPerson: Bool

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

    /// The caller on this machine, if there are no keys.
    package static let open = AuditActor(name: "open")
    /// The endpoints of the configuration file.
    package static let configuration = AuditActor(name: "configuration", isPerson: false)
    /// The system itself, and operators who run commands on the store.
    package static let pollerd = AuditActor(name: "pollerd", isPerson: false)
    /// The replacement for a name that the caller may not see.
    package static let anotherKey = AuditActor(name: "another key")

    /// Rejects a key name that the trail uses for actors without a key, in any case.
    package static func checkName(_ name: String?) throws(InvalidInput) {
        let own = [open, configuration, pollerd, anotherKey, Caller.local.actor].map(\.name)
        let plain = name?.lowercased().split(whereSeparator: \.isWhitespace).joined(separator: " ")
        guard let plain, (own + [Caller.local.name, Caller.unauthenticated.name]).contains(plain)
        else {
            return
        }
        throw InvalidInput(
            "name",
            "is reserved in the audit trail for the system and for requests without a key"
        )
    }
}

/// The target of a change.
package struct AuditTarget: Hashable, Sendable {
    /// The kind of a target.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case watch
        case endpoint
        case delivery
        case lane
        case key
        /// The suppression of a recipient, by a digest of the address.
        case suppression
        /// A stored entry that is set aside.
        case entry
        /// The whole store, or an object of no other kind.
        case store
    }

    package let kind: Kind
    /// The name in the API.
    package let id: String
    /// The name of the target at the time of the change; `nil` for a target without a name.
    package let name: String?

    package init(_ kind: Kind, _ id: String, name: String? = nil) {
        self.kind = kind
        self.id = id
        self.name = name
    }
}
