import PollerIdentity
import PollerWatches
import SafeNumbers

extension PollPolicy {
    /// The age after which ``slowest`` is the longest wait of every policy.
    static let week = Duration.seconds(7 * 86_400)

    /// The time that a customer is likely to stay after paying, returning or another action.
    static let presence = Duration.seconds(600)
    /// The unchanged polls of ``presence`` at the speed of `interactive`: seven until its cap, in half a minute, and 38
    /// at the cap.
    static let presenceSteps = 45

    /// Returns the wait after the `step`-th unchanged poll (0 = just enqueued or just changed).
    ///
    /// The watch began `age` ago and was hinted `hinted` ago. The wait varies by ±10 %, so that watches enqueued
    /// together drift apart.
    package func wait(
        step: Int,
        age: Duration,
        hinted: Duration? = nil,
        using generator: inout some RandomNumberGenerator
    ) -> Duration {
        var wait: Double
        if self != .auto {
            wait = Self.grown(first, by: factor, step, to: cap(at: age))
        } else if Self.isPresent(step: step, age: age, hinted: hinted) {
            wait = Self.grown(first, by: factor, step, to: Self.interactive.cap)
        } else {
            let steps = step.subtractingSaturating(Self.presenceSteps - 1)
            wait = Self.grown(Self.interactive.cap, by: 2, steps, to: cap(at: age))
        }
        wait *= Double.random(in: 0.9...1.1, using: &generator)
        return .milliseconds(Int64(saturating: wait * 1000))
    }

    private static func grown(
        _ first: Duration,
        by factor: Double,
        _ steps: Int,
        to cap: Duration
    ) -> Double {
        var wait = first.inSeconds
        let longest = cap.inSeconds
        for _ in 0..<min(max(steps, 0), 64) where wait < longest { wait *= factor }
        return min(wait, longest)
    }

    /// Whether the customer is likely to be present.
    ///
    /// A hint from the far future is old: the store's clock was set back.
    private static func isPresent(step: Int, age: Duration, hinted: Duration?) -> Bool {
        if step < presenceSteps || age < presence { return true }
        return hinted.map { $0 < presence && $0 > .zero - presence } ?? false
    }

    /// Returns the longest wait at an age.
    private func cap(at age: Duration) -> Duration {
        if age >= Self.week { return Self.slowest }
        if age < span { return cap }
        return Self.all.first { $0.span > age }?.cap ?? Self.patient.cap
    }
}
