package import PollerDeliveries
package import PollerIdentity
package import PollerQueue

/// An endpoint store that forwards to another one by default.
package protocol ForwardingEndpointStore: EndpointStore {
    var base: any EndpointStore { get }
}

extension ForwardingEndpointStore {
    package func version() async throws(StoreError) -> Int64 { try await base.version() }

    package func changes(
        since version: Int64,
        isContinuing: Bool
    ) async throws(StoreError) -> EndpointChanges {
        try await base.changes(since: version, isContinuing: isContinuing)
    }

    package func create(
        _ endpoint: Endpoint,
        request: EndpointRequest?,
        accountMax: Int
    ) async throws(StoreError) -> EndpointCreation {
        try await base.create(endpoint, request: request, accountMax: accountMax)
    }

    package func counts(of accounts: [AccountID]) async throws(StoreError) -> [Int] {
        try await base.counts(of: accounts)
    }

    package func read(
        _ id: EndpointID,
        of accounts: AccountSet
    ) async throws(StoreError) -> StoredEndpoint? {
        try await base.read(id, of: accounts)
    }

    package func replace(
        _ endpoint: Endpoint,
        version: Int64
    ) async throws(StoreError) -> EndpointReplacement {
        try await base.replace(endpoint, version: version)
    }

    package func remove(
        _ id: EndpointID,
        version: Int64?
    ) async throws(StoreError) -> EndpointRemoval {
        try await base.remove(id, version: version)
    }

    package func list(
        accounts: AccountSet,
        limit: Int,
        cursor: String?
    ) async throws(StoreError) -> ListPage<Endpoint> {
        try await base.list(accounts: accounts, limit: limit, cursor: cursor)
    }
}
