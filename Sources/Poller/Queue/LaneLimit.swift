/// What a lane allows: a rate with a burst (GCRA), and items in flight at once.
package struct LaneLimit: Hashable, Sendable {
    /// Claims a second; 0 means unlimited.
    package let ratePerSecond: Double
    /// Claims that may follow each other at once after a pause, 1 or more.
    ///
    /// Within any second at most rate + burst claims happen: for an upstream's limit L choose
    /// rate + burst ≤ L.
    package let burst: Int
    /// Items leased at once, 1 or more.
    package let inFlightMax: Int

    /// Stripe's documented 25 requests a second on one endpoint, split so that no window of one
    /// second can hold more; 20 in flight is what a rate of 20/s needs at 1 s a request.
    package static let stripe = LaneLimit(ratePerSecond: 20, burst: 5, inFlightMax: 20)

    /// No rate, and as many in flight as a process will ever hold.
    package static let unlimited = LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 1_000_000)

    /// Sets a limit; values below the least are raised to it.
    package init(ratePerSecond: Double, burst: Int, inFlightMax: Int) {
        self.ratePerSecond = max(0, ratePerSecond)
        self.burst = max(1, burst)
        self.inFlightMax = max(1, inFlightMax)
    }

    /// Microseconds between two claims at the full rate; 0 when unlimited.
    package var intervalUs: Int {
        ratePerSecond > 0 ? Int(1_000_000 / ratePerSecond) : 0
    }
}
