import HTTPTypes
import Hummingbird
package import Poller
package import PollerIdentity
package import PollerWire

/// The keys of the API: list, make, revoke.
///
/// A key is told once, in the answer that made it; what is kept opens nothing. Whoever makes keys may
/// give away what is theirs and no more: neither a scope nor an account beyond their own. A new key
/// holds at once where it was made, and within a second everywhere.
///
/// To make a key is not repeatable by nature, so its `Idempotency-Key` is kept: a repeat is told the same
/// key. Of that the store has nothing that opens anything: the answer is sealed with what its maker's key
/// is, and in no store (``RequestSeals``). Whoever carries a request out that another process has begun, and
/// of which nobody knows how far it has come, makes a key of the same id (``APIContext/seed``): it takes
/// the place of one that nobody was told. Who has lost an answer and has sent no such header revokes
/// the key that the list then shows, and makes another.
struct KeyRoutes {
    private static let list = Route(
        .get,
        "/v1/keys",
        "listKeys",
        "List the keys, the newest first",
        "Those of the server's file are not among them.",
        access: .key(.manageKeys),
        answers: [.ok("Every key there is, in one page.", "AccessKeyPage")]
    )
    private static let create = Route(
        .post,
        "/v1/keys",
        "createKey",
        "Make a key",
        """
        The key itself is in this answer and never shown again. It may do what its maker may, and no \
        more; it is good everywhere within a second. The first one is an admin's (409 last_key): it \
        closes the server to everybody else.
        """,
        access: .key(.manageKeys),
        repeats: .kept,
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
        It opens nothing any more within a second, and ends what it has open. 409 last_key for the last \
        key of an admin that never ends.
        """,
        access: .key(.manageKeys),
        input: .accessKey,
        repeats: .byNature("a key that is revoked stays so, and is told as one that is not there"),
        answers: [.ok("The key as it was.", "AccessKey")],
        problems: [404, 409]
    )

    /// Keys of whoever is bound to accounts: a twentieth of what a cluster may have.
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

    @Sendable
    private func list(
        _: Void,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let keys = try await known().register().keys.map(\.key)
        let own = keys.filter { context.caller.accounts.contains($0.accounts) }
        return Response(Page(own.reversed().map { Self.told($0, to: context.caller, among: own) }))
    }

    @Sendable
    private func create(
        _: Void,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let wanted = try await reader.object(NewAccessKey.self, of: request)
        var chance = SystemRandomNumberGenerator()
        let text = KeyText(using: &chance, seed: context.seed)
        let key = try key(wanted, id: text.id, for: context.caller)
        guard ring.isOpen != true || key.isLasting else {
            throw Problem(
                .lastKey,
                "The first key closes this server to everybody else: make one of an admin for all "
                    + "accounts first, that never ends."
            )
        }
        // Who was revoked a moment ago makes none.
        try await ring.refresh()
        try context.recheck()
        // Who is bound to accounts leaves room for others.
        let accounts = context.caller.accounts
        let share = accounts.isAll ? nil : KeyShare(of: accounts, countMax: Self.boundMax)
        switch try await known().create(key, digest: text.digest, within: share) {
        case .created(let made):
            noted(from: nil, to: made, context)
            try await ring.refresh()
            var answer = PollerWire.AccessKey(made)
            answer.reveal = text.reveal
            return Response(answer, status: .created)
        case .tooMany:
            throw Problem(
                .tooManyKeys,
                "There are \(Poller.AccessKey.countMax) keys already; revoke those nobody needs."
            )
        case .tooManyOfAccounts(let count):
            throw Problem(
                .tooManyKeys,
                "These accounts have \(count) keys already; revoke those nobody needs."
            )
        }
    }

    /// What is wanted, within what its maker may.
    private func key(
        _ wanted: NewAccessKey,
        id: KeyID,
        for caller: Caller
    ) throws(Problem) -> Poller.AccessKey {
        let key = try Problem.checked { () throws(InvalidInput) in
            try Poller.AccessKey(
                wanted,
                id: id,
                standard: caller.accounts,
                by: caller.name,
                now: ring.now()
            )
        }
        try Problem.checked { () throws(InvalidInput) in try ring.checkName(key.name) }
        if case .some(let accounts) = key.accounts {
            for account in accounts { try caller.need(account) }
        } else if !caller.accounts.isAll {
            throw Problem(
                .notAllowed,
                "This key is bound to accounts, and so are those it makes: name accounts.",
                field: "accounts"
            )
        }
        for scope in key.caller.scopes.sorted(by: { $0.rawValue < $1.rawValue }) {
            try caller.need(scope)
        }
        if let end = caller.endsAt, key.expiresAt.map({ $0 > end }) ?? true {
            throw Problem(
                .notAllowed,
                "This key ends at \(end), and so do those it makes: name a shorter expires_in.",
                field: "expires_in"
            )
        }
        return key
    }

    @Sendable
    private func revoke(
        _ id: KeyID,
        _ request: Request,
        _ context: APIContext
    ) async throws -> Response {
        let missing = Problem(.keyNotFound, "There is no key \(id); GET /v1/keys lists them.")
        let (store, caller) = (try known(), context.caller)
        let keys = try await store.register().keys.map(\.key)
        let own = keys.filter { caller.accounts.contains($0.accounts) }
        if let found = own.first(where: { $0.id == id }) {
            for scope in found.caller.scopes.sorted(by: { $0.rawValue < $1.rawValue }) {
                try caller.need(scope)
            }
        } else if !caller.accounts.isAll {
            throw missing
        }
        switch try await store.revoke(id, mayBeLast: ring.fileMakesKeys) {
        case .revoked(let key):
            noted(from: key, to: nil, context)
            try await ring.refresh()
            return Response(Self.told(key, to: caller, among: own))
        case .unknown: throw missing
        case .lastAdmin:
            throw Problem(
                .lastKey,
                "\(id) is the last key of an admin that never ends: make another one first."
            )
        }
    }

    /// Notes who was let in or shut out.
    private func noted(
        from old: Poller.AccessKey?,
        to new: Poller.AccessKey?,
        _ context: APIContext
    ) {
        guard let key = new ?? old else { return }
        context.changes.changed(
            AuditTarget(.key, key.id.description),
            of: key.accounts.names?.count == 1 ? key.accounts.standard : nil,
            from: old.map { PollerWire.AccessKey($0) },
            to: new.map { PollerWire.AccessKey($0) },
            only: ["name", "role", "allow", "accounts", "expires_at"]
        )
    }

    /// A key as somebody is told it: without its maker's name, when that is none of theirs.
    private static func told(
        _ key: Poller.AccessKey,
        to caller: Caller,
        among own: [Poller.AccessKey]
    ) -> PollerWire.AccessKey {
        var told = PollerWire.AccessKey(key)
        let isOwn = key.createdBy == caller.name || own.contains { $0.caller.name == key.createdBy }
        if !caller.accounts.isAll, !isOwn { told.createdBy = nil }
        return told
    }

    private func known() throws(Problem) -> any KeyStore {
        guard let store else { throw Problem(.notFound, "This server keeps no keys.") }
        return store
    }
}

extension RouteInput where Value == KeyID {
    /// The key that the path names.
    fileprivate static var accessKey: Self {
        path(KeyID.self, "key", "The key's id: key_….", .matching("^key_[A-Za-z0-9_.-]{1,60}$"))
    }
}

extension KeyID: CheckedText {}

extension Poller.AccessKey {
    /// A key that somebody wants; `standard` are the accounts of one that names none.
    package init(
        _ wanted: NewAccessKey,
        id: KeyID,
        standard: AccountSet,
        by maker: String,
        now: Timestamp
    ) throws(InvalidInput) {
        guard let role = wanted.role.flatMap({ KeyRole(rawValue: $0.rawValue) }) else {
            let all = KeyRole.allCases.map(\.rawValue).joined(separator: ", ")
            throw InvalidInput(field: "role", message: "must be one of \(all)")
        }
        var allowed: Set<Scope> = []
        for text in wanted.allow ?? [] {
            guard let scope = Scope(rawValue: text) else {
                let all = Scope.allCases.map(\.rawValue).joined(separator: ", ")
                throw InvalidInput(field: "allow", message: "must be some of \(all)")
            }
            allowed.insert(scope)
        }
        var accounts: Set<AccountID> = []
        for text in wanted.accounts ?? [] { accounts.insert(try AccountID(text)) }
        let expiresIn = wanted.expiresIn?.duration
        if let expiresIn, !Self.lifetimes.contains(expiresIn) {
            throw InvalidInput(
                field: "expires_in",
                message: "must be a span from \(Self.lifetimes.lowerBound.text) to "
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
    /// A key as it is told; the key itself only by whom it was made.
    package init(_ key: Poller.AccessKey) {
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
