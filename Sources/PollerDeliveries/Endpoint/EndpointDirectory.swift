package import Logging
import Metrics
package import PollerIdentity
package import PollerQueue
package import PollerWatches
import Synchronization

/// A process's copy of the registered endpoints, with an index of their subscriptions.
///
/// *Exactness*: after reading an event and before looking up its endpoints, the reader calls ``refresh()``. An event
/// recorded after an endpoint was created is read later, so the version read then includes the endpoint. Attempts may
/// use data that is older by the interval of the ``EndpointSync``: a second.
package final class EndpointDirectory: Sendable {
    private struct State: Sendable {
        var version: Int64 = 0
        var endpoints: [EndpointID: Endpoint] = [:]
        /// The endpoints that this release does not understand.
        ///
        /// They are not removed ones: their deliveries wait, also those of new events.
        var foreign: [EndpointID: ForeignEndpoint] = [:]
        var index: EndpointIndex
        /// The IDs of changed or removed endpoints, for the sync.
        var changed: Set<EndpointID> = []
        var isLoading = false
        /// The tasks that wait to load.
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let store: any EndpointStore
    /// The unregistered recipients of events about the cluster.
    let operators: [NotifyURL]
    private let partition: @Sendable (LaneID) -> Int
    private let logger: Logger
    private let state: Mutex<State>

    /// Creates an empty copy; the first refresh fills it.
    ///
    /// `operators` receive events about the cluster; `partition` returns the partition of a lane of deliveries.
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

    /// Updates the copy to the registry's current version; one cheap read if it is unchanged.
    package func refresh() async throws(StoreError) {
        let version = try await store.version()
        guard version != state.withLock(\.version) else { return }
        await beginLoading()
        defer { endLoading() }
        // The previous task may have read it: hundreds of attempts call this at once when a process starts.
        let known = state.withLock(\.version)
        if version != known { try await load(since: known) }
    }

    /// Reads the whole registry, regardless of its version.
    package func reload() async throws(StoreError) {
        await beginLoading()
        defer { endLoading() }
        try await load(since: 0)
    }

    /// Waits until no other task loads, which takes no longer than the store's calls may.
    private func beginLoading() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                defer { state.isLoading = true }
                if state.isLoading { state.waiting.append(continuation) }
                return !state.isLoading
            }
            if isFree { continuation.resume() }
        }
    }

    private func endLoading() {
        let next = state.withLock { state in
            state.isLoading = !state.waiting.isEmpty
            return state.isLoading ? state.waiting.removeFirst() : nil
        }
        next?.resume()
    }

    /// Returns the endpoint in the copy; `nil` when it is not there.
    package func known(_ id: EndpointID) -> Endpoint? {
        state.withLock { $0.endpoints[id] }
    }

    /// Returns the endpoint; a missing one is looked up in the store before `nil` is returned.
    ///
    /// - Throws: `corrupt` if this release does not understand it.
    package func endpoint(_ id: EndpointID) async throws(StoreError) -> Endpoint? {
        if let endpoint = known(id) { return endpoint }
        try await refresh()
        if state.withLock({ $0.foreign[id] != nil }) {
            throw .corrupt("this release does not understand the endpoint \(id)")
        }
        return known(id)
    }

    /// Disables an endpoint and refreshes the copy; false when it was disabled already.
    func disable(_ id: EndpointID, reason: String) async throws(StoreError) -> Bool {
        var wasEnabled = false
        let changed = try await store.update(id) { endpoint, now in
            wasEnabled = endpoint.isEnabled
            if wasEnabled {
                endpoint.state = .disabled(reason: reason, at: now, by: .ourselves)
            }
        }
        try await refresh()
        // `nil` when another request has removed it meanwhile.
        return wasEnabled && changed != nil
    }

    /// Returns the endpoints that subscribe to an event, according to the event's own data, including recently disabled
    /// ones that will catch up.
    package func interested(in event: Event) -> Audience {
        state.withLock { $0.index.audience(of: event) }
    }

    /// Returns the enabled endpoints with a fallback.
    func withFallback() -> [Endpoint] {
        state.withLock { state in
            state.endpoints.values.filter { $0.isEnabled && $0.notifyBy != nil }
        }
    }

    /// Returns the endpoints changed since the last call, by ID; `nil` marks a removed endpoint.
    func takeChanges() -> [(id: EndpointID, endpoint: Endpoint?)] {
        state.withLock { state in
            defer { state.changed = [] }
            return state.changed.filter { state.foreign[$0] == nil }
                .map { ($0, state.endpoints[$0]) }
        }
    }

    /// Puts back a change that could not be processed.
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
            // Another task may have read a newer version meanwhile. An older one is ignored, unless the store reports
            // that the previous version was not its own.
            guard isForced || since >= state.version else { return state.endpoints.count }
            if isFresh {
                state.changed.formUnion(state.endpoints.keys)
                state.endpoints = [:]
                state.foreign = [:]
            }
            // For many changes, sorting again is faster than inserting each.
            let rebuildsIndex = isFresh || pages.count > 1
            for page in pages { Self.apply(page, to: &state, indexing: !rebuildsIndex) }
            if rebuildsIndex {
                state.index = EndpointIndex(state.endpoints.values, partition: partition)
                for foreign in state.foreign.values { state.index.insert(foreign) }
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
            remove(endpoint.id, from: &state, indexing: isIndexing)
            state.endpoints[endpoint.id] = endpoint
            if isIndexing { state.index.insert(endpoint) }
        }
        for foreign in page.foreign {
            remove(foreign.id, from: &state, indexing: isIndexing)
            state.foreign[foreign.id] = foreign
            if isIndexing { state.index.insert(foreign) }
        }
        for id in page.removed { remove(id, from: &state, indexing: isIndexing) }
    }

    /// Removes an endpoint, whether or not it is understood, and notes the change.
    private static func remove(
        _ id: EndpointID,
        from state: inout State,
        indexing isIndexing: Bool
    ) {
        state.changed.insert(id)
        let old = state.endpoints.removeValue(forKey: id)
        let foreign = state.foreign.removeValue(forKey: id)
        guard isIndexing else { return }
        if let old { state.index.remove(old) }
        if let foreign { state.index.remove(foreign) }
    }
}
