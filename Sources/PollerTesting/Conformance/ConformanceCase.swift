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

    /// Shows the behaviour on an empty store and that the store is sound after it, or throws a
    /// ``ConformanceFailure`` or whatever the store threw.
    package func run(_ harness: any StoreHarness) async throws {
        try await body(ConformanceBench(harness: harness))
        let faults = try await harness.audit()
        guard faults.isEmpty else {
            throw ConformanceFailure(message: "audit: " + faults.joined(separator: "; "))
        }
    }

    package var description: String { name }
}
