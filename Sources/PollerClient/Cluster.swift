import NIOHTTP1
public import PollerWire

extension PollerClient {
    /// Returns the counts of watches and deliveries.
    public func stats() async throws -> Stats {
        try await send(.GET, "/v1/stats").value()
    }

    /// Returns the cluster's activity, oldest first.
    ///
    /// `span`: `24h` with a point per minute, or `90d` with a point per hour.
    public func statsHistory(span: String = "24h") async throws -> StatsHistory {
        try await send(.GET, "/v1/stats/history", query: [("span", span)]).value()
    }

    /// Runs the server's checks of its dependencies, which take up to 10 s.
    public func health() async throws -> HealthReport {
        try await send(.GET, "/v1/doctor").value()
    }

    /// Returns a page of the accounts that have had a watch, with their usage and limits.
    ///
    /// - `limit`: 1–500.
    /// - `cursor`: ``Page/next`` of the previous page.
    public func accounts(limit: Int = 100, cursor: String? = nil) async throws -> Page<Account> {
        let query: [(String, String?)] = [("limit", String(limit)), ("cursor", cursor)]
        return try Page(try await send(.GET, "/v1/accounts", query: query))
    }

    /// Returns the processes of the cluster, all in one page.
    public func workers() async throws -> Page<Worker> {
        try Page(try await send(.GET, "/v1/workers"))
    }

    /// Returns the processes that left the cluster within a day, all in one page, the last one first.
    public func departedWorkers() async throws -> Page<DepartedWorker> {
        try Page(try await send(.GET, "/v1/workers/departed"))
    }

    /// Returns the reported incidents in one page: all open ones, then the hundred resolved last.
    ///
    /// `status`: only those that are `open`, or `resolved`.
    public func incidents(status: Incident.Status? = nil) async throws -> Page<Incident> {
        try Page(
            try await send(.GET, "/v1/incidents", query: [("status", status?.rawValue)])
        )
    }

    /// Explains when a watch is polled next, and why.
    public func explain(_ name: WatchName) async throws -> Received<WatchExplanation> {
        try await send(.GET, name.path + "/explain", query: name.query).received("an explanation")
    }

    /// Returns the timeline of a payment, oldest first, in words.
    public func timeline(of name: WatchName) async throws -> Page<TimelineEntry> {
        try Page(try await send(.GET, name.path + "/timeline", query: name.query))
    }

    /// Returns a page of the quarantined watches, those closed last first.
    ///
    /// Their `lastError` is the reason.
    ///
    /// - `limit`: 1–500.
    /// - `cursor`: ``Page/next`` of the previous page.
    public func quarantine(
        account: String? = nil,
        kind: String? = nil,
        limit: Int = 50,
        cursor: String? = nil
    ) async throws -> Page<Watch> {
        let query: [(String, String?)] = [
            ("account", account), ("kind", kind), ("limit", String(limit)), ("cursor", cursor),
        ]
        return try Page(try await send(.GET, "/v1/quarantine", query: query))
    }

    /// Returns the stored entries that have ended several processes, all in one page, the oldest first.
    public func setAsideEntries() async throws -> Page<SetAsideEntry> {
        try Page(try await send(.GET, "/v1/quarantine/entries"))
    }

    /// Processes an entry again that was set aside.
    @discardableResult
    public func redriveEntry(_ id: String) async throws -> Received<SetAsideEntry> {
        let path = "/v1/quarantine/entries/\(Self.percentEncoded(id))/redrive"
        return try await send(.POST, path).received("an entry")
    }

    /// Drops an entry that was set aside.
    @discardableResult
    public func dismissEntry(_ id: String) async throws -> Received<SetAsideEntry> {
        let path = "/v1/quarantine/entries/\(Self.percentEncoded(id))/dismiss"
        return try await send(.POST, path).received("an entry")
    }

    /// Watches a quarantined source again, with its original timeout.
    @discardableResult
    public func redrive(_ name: WatchName) async throws -> Received<Watch> {
        let path = "/v1/quarantine/\(Self.percentEncoded(name.source))/redrive"
        return try await send(.POST, path, query: name.query).received("a watch")
    }

    /// Removes a watch from quarantine.
    ///
    /// It stays closed, as cancelled.
    @discardableResult
    public func dismiss(_ name: WatchName) async throws -> Received<Watch> {
        let path = "/v1/quarantine/\(Self.percentEncoded(name.source))/dismiss"
        return try await send(.POST, path, query: name.query).received("a watch")
    }
}
