import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches

extension ConformanceBench {
    /// Creates an endpoint with its own secret, at a host of this name.
    func endpoint(
        _ host: String,
        account: String = "acct_a",
        id: EndpointID? = nil,
        _ change: (inout Endpoint) throws -> Void = { _ in }
    ) throws -> Endpoint {
        var generator = SystemRandomNumberGenerator()
        var endpoint = Endpoint(
            id: id ?? EndpointID(using: &generator),
            account: AccountID(unchecked: account),
            url: try NotifyURL("https://\(host).example/hook"),
            secrets: [EndpointSecret(WebhookSecret(using: &generator))]
        )
        try change(&endpoint)
        return endpoint
    }

    /// Creates a request with an idempotency key.
    func request(
        _ key: String,
        account: String = "acct_a",
        body: String = "{}"
    ) -> EndpointRequest {
        EndpointRequest(
            account: AccountID(unchecked: account),
            key: key,
            body: Array(body.utf8)
        )
    }

    /// Stores an endpoint that must be new.
    @discardableResult
    func create(
        _ endpoint: Endpoint,
        _ request: EndpointRequest? = nil
    ) async throws -> Endpoint {
        let creation = try await harness.endpoints.create(endpoint, request: request)
        guard case .created(let created) = creation else {
            throw ConformanceFailure(message: "creating \(endpoint.url): \(creation)")
        }
        return created
    }

    func stored(_ id: EndpointID) async throws -> StoredEndpoint {
        try some(try await harness.endpoints.read(id), "the endpoint \(id)")
    }

    func list(
        accounts: AccountSet = .all,
        limit: Int,
        cursor: String? = nil
    ) async throws -> ListPage<Endpoint> {
        try await harness.endpoints.list(accounts: accounts, limit: limit, cursor: cursor)
    }
}

extension ConformanceBench {
    /// Fails unless a stream reports a partition, or a loss, while `act` is repeated.
    ///
    /// A notification may be lost while the subscriber still connects.
    func isNotified(
        _ partition: Int,
        from stream: AsyncStream<Int?>,
        _ label: String,
        while act: () async throws -> Void
    ) async throws {
        let received = ReceivedNotification()
        let listener = Task {
            for await news in stream where news == partition {
                await received.note()
            }
        }
        defer { listener.cancel() }
        try await eventually(label) {
            try await act()
            return await received.isNoted
        }
    }
}

/// Whether the notification arrived; an actor, because subscriber and test share it.
private actor ReceivedNotification {
    private(set) var isNoted = false

    func note() {
        isNoted = true
    }
}

/// Shorthands for cases about lanes.
extension ConformanceBench {
    /// Returns keys for watches of one account.
    func keys(_ names: Range<Int>, _ prefix: String = "", account: String = "acct_a") -> [WatchKey]
    {
        names.map { key("\(prefix)\($0)", account: account) }
    }

    /// Enqueues new watches, which are urgent and due now.
    func enqueue(_ keys: [WatchKey]) async throws {
        _ = try await watches.enqueue(keys.map { try NewWatch(key: $0) })
    }

    /// Enqueues new watches of one account and returns their keys.
    func enqueued(
        _ names: Range<Int>,
        _ prefix: String = "",
        account: String = "acct_a"
    ) async throws -> [WatchKey] {
        let keys = keys(names, prefix, account: account)
        try await enqueue(keys)
        return keys
    }

    /// Makes watches that wait in the normal schedule, due now, the first the longest.
    ///
    /// It must be called before anything else is due in their partitions.
    func enqueueRest(_ keys: [WatchKey]) async throws {
        try await enqueue(keys)
        for home in Set(keys.map(partition)).sorted() {
            let leases = try await claim(in: home, limit: 1000).leases
            for (place, key) in keys.enumerated() {
                guard let lease = leases.first(where: { $0.item.key == key }) else { continue }
                _ = try await commit(lease, .next(after: .milliseconds(place)))
            }
        }
        try await advance(ms: keys.count)
    }

    /// Claims all claimable watches and counts them by name prefix.
    func counts(
        _ home: Int,
        limit: Int,
        lane: LaneLimit = .unlimited
    ) async throws -> (urgent: Int, rest: Int) {
        let names = try await claim(in: home, limit: limit, lane: lane).leases
            .map(\.item.key.source.description)
        let urgent = names.count { $0.hasPrefix("src_u") }
        return (urgent, names.count - urgent)
    }

    /// Returns where an open watch waits.
    func waiting(_ key: WatchKey) async throws -> (due: Timestamp, isUrgent: Bool, ahead: Int) {
        let explanation = try await watches.explain(key, limit: .unlimited)
        guard case .waiting(let due, let isUrgent, let ahead) = explanation?.queueState else {
            throw ConformanceFailure(
                message:
                    "\(key.source) is not waiting: \(String(describing: explanation?.queueState))"
            )
        }
        return (due, isUrgent, ahead)
    }

    /// Returns the state of a watch's lane.
    func report(_ key: WatchKey) async throws -> LaneReport {
        try some(try await harness.lanes.lane(key.lane), "the lane \(key.lane)")
    }

    /// Commits a lease with a signal for the lane; the watch is due again at once.
    func signal(_ lease: Lease<Watch>, _ signals: LaneSignal) async throws {
        let result = try await commit(lease, .next(after: .zero), signal: signals)
        try equal(result, .done, "the commit with \(signals)")
    }

    /// Claims one watch of a lane and commits it with a signal.
    func attempt(_ key: WatchKey, _ signals: LaneSignal) async throws {
        let claim = try await claim(in: partition(of: key), limit: 1)
        try await signal(try some(claim.leases.first, "a lease"), signals)
    }

    /// Claims all due watches and lets their leases expire, `times` times.
    func crash(_ home: Int, times: Int) async throws {
        for _ in 0..<times {
            while try await !claim(in: home, limit: 1000).leases.isEmpty {}
            try await advance(ms: Int(Self.lease.ms))
        }
    }
}
