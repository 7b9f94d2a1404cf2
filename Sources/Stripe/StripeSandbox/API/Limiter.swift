import HTTPTypes

/// Stripe's limiters: token buckets of one second per account and per endpoint, and concurrency limits.
struct Limiter {
    /// A token bucket with a capacity of one second's requests, at least one.
    private struct Bucket {
        var tokens: Double
        var filledMs: Int64

        mutating func take(rate: Double, nowMs: Int64) -> Bool {
            let capacity = max(1, rate)
            let gained = Double(max(0, nowMs - filledMs)) / 1000 * rate
            tokens = min(capacity, tokens + gained)
            filledMs = nowMs
            guard tokens >= 1 else { return false }
            tokens -= 1
            return true
        }
    }

    var limits = SandboxLimits.none {
        didSet {
            buckets = [:]
            updates = [:]
        }
    }

    /// The buckets by account, and by account and endpoint.
    ///
    /// Their number is limited by accounts times operations.
    private var buckets: [String: Bucket] = [:]
    private var inFlight: [String: Int] = [:]
    /// The writes to each PaymentIntent in the current hour.
    private var updates: [String: (hour: Int64, count: Int)] = [:]

    /// Returns the exceeded limit; otherwise counts the call and returns `nil`.
    mutating func refusal(_ call: APICall, machineMs: Int64) -> String? {
        guard !limits.isEmpty else { return nil }
        let account = call.account ?? ""
        let endpoint = "\(account) \(call.endpoint)"
        if let limit = limits.globalConcurrency, inFlight[account] ?? 0 >= limit {
            return "global-concurrency"
        }
        if let limit = limits.endpointConcurrency, inFlight[endpoint] ?? 0 >= limit {
            return "endpoint-concurrency"
        }
        if let rate = limits.globalRate, !take(account, rate, machineMs) { return "global-rate" }
        if let rate = limits.endpointRate, !take(endpoint, rate, machineMs) {
            return "endpoint-rate"
        }
        if let limit = limits.intentUpdatesPerHour, call.method == .post,
            call.segments.first == "payment_intents", call.segments.count > 1
        {
            let hour = machineMs / 3_600_000
            let id = call.segment(1)
            let count = updates[id].map { $0.hour == hour ? $0.count : 0 } ?? 0
            guard count < limit else { return "resource-specific" }
            updates[id] = (hour, count + 1)
        }
        return nil
    }

    /// Counts a held request.
    mutating func enter(_ call: APICall) {
        let account = call.account ?? ""
        inFlight[account, default: 0] += 1
        inFlight["\(account) \(call.endpoint)", default: 0] += 1
    }

    /// Uncounts a held request.
    mutating func leave(_ call: APICall) {
        let account = call.account ?? ""
        for name in [account, "\(account) \(call.endpoint)"] {
            let left = (inFlight[name] ?? 1) - 1
            inFlight[name] = left > 0 ? left : nil
        }
    }

    /// Takes a token.
    ///
    /// A bucket starts full, so the first second of an account may be a burst.
    private mutating func take(_ name: String, _ rate: Double, _ nowMs: Int64) -> Bool {
        buckets[name, default: Bucket(tokens: max(1, rate), filledMs: nowMs)]
            .take(rate: rate, nowMs: nowMs)
    }
}

/// The request limits per account; `nil` is no limit.
package struct SandboxLimits: Sendable, Codable {
    /// The requests per second over all endpoints.
    package var globalRate: Double?

    /// The requests per second of one operation, regardless of the ID; GET and POST are separate operations.
    package var endpointRate: Double?

    /// The maximum number of concurrent requests.
    package var globalConcurrency: Int?

    /// The maximum number of concurrent requests of one operation.
    package var endpointConcurrency: Int?

    /// The writes to one PaymentIntent per hour.
    package var intentUpdatesPerHour: Int?

    /// No limits; the default, because benchmarks use the sandbox.
    package static let none = SandboxLimits()

    /// The documented limits of Stripe's sandboxes.
    package static let test = SandboxLimits(
        globalRate: 25,
        endpointRate: 25,
        intentUpdatesPerHour: 1000
    )

    /// The documented limits of live mode.
    package static let live = SandboxLimits(
        globalRate: 100,
        endpointRate: 25,
        intentUpdatesPerHour: 1000
    )

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
