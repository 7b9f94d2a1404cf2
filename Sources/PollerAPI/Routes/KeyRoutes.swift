import HTTPTypes
import Hummingbird
package import PollerIdentity
package import PollerOperations
import PollerQueue
package import PollerWire

/// The keys of the API: list, create, revoke.
///
/// A key is returned only in the response that created it, and the stored data grants no access. A key can create keys
/// with at most its own scopes and accounts. A new key is valid at once on the process that created it, and within a
/// second on all others.
///
/// Creating a key is not idempotent, so its `Idempotency-Key` is stored, and a repeat returns the same key. The store
/// has nothing that grants access: the response is encrypted with the creator's API key, which is in no store
/// (``RequestSeals``). If a process repeats a request that another one began, it creates a key with the same ID
/// (``APIContext/seed``), which replaces one that no client received. A client that lost a response without the header
/// revokes the key in the list, and creates another one.
struct KeyRoutes {
    private static let list = Route(
        .get,
        "/v1/keys",
        "listKeys",
        "List the keys, newest first",
        "Keys of the server's file are not included.",
        access: .key(.manageKeys),
        answers: [.ok("All keys, in one page.", "AccessKeyPage")]
    )
    private static let create = Route(
        .post,
        "/v1/keys",
        "createKey",
        "Create a key",
        """
        The key's value is in this response and never shown again. Its permissions cannot exceed its creator's. It \
        is valid everywhere within a second. The first key must be an admin's (409 last_key), because from then on \
        every request requires a key.
        """,
        access: .key(.manageKeys),
        idempotency: .kept,
        body: .json(.shape("NewAccessKey")),
        answers: [.json(201, "The key.", "AccessKey")],
        problems: [404, 409]
    )
    private static let revoke = Route(
        .delete,
        "/v1/keys/{key}",
        "revokeKey",
        "Revoke a key",
        """
        The key becomes invalid within a second, and its open connections are closed. 409 last_key for the last \
        admin key that does not expire.
        """,
        access: .key(.manageKeys),
        input: .accessKey,
        idempotency: .inherent(
            "a revoked key stays revoked, and the response is that of a missing one"
        ),
        answers: [.ok("The key before it was revoked.", "AccessKey")],
        problems: [404, 409]
    )

    /// The maximum number of keys of callers bound to accounts, a twentieth of the cluster's limit.
    private static let boundMax = 50

    let store: (any KeyStore)?
    let ring: KeyRing
    let reader: BodyReader

    var routes: [AnsweredRoute] {
        [
            Self.list.answered(by: list), Self.create.answered(by: create),
            Self.revoke.answered(by: revoke),
        ]
    }

    private func list(_: Void, _ context: APIContext) async throws -> Response {
        let keys = try await keyStore().register().keys.map(\.key)
        let own = keys.filter { context.caller.accounts.contains($0.accounts) }
        return Response(
            Page(own.reversed().map { Self.visibleKey($0, to: context.caller, among: own) })
        )
    }

    private func create(
        _: Void,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let wanted = try await reader.object(NewAccessKey.self, of: request)
        var generator = SystemRandomNumberGenerator()
        let text = KeyText(using: &generator, seed: context.seed)
        let key = try key(wanted, id: text.id, for: context.caller)
        guard ring.isOpen != true || key.isPermanentAdmin else {
            throw Problem(
                .lastKey,
                "From the first key on, this server requires a key: create one for an "
                    + "admin first, with access to all accounts and without expiry."
            )
        }
        // A caller that was just revoked cannot create a key.
        try await ring.refresh()
        try context.recheck()
        // A caller bound to accounts leaves capacity for others.
        let accounts = context.caller.accounts
        let accountLimit =
            accounts.isAll ? nil : AccountKeyLimit(of: accounts, countMax: Self.boundMax)
        let store = try keyStore()
        let creation = try await context.changes.attempt(
            Self.target(key),
            of: Self.account(key)
        ) { () throws(StoreError) in
            try await store.create(key, digest: text.digest, within: accountLimit)
        }
        switch creation {
        case .created(let made):
            recordChange(from: nil, to: made, context)
            try await ring.refresh()
            var answer = PollerWire.AccessKey(made)
            answer.reveal = text.reveal
            return Response(answer, status: .created)
        case .tooMany:
            throw Problem(
                .tooManyKeys,
                "There are \(PollerOperations.AccessKey.countMax) keys already; revoke those no "
                    + "longer needed."
            )
        case .tooManyOfAccounts(let count):
            throw Problem(
                .tooManyKeys,
                "These accounts have \(count) keys already; revoke those no longer needed."
            )
        }
    }

    /// Returns the requested key, limited to the creator's permissions.
    private func key(
        _ wanted: NewAccessKey,
        id: KeyID,
        for caller: Caller
    ) throws(Problem) -> PollerOperations.AccessKey {
        let key = try Problem.checked { () throws(InvalidInput) in
            try PollerOperations.AccessKey(
                wanted,
                id: id,
                standard: caller.accounts,
                by: caller.name,
                now: ring.now()
            )
        }
        try Problem.checked { () throws(InvalidInput) in try ring.checkName(key.name) }
        if case .some(let accounts) = key.accounts {
            for account in accounts { try caller.require(account) }
        } else if !caller.accounts.isAll {
            throw Problem(
                .notAllowed,
                "This key is limited to accounts, and so are keys it creates: name accounts.",
                field: "accounts"
            )
        }
        for scope in key.caller.scopes.sorted(by: { $0.rawValue < $1.rawValue }) {
            try caller.require(scope)
        }
        if let end = caller.endsAt, key.expiresAt.map({ $0 > end }) ?? true {
            throw Problem(
                .notAllowed,
                "This key expires at \(end), and so must keys it creates: name a "
                    + "shorter expires_in.",
                field: "expires_in"
            )
        }
        return key
    }

