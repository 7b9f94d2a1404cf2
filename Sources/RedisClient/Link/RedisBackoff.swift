/// Reconnection delays: exponential with full jitter, for ever.
///
/// The delay before attempt *n* (from 1) is uniform in 0 … min(cap, base · 2ⁿ⁻¹). With the defaults
/// the upper bounds are 50, 100, 200, 400, 800, 1600, 3200, 5000, 5000, … ms. Full jitter spreads a
/// thousand clients that lost the same server best (Brooker, "Exponential Backoff And Jitter").
struct RedisBackoff: Hashable {
    let base: Duration
    let cap: Duration

    /// The longest delay that may precede an attempt.
    func ceiling(attempt: Int) -> Duration {
        // 2³⁰ times any sensible base is beyond any cap; more would overflow.
        min(cap, base * (1 << min(max(attempt - 1, 0), 30)))
    }

    /// The delay before an attempt.
    func delay(attempt: Int, using random: inout some RandomNumberGenerator) -> Duration {
        ceiling(attempt: attempt) * Double.random(in: 0...1, using: &random)
    }
}
