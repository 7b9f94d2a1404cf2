import Metrics
import PollerIdentity

/// The metrics of deliveries, made once: finding a metric by its labels costs as much as signing a webhook.
struct DeliveryMetrics: Sendable {
    private static let name = "poller_deliveries_total"

    private let lag = Timer(label: "poller_delivery_lag_seconds")
    private let putOff = Counter(label: "poller_deliveries_put_off_total")
    /// The counters by scheme and result.
    private let results: [String: [DeliveryDecision.Outcome: Counter]]

    /// Creates the metrics of deliveries to URLs of `schemes`.
    init(schemes: some Sequence<String>) {
        let counters = schemes.map { scheme in
            (
                scheme,
                Dictionary(
                    uniqueKeysWithValues: DeliveryDecision.Outcome.allCases.map { outcome in
                        (outcome, Self.counter(scheme, outcome))
                    }
                )
            )
        }
        results = Dictionary(counters) { first, _ in first }
    }

    /// Counts an attempt by its result.
    func count(_ outcome: DeliveryDecision.Outcome, scheme: String) {
        // No channel may serve the scheme of an endpoint that an earlier release accepted.
        let counter = results[scheme]?[outcome] ?? Self.counter(scheme, outcome)
        counter.increment()
    }

    /// Records the time from a poll to the delivery of its event.
    func delivered(after lag: Duration) { self.lag.recordMilliseconds(max(lag.ms, 0)) }

    /// Counts a postponed attempt.
    func countPutOff() { putOff.increment() }

    private static func counter(_ scheme: String, _ outcome: DeliveryDecision.Outcome) -> Counter {
        Counter(label: name, dimensions: [("scheme", scheme), ("result", outcome.rawValue)])
    }
}
