import NIOHTTP1
public import PollerWire

extension PollerClient {
    /// Returns a page of lanes, those with problems first.
    ///
    /// - `limit`: 1–500.
    /// - `cursor`: ``Page/next`` of the previous page.
    public func lanes(limit: Int = 100, cursor: String? = nil) async throws -> Page<Lane> {
        let query: [(String, String?)] = [("limit", String(limit)), ("cursor", cursor)]
        return try Page(try await send(.GET, "/v1/lanes", query: query))
    }

    /// Reads a lane such as `default/sources`.
    public func lane(_ id: String) async throws -> Received<Lane> {
        try await send(.GET, Self.path(ofLane: id)).received("a lane")
    }

    /// Pauses the polls of a lane until it is resumed.
    ///
    /// Polls in flight finish.
    @discardableResult
    public func pause(lane id: String) async throws -> Received<Lane> {
        try await send(.POST, Self.path(ofLane: id) + "/pause").received("a lane")
    }

    /// Resumes a paused lane, ends a hold and closes its circuit.
    @discardableResult
    public func resume(lane id: String) async throws -> Received<Lane> {
        try await send(.POST, Self.path(ofLane: id) + "/resume").received("a lane")
    }

    /// Sets a specific limit for a lane.
    ///
    /// A `nil` value stays unchanged.
    ///
    /// - `rate`: polls a second, 0 for no limit.
    /// - `burst`: the size of a burst of polls. Any second has at most rate + burst polls.
    /// - `concurrency`: the maximum of concurrent polls.
    @discardableResult
    public func limit(
        lane id: String,
        rate: Double? = nil,
        burst: Int? = nil,
        concurrency: Int? = nil
    ) async throws -> Received<Lane> {
        try await change(id, LaneLimitChange(rate: rate, burst: burst, concurrency: concurrency))
    }

    /// Restores the default limit of a lane.
    @discardableResult
    public func useDefaultLimit(lane id: String) async throws -> Received<Lane> {
        try await change(id, .useDefault)
    }

    private func change(_ id: String, _ change: LaneLimitChange) async throws -> Received<Lane> {
        guard change.rate?.isFinite ?? true else {
            throw PollerError.invalidConfiguration("a limit must be a finite number")
        }
        return try await send(.POST, Self.path(ofLane: id) + "/limit", body: change.json)
            .received("a lane")
    }

    private static func path(ofLane id: String) -> String { "/v1/lanes/\(percentEncoded(id))" }
}

extension Received<Lane> {
    /// The time for which the lane's longest overdue watch has been due, or zero if none is.
    public var overdueFor: Duration { .milliseconds(value.overdueMs) }
}
