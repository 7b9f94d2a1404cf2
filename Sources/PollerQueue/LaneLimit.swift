import SafeNumbers

/// The limit of a lane: a rate with a burst (GCRA), and the number of items in flight.
///
/// `serve` in `Queue/Scripts/lib_claim.lua` of `PollerRedis` applies it to each claim.
package struct LaneLimit: Hashable, Sendable {
    /// The claims per second; 0 means unlimited.
    package let ratePerSecond: Double
    /// The number of claims that may follow each other at once after a pause, 1 or more.
    ///
    /// At most rate + burst claims happen in any second. For an upstream's limit L choose rate + burst ≤ L.
    package let burst: Int
    /// The number of concurrent leases, 1 or more.
    package let inFlightMax: Int

    /// Stripe's documented 25 requests per second on one endpoint, split so that no window of one second can contain
    /// more.
    ///
    /// A rate of 20/s needs 20 in flight at 1 s per request.
    package static let stripe = LaneLimit(ratePerSecond: 20, burst: 5, inFlightMax: 20)

    /// A limit without a rate, and with more slots than a process can use.
    package static let unlimited = LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 1_000_000)

    /// Creates a limit; values below the minimum are raised to it.
    package init(ratePerSecond: Double, burst: Int, inFlightMax: Int) {
        self.ratePerSecond = max(0, ratePerSecond)
        self.burst = max(1, burst)
        self.inFlightMax = max(1, inFlightMax)
    }

    /// The microseconds between two claims at the full rate; 0 when unlimited.
    package var intervalUs: Int {
        ratePerSecond > 0 ? Int(saturating: 1_000_000 / ratePerSecond) : 0
    }
}
