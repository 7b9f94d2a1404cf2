import NIOHTTP1

extension PollerClient {
    /// Counts of watches and deliveries.
    public func stats() async throws -> Stats {
        try await send(.GET, "/v1/stats").decoded(Stats.self)
    }

    /// Lets the server check what it depends on; takes up to 10 s.
    public func health() async throws -> HealthReport {
        try await send(.GET, "/v1/doctor").decoded(HealthReport.self)
    }
}
