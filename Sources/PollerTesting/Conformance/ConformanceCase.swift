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

    /// Shows the behaviour on an empty store, or throws a ``ConformanceFailure`` or whatever the
    /// store threw.
    package func run(_ harness: any StoreHarness) async throws {
        try await body(ConformanceBench(harness: harness))
    }

    package var description: String { name }
}
