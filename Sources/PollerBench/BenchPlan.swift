/// What to measure, and for how long.
package struct BenchPlan: Sendable {
    /// One measurement; they run in this order.
    package enum Stage: String, Sendable, CaseIterable {
        /// Enqueue rate and memory, in one large lane and in many small ones.
        case enqueue
        /// Polls of an upstream that costs nothing.
        case engine
        /// Polls of the sandbox beside bare GETs of it.
        case whole
        /// Due lag and publication at one rate, beside many watches far in the future.
        case lag
        /// What all those cost while nothing is due.
        case idle
        /// A small lane beside one that is far behind.
        case fairness
        /// A lane at its limit.
        case limit
        /// Webhooks: how soon, how many, and beside an endpoint that hangs.
        case deliver
        /// WebSockets: memory, latency, and the way back after a crash.
        case live
    }

    /// Of each measurement.
    package let span: Duration
    /// Pending watches for enqueue rate and memory.
    package let watches: Int
    /// Watches far in the future while due lag and idleness are measured.
    package let pending: Int
    /// Polls a second for due lag and publication latency.
    package let rate: Int
    /// Polls in flight at once.
    package let concurrency: Int
    package let stages: [Stage]

    /// Plans a run.
    package init(
        span: Duration,
        watches: Int,
        pending: Int,
        rate: Int,
        concurrency: Int,
        stages: [Stage]
    ) {
        self.span = span
        self.watches = watches
        self.pending = pending
        self.rate = rate
        self.concurrency = concurrency
        self.stages = stages
    }
}
