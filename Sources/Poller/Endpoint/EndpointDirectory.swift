package import Logging
import Metrics
package import PollerIdentity
package import PollerQueue
import Synchronization

/// A process's copy of the registered endpoints, and who of them wants an event.
///
/// *Exactness*: after reading an event and before looking up who wants it, the reader calls
/// ``refresh()``. An event recorded after an endpoint was created is read after that, so the
/// version read then is that of a registry that has the endpoint. What attempts use may be older
/// by the pace of the ``EndpointSync``: a second.
///
/// A class, because the reader of the outbox, the handler and the sync share it.
package final class EndpointDirectory: Sendable {
    private struct State: Sendable {
        var version: Int64 = 0
        var endpoints: [EndpointID: Endpoint] = [:]
        var index: EndpointIndex
        /// Ids whose endpoint changed or went, for the sync.
        var changed: Set<EndpointID> = []
        var isLoading = false
        /// Who waits for the turn to load.
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let store: any EndpointStore
    /// Who is told of the cluster itself without being registered.
    let operators: [NotifyURL]
    private let partition: @Sendable (LaneID) -> Int
    private let logger: Logger
    private let state: Mutex<State>

    /// An empty copy; the first refresh fills it.
    ///
    /// `operators` are told of the cluster itself; `partition` tells where the deliveries of a lane are.
    package init(
        store: any EndpointStore,
        operators: [NotifyURL] = [],
        partition: @escaping @Sendable (LaneID) -> Int = { _ in 0 },
        logger: Logger
    ) {
        self.store = store
        self.operators = operators
        self.partition = partition
        self.logger = logger
        state = Mutex(State(index: EndpointIndex(partition: partition)))
    }

    /// Makes the copy as new as the registry is now; one cheap read when it is already.
    package func refresh() async throws(StoreError) {
        let version = try await store.version()
        guard version != state.withLock(\.version) else { return }
        await takeTurn()
        defer { endTurn() }
        // Who had the turn before may have read it: hundreds of attempts ask at once when a process starts.
        let known = state.withLock(\.version)
        if version != known { try await load(since: known) }
    }

    /// Reads the whole registry, whatever its version says.
    package func reload() async throws(StoreError) {
        await takeTurn()
        defer { endTurn() }
        try await load(since: 0)
    }

    /// Waits until nobody else loads, which takes no longer than the store's calls may.
    private func takeTurn() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                defer { state.isLoading = true }
                if state.isLoading { state.waiting.append(continuation) }
                return !state.isLoading
            }
            if isFree { continuation.resume() }
        }
    }

    private func endTurn() {
        let next = state.withLock { state in
            state.isLoading = !state.waiting.isEmpty
            return state.isLoading ? state.waiting.removeFirst() : nil
        }
        next?.resume()
    }

    /// The endpoint as the copy has it; nil when it is not there.
    package func known(_ id: EndpointID) -> Endpoint? {
        state.withLock { $0.endpoints[id] }
    }

    /// The endpoint; nil when there is none, which is asked of the store before it is believed.
    package func endpoint(_ id: EndpointID) async throws(StoreError) -> Endpoint? {
        if let endpoint = known(id) { return endpoint }
        try await refresh()
        return known(id)
    }

    /// Stops telling an endpoint anything, and knows it at once; false when nobody told it anything.
    func disable(_ id: EndpointID, reason: String) async throws(StoreError) -> Bool {
        var wasEnabled = false
        let changed = try await store.update(id) { endpoint, now in
            wasEnabled = endpoint.isEnabled
            if wasEnabled {
                endpoint.state = .disabled(reason: reason, at: now, by: .ourselves)
            }
        }
        try await refresh()
        // Nil when somebody has removed it meanwhile.
        return wasEnabled && changed != nil
    }

    /// The endpoints that are to be told of an event, as far as the event itself says; also those
    /// that were disabled not long ago and will catch up.
    package func interested(in event: Event) -> Audience {
        state.withLock { $0.index.audience(of: event) }
    }

    /// Those that are told, and have somebody else told when that takes too long.
    func withFallback() -> [Endpoint] {
        state.withLock { state in
            state.endpoints.values.filter { $0.isEnabled && $0.notifyBy != nil }
        }
    }

    /// What has changed since it was asked for last, each with what it is now; nil for what went.
    func takeChanges() -> [(id: EndpointID, endpoint: Endpoint?)] {
        state.withLock { state in
            defer { state.changed = [] }
            return state.changed.map { ($0, state.endpoints[$0]) }
        }
    }

    /// Puts a change back that could not be dealt with.
    func putBack(_ id: EndpointID) {
        state.withLock { _ = $0.changed.insert(id) }
    }

    private func load(since version: Int64) async throws(StoreError) {
        var since = version
        var isFresh = version == 0
        var pages: [EndpointChanges] = []
        var isContinuing = false
        var isForced = false
        repeat {
            let page = try await store.changes(since: since, isContinuing: isContinuing)
            if page.isReset {
                isFresh = true
                pages = []
                isForced = version > 0
            }
            pages.append(page)
            since = page.version
            isContinuing = true
        } while pages.last?.hasMore == true
        let count = state.withLock { state in
            // Somebody else may have read further meanwhile; what is older is not taken, unless
            // the store says that what we had is none of its own.
            guard isForced || since >= state.version else { return state.endpoints.count }
            if isFresh {
                state.changed.formUnion(state.endpoints.keys)
                state.endpoints = [:]
            }
            // So many are sorted anew sooner than each is put in its place.
            let isIndexedAnew = isFresh || pages.count > 1
            for page in pages { Self.apply(page, to: &state, indexing: !isIndexedAnew) }
            if isIndexedAnew {
                state.index = EndpointIndex(state.endpoints.values, partition: partition)
            }
            state.version = since
            return state.endpoints.count
        }
        Gauge(label: "poller_endpoints").record(count)
        logger.debug("endpoints read", metadata: ["endpoints": "\(count)"])
    }

    private static func apply(
        _ page: EndpointChanges,
        to state: inout State,
        indexing isIndexing: Bool
    ) {
        for endpoint in page.endpoints {
            let old = state.endpoints.updateValue(endpoint, forKey: endpoint.id)
            state.changed.insert(endpoint.id)
            guard isIndexing else { continue }
            if let old { state.index.remove(old) }
            state.index.insert(endpoint)
        }
        for id in page.removed {
            let old = state.endpoints.removeValue(forKey: id)
            state.changed.insert(id)
            if isIndexing, let old { state.index.remove(old) }
        }
    }
}
