package import Logging
import Metrics
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
        /// Of each account those that name no source.
        var general: [AccountID: Set<EndpointID>] = [:]
        /// Those that name sources, by each of them.
        var bySource: [SourceID: Set<EndpointID>] = [:]
        /// Ids whose endpoint changed or went, for the sync.
        var changed: Set<EndpointID> = []
    }

    private let store: any EndpointStore
    /// Who is told of the cluster itself without being registered.
    let operators: [NotifyURL]
    private let logger: Logger
    private let state = Mutex(State())

    /// An empty copy; the first refresh fills it.
    ///
    /// `operators` are told of the cluster itself.
    package init(store: any EndpointStore, operators: [NotifyURL] = [], logger: Logger) {
        self.store = store
        self.operators = operators
        self.logger = logger
    }

    /// Makes the copy as new as the registry is now; one cheap read when it is already.
    package func refresh() async throws(StoreError) {
        let version = try await store.version()
        let known = state.withLock(\.version)
        if version != known { try await load(since: known) }
    }

    /// Reads the whole registry, whatever its version says.
    package func reload() async throws(StoreError) {
        try await load(since: 0)
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
    package func interested(in event: Event) -> [EndpointID] {
        state.withLock { state in
            let candidates = (state.general[event.key.account] ?? [])
                .union(state.bySource[event.key.source] ?? [])
            return candidates.filter { id in
                guard let endpoint = state.endpoints[id] else { return false }
                return endpoint.wants(event) && endpoint.collects(at: event.polledAt)
            }
        }
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
        var fresh: State? = version == 0 ? State() : nil
        var pages: [EndpointChanges] = []
        var isContinuing = false
        var isForced = false
        repeat {
            let page = try await store.changes(since: since, isContinuing: isContinuing)
            if page.isReset {
                fresh = State()
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
            var next = fresh ?? state
            for page in pages { Self.apply(page, to: &next) }
            next.version = since
            if fresh != nil {
                next.changed = state.changed.union(next.changed)
                    .union(state.endpoints.keys.filter { next.endpoints[$0] == nil })
            }
            state = next
            return next.endpoints.count
        }
        Gauge(label: "poller_endpoints").record(count)
        logger.debug("endpoints read", metadata: ["endpoints": "\(count)"])
    }

    private static func apply(_ page: EndpointChanges, to state: inout State) {
        for endpoint in page.endpoints {
            forget(endpoint.id, in: &state)
            state.endpoints[endpoint.id] = endpoint
            state.changed.insert(endpoint.id)
            if endpoint.scope.sources.isEmpty {
                state.general[endpoint.account, default: []].insert(endpoint.id)
            } else {
                for source in endpoint.scope.sources {
                    state.bySource[source, default: []].insert(endpoint.id)
                }
            }
        }
        for id in page.removed {
            forget(id, in: &state)
            state.changed.insert(id)
        }
    }

    private static func forget(_ id: EndpointID, in state: inout State) {
        guard let old = state.endpoints.removeValue(forKey: id) else { return }
        state.general[old.account]?.remove(id)
        for source in old.scope.sources {
            state.bySource[source]?.remove(id)
            if state.bySource[source]?.isEmpty == true { state.bySource[source] = nil }
        }
    }
}
