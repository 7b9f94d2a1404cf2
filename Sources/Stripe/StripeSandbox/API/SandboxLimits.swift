/// What Stripe's limiters allow, per account; nil is no limit.
package struct SandboxLimits: Sendable, Codable {
    /// Requests per second over all endpoints.
    package var globalRate: Double?

    /// Requests per second for one named operation, whatever the id: GET and POST count apart.
    package var endpointRate: Double?

    /// Requests answered at the same time.
    package var globalConcurrency: Int?

    /// Requests to one named operation answered at the same time.
    package var endpointConcurrency: Int?

    /// Writes to one PaymentIntent per hour.
    package var intentUpdatesPerHour: Int?

    /// No limits: the default, since benchmarks lean on the sandbox.
    package static let none = SandboxLimits()

    /// Stripe's documented limits of its sandboxes.
    package static let test = SandboxLimits(
        globalRate: 25,
        endpointRate: 25,
        intentUpdatesPerHour: 1000
    )

    /// Stripe's documented limits of live mode.
    package static let live = SandboxLimits(
        globalRate: 100,
        endpointRate: 25,
        intentUpdatesPerHour: 1000
    )

    /// Sets the limits given.
    package init(
        globalRate: Double? = nil,
        endpointRate: Double? = nil,
        globalConcurrency: Int? = nil,
        endpointConcurrency: Int? = nil,
        intentUpdatesPerHour: Int? = nil
    ) {
        self.globalRate = globalRate
        self.endpointRate = endpointRate
        self.globalConcurrency = globalConcurrency
        self.endpointConcurrency = endpointConcurrency
        self.intentUpdatesPerHour = intentUpdatesPerHour
    }

    private enum CodingKeys: String, CodingKey {
        case globalRate = "global_rate"
        case endpointRate = "endpoint_rate"
        case globalConcurrency = "global_concurrency"
        case endpointConcurrency = "endpoint_concurrency"
        case intentUpdatesPerHour = "intent_updates_per_hour"
    }

    var isEmpty: Bool {
        globalRate == nil && endpointRate == nil && globalConcurrency == nil
            && endpointConcurrency == nil && intentUpdatesPerHour == nil
    }

    var isValid: Bool {
        [globalRate, endpointRate].allSatisfy {
            $0.map { (0.001...1_000_000).contains($0) } ?? true
        }
            && [globalConcurrency, endpointConcurrency, intentUpdatesPerHour].allSatisfy {
                $0.map { (0...1_000_000).contains($0) } ?? true
            }
    }
}
