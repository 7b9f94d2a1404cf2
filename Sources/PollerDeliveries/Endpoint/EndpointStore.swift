package import PollerIdentity
package import PollerQueue

/// The registered endpoints of a cluster.
///
/// A registry of at most ``Endpoint/countMax``, small enough that every notifier keeps a copy (``EndpointDirectory``).
/// One cheap read of its version shows whether the copy is current. IDs are unique; the caller checks the account of an
/// endpoint.
package protocol EndpointStore: Sendable {
    /// Returns a number that grows with every change of the registry; 0 while it is empty.
    func version() async throws(StoreError) -> Int64

    /// Returns the changes after a version, some hundred endpoints at a time.
    ///
    /// `isContinuing` means that this is not the first page of a complete read.
    func changes(
        since version: Int64,
        isContinuing: Bool
    ) async throws(StoreError) -> EndpointChanges

    /// Registers an endpoint, created at the store's time.
    ///
    /// Of any number of requests with the same key one creates the endpoint; the others get that endpoint. `accountMax`
    /// is the limit of its account, 0 for no limit; it is never exceeded. A name that another endpoint of the account
    /// has is rejected in the same step.
    func create(
        _ endpoint: Endpoint,
        request: EndpointRequest?,
        accountMax: Int
    ) async throws(StoreError) -> EndpointCreation

    /// Reads one endpoint of these accounts; `nil` when there is none.
    ///
    /// For an endpoint of another account, the code path and duration are the same as for a missing one.
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

    /// Removes an endpoint, unless it was changed since `version`; `nil` for any version.
    func remove(
        _ id: EndpointID,
        version: Int64?
    ) async throws(StoreError) -> EndpointRemoval

    /// Returns a page of the endpoints of some or all accounts, the newest first.
    func list(
        accounts: AccountSet,
        limit: Int,
        cursor: String?
    ) async throws(StoreError) -> ListPage<Endpoint>

    /// Returns the number of endpoints of each account, in order.
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

    /// Reads an endpoint regardless of account; `nil` when there is none.
    package func read(_ id: EndpointID) async throws(StoreError) -> StoredEndpoint? {
        try await read(id, of: .all)
    }

    /// Changes an endpoint; `nil` when there is none.
    ///
    /// `change` receives the endpoint and the store's time, and may be called again with a newer endpoint after a
    /// concurrent change.
    package func update(
        _ id: EndpointID,
        _ change: (inout Endpoint, Timestamp) -> Void
    ) async throws(StoreError) -> Endpoint? {
        guard case .edited(let endpoint) = try await edit(id, while: { _ in true }, change) else {
            return nil
        }
        return endpoint
    }

    /// Changes an endpoint like ``update(_:_:)``, if `holds` returns true for the stored one.
    ///
    /// The version that `holds` has checked is the one that is replaced: after a concurrent change `holds` is called
    /// again.
    package func edit(
        _ id: EndpointID,
        while holds: (StoredEndpoint) -> Bool,
        _ change: (inout Endpoint, Timestamp) -> Void
    ) async throws(StoreError) -> EndpointEdit {
        // In each round another request has succeeded. This many in a row are not a coincidence.
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
        throw .unavailable("the endpoint \(id) is being changed by other requests; try again")
    }

    /// Removes an endpoint; false when there was none.
    @discardableResult
    package func remove(_ id: EndpointID) async throws(StoreError) -> Bool {
        try await remove(id, version: nil) == .removed
    }

    /// Disables an endpoint; `nil` when there is none.
    ///
    /// An already disabled one keeps its reason.
    @discardableResult
    package func disable(
        _ id: EndpointID,
        reason: String
    ) async throws(StoreError) -> Endpoint? {
        try await update(id) { endpoint, now in
            if endpoint.isEnabled { endpoint.state = .disabled(reason: reason, at: now) }
        }
    }

    /// Enables an endpoint, which first receives its pending events; `nil` when there is none.
    @discardableResult
    package func enable(_ id: EndpointID) async throws(StoreError) -> Endpoint? {
        try await update(id) { endpoint, _ in endpoint.state = .enabled }
    }
}

