package import PollerIdentity
package import PollerQueue

/// The registered endpoints of a cluster.
///
/// A registry of at most ``Endpoint/countMax``, small enough that every notifier keeps a copy
/// (``EndpointDirectory``); its version tells in one cheap read whether the copy is still right.
/// Ids are unique; the caller checks to whom one belongs.
package protocol EndpointStore: Sendable {
    /// A number that grows with every change of the registry; 0 while it is empty.
    func version() async throws(StoreError) -> Int64

    /// What has changed after a version, some hundred endpoints at a time.
    ///
    /// `isContinuing` says that all of it is being read and this is not the first page.
    func changes(
        since version: Int64,
        isContinuing: Bool
    ) async throws(StoreError) -> EndpointChanges

    /// Registers an endpoint, with the store's time as that of its creation.
    ///
    /// Of any number of requests with the same key one creates; the others are told what it made.
    /// `accountMax` is how many its account may have, 0 for no limit; it is never overshot. A name that another
    /// endpoint of the account has is refused in the same step.
    func create(
        _ endpoint: Endpoint,
        request: EndpointRequest?,
        accountMax: Int
    ) async throws(StoreError) -> EndpointCreation

    /// Reads one endpoint of these accounts; nil when there is none.
    ///
    /// One of others takes the same way and the same time as one that is not there.
    func read(
        _ id: EndpointID,
        of accounts: AccountSet
    ) async throws(StoreError) -> StoredEndpoint?

    /// Stores a changed endpoint.
    ///
    /// It fails if another request has changed the endpoint since `version`, or if another endpoint of the account has
    /// its name.
    func replace(
        _ endpoint: Endpoint,
        version: Int64
    ) async throws(StoreError) -> EndpointReplacement

    /// Forgets an endpoint, unless somebody has changed it since `version`; nil for any version.
    func remove(
        _ id: EndpointID,
        version: Int64?
    ) async throws(StoreError) -> EndpointRemoval

    /// A page of the endpoints of some accounts, or of all, the newest first.
    func list(
        accounts: AccountSet,
        limit: Int,
        cursor: String?
    ) async throws(StoreError) -> ListPage<Endpoint>

    /// How many endpoints some accounts have, in their order.
    func counts(of accounts: [AccountID]) async throws(StoreError) -> [Int]
}

extension EndpointStore {
    /// Registers an endpoint of an account without a limit.
    package func create(
        _ endpoint: Endpoint,
        request: EndpointRequest?
    ) async throws(StoreError) -> EndpointCreation {
        try await create(endpoint, request: request, accountMax: 0)
    }

    /// Reads one endpoint, whose ever it is; nil when there is none.
    package func read(_ id: EndpointID) async throws(StoreError) -> StoredEndpoint? {
        try await read(id, of: .all)
    }

    /// Changes an endpoint; nil when there is none.
    ///
    /// `change` is given the endpoint and the store's time, and may be called again with a newer
    /// one when somebody else changes it meanwhile.
    package func update(
        _ id: EndpointID,
        _ change: (inout Endpoint, Timestamp) -> Void
    ) async throws(StoreError) -> Endpoint? {
        guard case .edited(let endpoint) = try await edit(id, while: { _ in true }, change) else {
            return nil
        }
        return endpoint
    }

    /// Changes an endpoint as ``update(_:_:)`` does, as long as `holds` says so of what is stored.
    ///
    /// What it was asked of is what is replaced: who changes it in between makes it be asked again.
    package func edit(
        _ id: EndpointID,
        while holds: (StoredEndpoint) -> Bool,
        _ change: (inout Endpoint, Timestamp) -> Void
    ) async throws(StoreError) -> EndpointEdit {
        // Each round somebody else has succeeded; so many in a row are no coincidence.
        for _ in 0..<32 {
            guard let stored = try await read(id) else { return .missing }
            guard holds(stored) else { return .refused }
            var endpoint = stored.endpoint
            change(&endpoint, stored.now)
            if endpoint == stored.endpoint { return .edited(endpoint) }
            switch try await replace(endpoint, version: stored.version) {
            case .replaced(let replaced): return .edited(replaced)
            case .nameTaken(let holder): return .nameTaken(by: holder)
            case .changed: continue
            }
        }
        throw .unavailable("the endpoint \(id) is being changed by many at once")
    }

