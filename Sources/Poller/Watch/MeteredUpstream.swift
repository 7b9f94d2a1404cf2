/// An upstream whose reads are counted, and whose observations carry the account's stretch.
package struct MeteredUpstream<Truth: Upstream, C: Clock>: Upstream where C.Duration == Duration {
    private let truth: Truth
    private let meter: ReadMeter<C>

    /// Counts the reads of `truth` in `meter`.
    package init(_ truth: Truth, meter: ReadMeter<C>) {
        self.truth = truth
        self.meter = meter
    }

    package func poll(_ watch: Watch, timeout: Duration) async -> PollResult {
        let result = await truth.poll(watch, timeout: timeout)
        // Only Stripe counts reads; other systems have their own limits.
        guard watch.key.kind != .http else { return result }
        // Nobody was asked.
        if case .unserved = result { return result }
        meter.count(watch.key.account, isFirst: watch.state.attempts == 0)
        guard case .observed(var observation) = result else { return result }
        observation.stretch = meter.stretch(watch.key.account)
        return .observed(observation)
    }
}
