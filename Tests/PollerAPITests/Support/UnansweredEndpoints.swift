import PollerDeliveries
import PollerIdentity
import PollerQueue

/// Endpoints of a store whose answers to changes are lost: each change is made, and the caller gets an error.
struct UnansweredEndpoints: EndpointStore {
    let base: any EndpointStore

    func version() async throws(StoreError) -> Int64 { try await base.version() }

    func changes(
        since version: Int64,
        isContinuing: Bool
    ) async throws(StoreError) -> EndpointChanges {
        try await base.changes(since: version, isContinuing: isContinuing)
    }

    func create(
        _ endpoint: Endpoint,
        request: EndpointRequest?,
        accountMax: Int
    ) async throws(StoreError) -> EndpointCreation {
        _ = try await base.create(endpoint, request: request, accountMax: accountMax)
        throw .unavailable("the answer is lost")
    }

    func read(
        _ id: EndpointID,
        of accounts: AccountSet
    ) async throws(StoreError) -> StoredEndpoint? {
        try await base.read(id, of: accounts)
    }

    func replace(
        _ endpoint: Endpoint,
        version: Int64
    ) async throws(StoreError) -> EndpointReplacement {
        _ = try await base.replace(endpoint, version: version)
        throw .unavailable("the answer is lost")
    }

    func remove(_ id: EndpointID, version: Int64?) async throws(StoreError) -> EndpointRemoval {
        _ = try await base.remove(id, version: version)
        throw .unavailable("the answer is lost")
    }

    func list(
        accounts: AccountSet,
        limit: Int,
        cursor: String?
    ) async throws(StoreError) -> ListPage<Endpoint> {
        try await base.list(accounts: accounts, limit: limit, cursor: cursor)
    }

    func counts(of accounts: [AccountID]) async throws(StoreError) -> [Int] {
        try await base.counts(of: accounts)
    }
}
