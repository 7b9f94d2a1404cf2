import NIOHTTP1
public import PollerWire

extension PollerClient {
    /// A page of lanes, what holds things up first.
    ///
    /// - `limit`: 1–500.
    /// - `cursor`: ``Page/next`` of the page before.
    public func lanes(limit: Int = 100, cursor: String? = nil) async throws -> Page<Lane> {
        let query: [(String, String?)] = [("limit", String(limit)), ("cursor", cursor)]
        return try Page(try await send(.GET, "/v1/lanes", query: query))
    }

    /// Reads a lane such as `default/sources`.
    public func lane(_ id: String) async throws -> Received<Lane> {
        try await send(.GET, Self.path(ofLane: id)).received("a lane")
    }

    /// Polls nothing more of a lane until it is resumed; what is in flight goes on.
    @discardableResult
    public func pause(lane id: String) async throws -> Received<Lane> {
        try await send(.POST, Self.path(ofLane: id) + "/pause").received("a lane")
    }

    /// Lets a paused lane go on; also ends a hold and closes its circuit.
    @discardableResult
    public func resume(lane id: String) async throws -> Received<Lane> {
        try await send(.POST, Self.path(ofLane: id) + "/resume").received("a lane")
    }

    /// Gives a lane a limit of its own; what is nil stays as it is.
    ///
    /// - `rate`: polls a second, 0 for no limit.
    /// - `burst`: polls that may follow each other at once; within any second there are at most
    ///   rate + burst.
    /// - `concurrency`: polls in flight at once.
    @discardableResult
    public func limit(
        lane id: String,
        rate: Double? = nil,
        burst: Int? = nil,
        concurrency: Int? = nil
    ) async throws -> Received<Lane> {
        try await change(id, LaneLimitChange(rate: rate, burst: burst, concurrency: concurrency))
    }

    /// Gives a lane the default limit again.
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
    /// How long the lane's longest overdue watch has been due; zero when none is.
    public var overdueFor: Duration { .milliseconds(value.overdueMs) }
}