    private func revoke(_ id: KeyID, _ context: APIContext) async throws -> Response {
        let missing = Problem(.keyNotFound, "There is no key \(id); GET /v1/keys lists them.")
        let (store, caller) = (try keyStore(), context.caller)
        let keys = try await store.register().keys.map(\.key)
        let own = keys.filter { caller.accounts.contains($0.accounts) }
        let found = own.first { $0.id == id }
        if let found {
            for scope in found.caller.scopes.sorted(by: { $0.rawValue < $1.rawValue }) {
                try caller.require(scope)
            }
        } else if !caller.accounts.isAll {
            throw missing
        }
        let mayBeLast = ring.fileCanCreateKeys
        let revocation = try await context.changes.attempt(
            AuditTarget(.key, id.description),
            of: found.flatMap(Self.account)
        ) { () throws(StoreError) in try await store.revoke(id, mayBeLast: mayBeLast) }
        switch revocation {
        case .revoked(let key):
            recordChange(from: key, to: nil, context)
            try await ring.refresh()
            return Response(Self.visibleKey(key, to: caller, among: own))
        case .unknown: throw missing
        case .lastAdmin:
            throw Problem(
                .lastKey,
                "\(id) is the last admin key without expiry: create another one first."
            )
        }
    }

    private static func target(_ key: PollerOperations.AccessKey) -> AuditTarget {
        AuditTarget(.key, key.id.description)
    }

    /// Returns the account of a key that is bound to one.
    private static func account(_ key: PollerOperations.AccessKey) -> AccountID? {
        key.accounts.names?.count == 1 ? key.accounts.standard : nil
    }

    /// Records a created or revoked key in the audit trail.
    private func recordChange(
        from old: PollerOperations.AccessKey?,
        to new: PollerOperations.AccessKey?,
        _ context: APIContext
    ) {
        guard let key = new ?? old else { return }
        context.changes.recordChange(
            Self.target(key),
            of: Self.account(key),
            from: old.map { PollerWire.AccessKey($0) },
            to: new.map { PollerWire.AccessKey($0) },
            only: ["name", "role", "allow", "accounts", "expires_at"]
        )
    }

    /// Returns a key for a caller, without the creator's name if the creator belongs to other accounts.
    private static func visibleKey(
        _ key: PollerOperations.AccessKey,
        to caller: Caller,
        among own: [PollerOperations.AccessKey]
    ) -> PollerWire.AccessKey {
        var visibleKey = PollerWire.AccessKey(key)
        let isOwn = key.createdBy == caller.name || own.contains { $0.caller.name == key.createdBy }
        if !caller.accounts.isAll, !isOwn { visibleKey.createdBy = nil }
        return visibleKey
    }

    private func keyStore() throws(Problem) -> any KeyStore {
        guard let store else { throw Problem(.notFound, "This server has no keys.") }
        return store
    }
}

extension RouteInput where Value == KeyID {
    /// The key in the path.
    fileprivate static var accessKey: Self {
        path(KeyID.self, "key", "The key's ID: key_….", .matching("^key_[A-Za-z0-9_.-]{1,60}$"))
    }
}

extension KeyID: CheckedText {}

extension PollerOperations.AccessKey {
    /// Creates a key from a request.
    ///
    /// `standard` are the accounts of a request that names none.
    package init(
        _ wanted: NewAccessKey,
        id: KeyID,
        standard: AccountSet,
        by maker: String,
        now: Timestamp
    ) throws(InvalidInput) {
        guard let role = wanted.role.flatMap({ KeyRole(rawValue: $0.rawValue) }) else {
            let all = KeyRole.allCases.map(\.rawValue).joined(separator: ", ")
            throw InvalidInput("role", "must be one of \(all)")
        }
        var allowed: Set<Scope> = []
        for text in wanted.allow ?? [] {
            guard let scope = Scope(rawValue: text) else {
                let all = Scope.allCases.map(\.rawValue).joined(separator: ", ")
                throw InvalidInput("allow", "must be some of \(all)")
            }
            allowed.insert(scope)
        }
        var accounts: Set<AccountID> = []
        for text in wanted.accounts ?? [] { accounts.insert(try AccountID(text)) }
        let expiresIn = wanted.expiresIn?.duration
        if let expiresIn, !Self.lifetimes.contains(expiresIn) {
            throw InvalidInput(
                "expires_in",
                "must be a span from \(Self.lifetimes.lowerBound.text) to "
                    + "\(Self.lifetimes.upperBound.text), for example 90d"
            )
        }
        try self.init(
            id: id,
            name: wanted.name,
            role: role,
            allowed: allowed,
            accounts: wanted.accounts == nil ? standard : .some(accounts),
            expiresAt: expiresIn.map { now + $0 },
            createdBy: maker
        )
    }
}

extension PollerWire.AccessKey {
    /// Creates the API representation of a key.
    ///
    /// Only the creation response adds the key itself.
    package init(_ key: PollerOperations.AccessKey) {
        self.init()
        id = key.id.description
        name = key.name
        role = Open(rawValue: key.role.rawValue)
        allow = key.allowed.map(\.rawValue).sorted()
        accounts = key.accounts.names
        createdAt = Time(key.createdAt)
        createdBy = key.createdBy
        expiresAt = key.expiresAt.map { Time($0) }
        lastUsedAt = key.lastUsedAt.map { Time($0) }
    }
}
