/// The waits between repeats: doubling from a quarter of a second to ten, with jitter, so that
/// the clients of a server that restarts do not return as one.
struct Backoff {
    private(set) var failures = 0

    /// Sleeps after a failure.
    ///
    /// `least`: the server's own wish.
    mutating func sleep(atLeast least: Duration?) async throws {
        let ceiling = min(0.25 * Double(1 << min(failures, 10)), 10)
        failures += 1
        let wait = Duration.seconds(Double.random(in: (ceiling / 2)...ceiling))
        try await Task.sleep(for: max(wait, least ?? .zero))
    }

    /// Forgets the failures after a success.
    mutating func reset() {
        failures = 0
    }
}
