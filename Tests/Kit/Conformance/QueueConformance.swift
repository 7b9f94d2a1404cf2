/// The suite that says what a store is: every sentence of the seams as a case.
package enum QueueConformance {
    /// All behaviours, by topic.
    package static let allCases: [ConformanceCase] =
        enqueueing + charging + acting + claiming + fencing + committing + hinting + lanes + outbox
        + references + fanOut + reading + newest + deliveries + outcomes + priorities + turns
        + ahead
        + control + slowing
        + circuits + poison
        + quarantine + doubt + explaining + fusing + members + registry + names + clocks + payments
        + afterlife
        + orders + news + notices + notes + accessKeys + searching + company + trail + spending
        + activity + incidents + namedRequests + accounts + fading + restoring + suspects
}

/// One behaviour that every store must show.
///
/// A test target runs all of ``QueueConformance/allCases`` against its own fresh ``StoreHarness``
/// each.
package struct ConformanceCase: Sendable, CustomStringConvertible {
    /// The behaviour, as a sentence.
    package let name: String
    private let body: @Sendable (ConformanceBench) async throws -> Void

    init(_ name: String, _ body: @escaping @Sendable (ConformanceBench) async throws -> Void) {
        self.name = name
        self.body = body
    }

    /// What an empty store does otherwise than the behaviour says, or what is unsound in it after;
    /// nil when it is as it should be.
    package func failure(on harness: any StoreHarness) async -> String? {
        do {
            try await body(ConformanceBench(harness: harness))
            let faults = try await harness.audit()
            return faults.isEmpty ? nil : "audit: " + faults.joined(separator: "; ")
        } catch {
            return "\(error)"
        }
    }

    package var description: String { name }
}

/// What a store did otherwise than the seams say.
package struct ConformanceFailure: Error, CustomStringConvertible {
    /// What was expected and what came.
    package let message: String

    package var description: String { message }
}
