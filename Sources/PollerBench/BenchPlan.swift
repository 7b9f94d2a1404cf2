/// How much to measure, and for how long.
struct BenchPlan: Sendable {
    /// Of each measurement.
    let span: Duration
    /// Pending watches for enqueue rate and memory.
    let watches: Int
    /// Polls a second for due lag and publication latency.
    let rate: Int
    /// Polls in flight at once.
    let concurrency: Int
}