    /// Forgets an endpoint; false when there was none.
    @discardableResult
    package func remove(_ id: EndpointID) async throws(StoreError) -> Bool {
        try await remove(id, version: nil) == .removed
    }

    /// Stops telling an endpoint anything; nil when there is none.
    ///
    /// One that is disabled already keeps its reason.
    @discardableResult
    package func disable(
        _ id: EndpointID,
        reason: String
    ) async throws(StoreError) -> Endpoint? {
        try await update(id) { endpoint, now in
            if endpoint.isEnabled { endpoint.state = .disabled(reason: reason, at: now) }
        }
    }

    /// Tells an endpoint again, first what waited for it; nil when there is none.
    @discardableResult
    package func enable(_ id: EndpointID) async throws(StoreError) -> Endpoint? {
        try await update(id) { endpoint, _ in endpoint.state = .enabled }
    }
}

/// What became of a change of an endpoint that holds for a certain one alone.
package enum EndpointEdit: Hashable, Sendable {
    case edited(Endpoint)
    case missing
    /// What is stored is another one.
    case refused
    /// Another endpoint of its account has the name.
    case nameTaken(by: EndpointID)
}

/// The result of storing a changed endpoint.
package enum EndpointReplacement: Hashable, Sendable {
    /// It is stored, with the store's time.
    case replaced(Endpoint)
    /// Another request has changed or removed it since the given version.
    case changed
    /// Another endpoint of its account has the name.
    case nameTaken(by: EndpointID)

    /// The endpoint as it is stored now; nil if nothing was stored.
    package var endpoint: Endpoint? {
        if case .replaced(let endpoint) = self { endpoint } else { nil }
    }
}

/// What became of an endpoint that was to go.
package enum EndpointRemoval: String, Hashable, Sendable {
    case removed
    /// There is none.
    case gone
    /// Somebody has changed it meanwhile.
    case changed
}

/// An endpoint as the store has it.
package struct StoredEndpoint: Hashable, Sendable {
    package let endpoint: Endpoint
    /// Of its last change.
    package let version: Int64
    /// The store's clock.
    package let now: Timestamp

    /// Puts one together, as a store does.
    package init(endpoint: Endpoint, version: Int64, now: Timestamp) {
        self.endpoint = endpoint
        self.version = version
        self.now = now
    }
}

/// What makes a repeated request to create an endpoint known as such.
package struct EndpointRequest: Hashable, Sendable {
    /// How long a repeat is known: longer than anybody retries by themselves.
    package static let span = Duration.seconds(86_400)

    /// Of the account and the key that the client gave.
    package let key: String
    /// Of all that was asked for: the same key with another wish is a mistake.
    package let fingerprint: String

    /// Names a request by the client's key, and by its body.
    package init(account: AccountID, key: String, body: [UInt8]) {
        self.key = Digest.base64url(of: [account.description, key], bytes: 18)
        fingerprint = Digest.base64url(of: [String(decoding: body, as: UTF8.self)], bytes: 12)
    }
}

/// What became of a request to create an endpoint.
package enum EndpointCreation: Hashable, Sendable {
    case created(Endpoint)
    /// The same request has made this one before; `isUntouched` until something of it changes.
    case repeated(Endpoint, isUntouched: Bool)
    /// The same key has made something else, or what it made is gone.
    case conflict
    /// There is one of this id.
    case exists
    /// There are ``Endpoint/countMax`` already.
    case tooMany
    /// Its account has as many as it may.
    case tooManyOfAccount
    /// Another endpoint of its account has the name.
    case nameTaken(by: EndpointID)
}

/// What has changed in the registry.
package struct EndpointChanges: Hashable, Sendable {
    /// The reader's version is not of this registry, or too old: this is the beginning of all
    /// there is, and whatever else the reader has is gone.
    package let isReset: Bool
    /// The version the reader has after this page.
    package let version: Int64
    package let hasMore: Bool
    /// New or changed ones.
    package let endpoints: [Endpoint]
    package let removed: [EndpointID]

    /// Puts changes together, as a store does.
    package init(
        isReset: Bool,
        version: Int64,
        hasMore: Bool,
        endpoints: [Endpoint],
        removed: [EndpointID]
    ) {
        self.isReset = isReset
        self.version = version
        self.hasMore = hasMore
        self.endpoints = endpoints
        self.removed = removed
    }
}
