package import PollerDeliveries
package import PollerIdentity
package import PollerQueue
import Synchronization

/// The registry of endpoints in memory, every operation under one lock.
///
/// This is a class because directories, routes and tests share it.
package final class MemoryEndpointStore: EndpointStore {
    private struct Record: Sendable {
        var endpoint: Endpoint
        var version: Int64
    }

    private struct Made: Sendable {
        let fingerprint: String
        let id: EndpointID
        let version: Int64
        let until: Timestamp
    }

    private struct State: Sendable {
        var version: Int64 = 0
        var records: [EndpointID: Record] = [:]
        var removed: [EndpointID: Int64] = [:]
        var requests: [String: Made] = [:]

        /// Returns the other endpoint of the account with the name of this one.
        func holder(ofNameOf endpoint: Endpoint) -> EndpointID? {
            guard let name = endpoint.name else { return nil }
            return records.values.map(\.endpoint).first { other in
                other.account == endpoint.account && other.name == name && other.id != endpoint.id
            }?.id
        }

        func count(of account: AccountID) -> Int {
            records.values.count { $0.endpoint.account == account }
        }

        mutating func next(_ now: Timestamp) -> Int64 {
            version = max(version + 1, now.ms * 1000)
            return version
        }
    }

    private let time: any StoreTime
    private let countMax: Int
    private let page: Int
    private let flaws: Set<EndpointFlaw>
    private let state = Mutex(State())

    /// Creates an empty registry.
    ///
    /// `page` is the number of endpoints returned at once, and `flaws` are its planted mistakes.
    package init(
        time: any StoreTime,
        countMax: Int = Endpoint.countMax,
        page: Int = 200,
        flaws: Set<EndpointFlaw> = []
    ) {
        self.time = time
        self.countMax = countMax
        self.page = page
        self.flaws = flaws
    }

    package func version() async throws(StoreError) -> Int64 {
        state.withLock { $0.version }
    }

    package func changes(
        since version: Int64,
        isContinuing: Bool
    ) async throws(StoreError) -> EndpointChanges {
        state.withLock { state in
            // It remembers every removed endpoint, so a reader starts over only with an unknown version.
            let isBeginning = version > state.version || (version == 0 && !isContinuing)
            let isReset = isBeginning && !flaws.contains(.neverResetsReaders)
            let since = isReset ? 0 : version
            let changed = state.records.values.filter { $0.version > since }
                .sorted { $0.version < $1.version }
            let returned = changed.prefix(page)
            let hasMore = returned.count < changed.count
            let upper = hasMore ? returned.last?.version ?? since : state.version
            return EndpointChanges(
                isReset: isReset,
                version: upper,
                hasMore: hasMore,
                endpoints: returned.map(\.endpoint),
                removed: flaws.contains(.hidesRemovals)
                    ? []
                    : state.removed.filter { $0.value > since && $0.value <= upper }
                        .map(\.key)
            )
        }
    }

    package func create(
        _ endpoint: Endpoint,
        request: EndpointRequest?,
        accountMax: Int
    ) async throws(StoreError) -> EndpointCreation {
        let now = time.now
        return state.withLock { state in
            if let request, let made = state.requests[request.key], made.until > now,
                !flaws.contains(.forgetsRequests)
            {
                guard made.fingerprint == request.fingerprint,
                    let record = state.records[made.id]
                else { return .conflict }
                return .repeated(record.endpoint, isUntouched: record.version == made.version)
            }
            if state.records[endpoint.id] != nil { return .exists }
            if let holder = state.holder(ofNameOf: endpoint), !flaws.contains(.forgetsNames) {
                return .nameTaken(by: holder)
            }
            if state.records.count >= countMax { return .tooMany }
            let isCrowded = state.count(of: endpoint.account) >= accountMax
            if accountMax > 0, isCrowded, !flaws.contains(.forgetsAccounts) {
                return .tooManyOfAccount
            }
            let created = endpoint.stamped(now)
            let version = state.next(now)
            state.records[endpoint.id] = Record(endpoint: created, version: version)
            state.removed[endpoint.id] = nil
            if let request {
                state.requests[request.key] = Made(
                    fingerprint: request.fingerprint,
                    id: endpoint.id,
                    version: version,
                    until: now + EndpointRequest.span
                )
            }
            return .created(created)
        }
    }

    package func read(
        _ id: EndpointID,
        of accounts: AccountSet
    ) async throws(StoreError) -> StoredEndpoint? {
        let now = time.now
        return state.withLock { state in
            state.records[id].flatMap { record in
                guard accounts.contains(record.endpoint.account) else { return nil }
                return StoredEndpoint(
                    endpoint: record.endpoint,
                    version: record.version,
                    now: now
                )
            }
        }
    }

    package func replace(
        _ endpoint: Endpoint,
        version: Int64
    ) async throws(StoreError) -> EndpointReplacement {
        let now = time.now
        return state.withLock { state in
            guard let old = state.records[endpoint.id],
                old.version == version || flaws.contains(.takesStaleChanges)
            else { return .changed }
            let isRenamed = old.endpoint.name != endpoint.name
            if isRenamed, let holder = state.holder(ofNameOf: endpoint),
                !flaws.contains(.forgetsNames)
            {
                return .nameTaken(by: holder)
            }
            var replaced = endpoint
            replaced.updatedAt = now
            let next = state.next(now)
            state.records[endpoint.id] = Record(
                endpoint: replaced,
                version: flaws.contains(.hidesChanges) ? old.version : next
            )
            return .replaced(replaced)
        }
    }

    package func remove(
        _ id: EndpointID,
        version: Int64?
    ) async throws(StoreError) -> EndpointRemoval {
        let now = time.now
        return state.withLock { state in
            guard let record = state.records[id] else { return .gone }
            guard version.map({ $0 == record.version }) ?? true else { return .changed }
            state.records[id] = nil
            state.removed[id] = state.next(now)
            return .removed
        }
    }

    package func list(
        accounts: AccountSet,
        limit: Int,
        cursor: String?
    ) async throws(StoreError) -> ListPage<Endpoint> {
        var after = ""
        if let cursor {
            guard let bytes = Base64URL.decode(cursor) else { throw .unknownCursor }
            after = String(decoding: bytes, as: UTF8.self)
            if !after.contains(" ep_") { throw .unknownCursor }
        }
        let all = state.withLock { Array($0.records.values) }.map(\.endpoint)
            .filter { accounts.contains($0.account) }
            .map { (position: "\($0.createdAt) \($0.id)", endpoint: $0) }
            .filter { after.isEmpty || $0.position < after }
            .sorted { $0.position > $1.position }
        let items = all.prefix(limit)
        return ListPage(
            items: items.map(\.endpoint),
            next: items.count < all.count
                ? items.last.map { Base64URL.encode($0.position.utf8) } : nil
        )
    }

    package func counts(of accounts: [AccountID]) async throws(StoreError) -> [Int] {
        state.withLock { state in accounts.map { state.count(of: $0) } }
    }
}
