import NIOHTTP1
public import PollerWire

extension PollerClient {
    /// Counts of watches and deliveries.
    public func stats() async throws -> Stats {
        try await send(.GET, "/v1/stats").value()
    }

    /// What the cluster did, oldest first.
    ///
    /// `span`: `24h`, a point a minute; or `90d`, one an hour.
    public func statsHistory(span: String = "24h") async throws -> StatsHistory {
        try await send(.GET, "/v1/stats/history", query: [("span", span)]).value()
    }

    /// Lets the server check what it depends on; takes up to 10 s.
    public func health() async throws -> HealthReport {
        try await send(.GET, "/v1/doctor").value()
    }

    /// A page of the accounts that have had a watch, with what they have and may have.
    ///
    /// - `limit`: 1–500.
    /// - `cursor`: ``Page/next`` of the page before.
    public func accounts(limit: Int = 100, cursor: String? = nil) async throws -> Page<Account> {
        let query: [(String, String?)] = [("limit", String(limit)), ("cursor", cursor)]
        return try Page(try await send(.GET, "/v1/accounts", query: query))
    }

    /// The processes that work on the cluster, all in one page.
    public func workers() async throws -> Page<Worker> {
        try Page(try await send(.GET, "/v1/workers"))
    }

    /// The processes that left the cluster within a day, all in one page, the last one first.
    public func departedWorkers() async throws -> Page<DepartedWorker> {
        try Page(try await send(.GET, "/v1/workers/departed"))
    }

    /// What operators were told of, all in one page: what is wrong, then the hundred resolved last.
    ///
    /// `status`: only those that are `open`, or `resolved`.
    public func incidents(status: Incident.Status? = nil) async throws -> Page<Incident> {
        try Page(
            try await send(.GET, "/v1/incidents", query: [("status", status?.rawValue)])
        )
    }

    /// Tells when a watch is polled next and what it waits for.
    public func explain(_ name: WatchName) async throws -> Received<WatchExplanation> {
        try await send(.GET, name.path + "/explain", query: name.query).received("an explanation")
    }

    /// What became of a payment and what was done about it, oldest first, in words.
    public func timeline(of name: WatchName) async throws -> Page<TimelineEntry> {
        try Page(try await send(.GET, name.path + "/timeline", query: name.query))
    }

    /// A page of the watches that a person must look at, those closed last first;
    /// their `lastError` says why.
    ///
    /// - `limit`: 1–500.
    /// - `cursor`: ``Page/next`` of the page before.
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

    /// Stored entries that have ended several processes, all in one page, the oldest first.
    public func setAsideEntries() async throws -> Page<SetAsideEntry> {
        try Page(try await send(.GET, "/v1/quarantine/entries"))
    }

    /// Has an entry that is set aside handled again.
    @discardableResult
    public func redriveEntry(_ id: String) async throws -> Received<SetAsideEntry> {
        let path = "/v1/quarantine/entries/\(Self.percentEncoded(id))/redrive"
        return try await send(.POST, path).received("an entry")
    }

    /// Drops an entry that is set aside.
    @discardableResult
    public func dismissEntry(_ id: String) async throws -> Received<SetAsideEntry> {
        let path = "/v1/quarantine/entries/\(Self.percentEncoded(id))/dismiss"
        return try await send(.POST, path).received("an entry")
    }

    /// Watches a quarantined source again, with the span it had at first.
    @discardableResult
    public func redrive(_ name: WatchName) async throws -> Received<Watch> {
        let path = "/v1/quarantine/\(Self.percentEncoded(name.source))/redrive"
        return try await send(.POST, path, query: name.query).received("a watch")
    }

    /// Takes a watch out of quarantine for good; it stays closed, as cancelled.
    @discardableResult
    public func dismiss(_ name: WatchName) async throws -> Received<Watch> {
        let path = "/v1/quarantine/\(Self.percentEncoded(name.source))/dismiss"
        return try await send(.POST, path, query: name.query).received("a watch")
    }
}
