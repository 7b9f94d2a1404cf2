import PollerTesting

/// The behaviour of the stores as cases.
enum QueueConformance {
    typealias Case = ConformanceCase

    /// The cases of the lease queues, the outbox and the registry.
    ///
    /// The in-memory stores pass them, too.
    static let queueCases: [ConformanceCase] =
        enqueueing + charging + acting + claiming + fencing + committing + hinting + lanes + outbox
        + references + fanOut + reading + newest + deliveries + outcomes + deadLetters + priorities
        + turns + ahead + control + slowing + circuits + poison + quarantine + doubt + explaining
        + fusing + members + registry + endpointLimits + names + clocks + payments + afterSettlement
        + paidOrders + uncoveredHints + notices + notes + tenantIsolation + spending
        + idempotentRequests + compaction
        + restoring + suspects + outdatedPolls

    /// All cases.
    ///
    /// Those beyond ``queueCases`` have one implementation, which is Redis.
    static let allCases =
        queueCases + orders + orderAfterlife + accessKeys + searching + trail + activity + incidents
        + accounts
}

/// One behaviour, checked on a fresh ``StoreHarness``.
struct ConformanceCase: Sendable, CustomStringConvertible {
    /// The behaviour, as a sentence.
    let name: String
    private let body: @Sendable (ConformanceBench) async throws -> Void

    init(_ name: String, _ body: @escaping @Sendable (ConformanceBench) async throws -> Void) {
        self.name = name
        self.body = body
    }

    /// The first difference from the behaviour, or a fault that the audit finds afterwards; `nil` if there is none.
    func failure(on harness: any StoreHarness) async -> String? {
        do {
            try await body(ConformanceBench(harness: harness))
            let faults = try await harness.audit()
            return faults.isEmpty ? nil : "audit: " + faults.joined(separator: "; ")
        } catch {
            return "\(error)"
        }
    }

    var description: String { name }
}
