/// Waits in real time until a fact holds, and fails when it does not within `limit`.
///
/// For facts that other tasks or processes bring about; asked every few milliseconds.
package func eventually(
    _ fact: String,
    within limit: Duration = .seconds(30),
    _ holds: () async throws -> Bool
) async throws {
    let clock = ContinuousClock()
    let end = clock.now.advanced(by: limit)
    while true {
        if try await holds() { return }
        guard clock.now < end else { throw NeverHappened(fact: fact, limit: limit) }
        try await clock.sleep(for: .milliseconds(2))
    }
}

/// A fact that a test waited for in vain.
package struct NeverHappened: Error, CustomStringConvertible {
    /// What was to become true.
    package let fact: String
    /// How long the test waited.
    package let limit: Duration

    package var description: String { "not within \(limit): \(fact)" }
}
