/// A clock of any kind as the two things polling needs of it.
struct PollTimer: Sendable {
    /// The time since some moment.
    let now: @Sendable () -> Duration
    /// Waits; throws when the task is cancelled.
    let sleep: @Sendable (Duration) async throws -> Void

    init(_ clock: some Clock<Duration>) {
        let origin = clock.now
        now = { origin.duration(to: clock.now) }
        sleep = { try await clock.sleep(for: $0) }
    }
}