/// The result of a conditional update.
package enum EndpointEdit: Hashable, Sendable {
    case edited(Endpoint)
    case missing
    /// The condition does not hold for the stored endpoint.
    case refused
    /// Another endpoint of its account has the name.
    case nameTaken(by: EndpointID)
}

/// The result of storing a changed endpoint.
package enum EndpointReplacement: Hashable, Sendable {
    /// Stored, with the store's time.
    case replaced(Endpoint)
    /// Another request has changed or removed it since the given version.
    case changed
    /// Another endpoint of its account has the name.
    case nameTaken(by: EndpointID)
}

/// The result of removing an endpoint.
package enum EndpointRemoval: String, Hashable, Sendable {
    case removed
    /// The endpoint does not exist.
    case gone
    /// Another request has changed it meanwhile.
    case changed
}

/// An endpoint in the store.
package struct StoredEndpoint: Hashable, Sendable {
    package let endpoint: Endpoint
    /// The version of its last change.
    package let version: Int64
    /// The store's time.
    package let now: Timestamp

    /// Creates a value from the fields of a store.
    package init(endpoint: Endpoint, version: Int64, now: Timestamp) {
        self.endpoint = endpoint
        self.version = version
        self.now = now
    }
}

/// The identity of a request to create an endpoint, by which repeats are recognised.
package struct EndpointRequest: Hashable, Sendable {
    /// The time for which a repeat is recognised, longer than any client retries automatically.
    package static let span = Duration.seconds(86_400)

    /// The digest of the account and the client's key.
    package let key: String
    /// The digest of the request body: the same key with another body is a mistake.
    package let fingerprint: String

    /// Creates the identity from the client's key and the body.
    package init(account: AccountID, key: String, body: [UInt8]) {
        self.key = Digest.base64url(of: [account.description, key], bytes: 18)
        fingerprint = Digest.base64url(of: [String(decoding: body, as: UTF8.self)], bytes: 12)
    }
}

/// The result of a request to create an endpoint.
package enum EndpointCreation: Hashable, Sendable {
    case created(Endpoint)
    /// An earlier identical request created it; `isUntouched` until it is changed.
    case repeated(Endpoint, isUntouched: Bool)
    /// The same key created another endpoint, or one that no longer exists.
    case conflict
    /// An endpoint with this ID exists.
    case exists
    /// The limit of ``Endpoint/countMax`` is reached.
    case tooMany
    /// The limit of its account is reached.
    case tooManyOfAccount
    /// Another endpoint of its account has the name.
    case nameTaken(by: EndpointID)
}

/// An endpoint that this release does not understand, because a newer one wrote it.
package struct ForeignEndpoint: Hashable, Sendable {
    package let id: EndpointID
    /// The account; `nil` if not even that is understood.
    package let account: AccountID?
    package let createdAt: Timestamp
    package let updatedAt: Timestamp

    /// Creates a value from what the releases write alike.
    package init(
        id: EndpointID,
        account: AccountID?,
        createdAt: Timestamp,
        updatedAt: Timestamp
    ) {
        self.id = id
        self.account = account
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }
}

/// The changes of the registry.
package struct EndpointChanges: Hashable, Sendable {
    /// Whether the reader's version is too old or from another registry: this is the first page of everything, and the
    /// reader drops its other data.
    package let isReset: Bool
    /// The reader's version after this page.
    package let version: Int64
    package let hasMore: Bool
    package let endpoints: [Endpoint]
    package let removed: [EndpointID]
    /// The new or changed endpoints that this release does not understand.
    package let foreign: [ForeignEndpoint]

    /// Creates changes from the values of a store.
    package init(
        isReset: Bool,
        version: Int64,
        hasMore: Bool,
        endpoints: [Endpoint],
        removed: [EndpointID],
        foreign: [ForeignEndpoint] = []
    ) {
        self.isReset = isReset
        self.version = version
        self.hasMore = hasMore
        self.endpoints = endpoints
        self.removed = removed
        self.foreign = foreign
    }
}
