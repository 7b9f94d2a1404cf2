package import PollerIdentity
import SafeNumbers

/// The poll intervals of a source: a geometric schedule with a cap that rises with age.
///
/// | policy | first | factor | cap | span | GETs of an hour, a day, 7 days, 30 days |
/// |---|---|---|---|---|---|
/// | `auto` | 1 s | 1.5 | 15 s, then 5 min | 24 h | 58, 334, 478, 570 |
/// | `interactive` | 1 s | 1.5 | 15 s | 10 min | 55, 331, 475, 567 |
/// | `standard` | 1.5 s | 2 | 5 min | 24 h | 19, 295, 439, 531 |
/// | `patient` | 30 s | 2 | 1 h | 30 d | 7, 30, 174, 266 |
///
/// A policy sets the speed, not the end. After its span, a watch continues at the cap of the next slower policy, and
/// after a week at ``slowest``. The numbers are for an object that keeps its status. A change or a hint makes the polls
/// fast again for a while.
///
/// `auto` is the default. It is as fast as `interactive` while the customer is likely to be present: for ``presence``
/// after the start, a hint or a change. Then it slows down, with the caps of `standard` and later of `patient`. Stripe
/// allows 500 GETs per transaction in a month, on average: <https://docs.stripe.com/rate-limits>.
package struct PollPolicy: Hashable, Sendable {
    /// The name in requests and configuration.
    package let name: String
    /// The wait after the first poll and after every change.
    package let first: Duration
    /// The multiplier of the wait after each unchanged poll.
    package let factor: Double
    /// The longest wait within the span.
    package let cap: Duration
    /// The age up to which the cap applies.
    ///
    /// It is also the default timeout of upstreams other than Stripe.
    package let span: Duration

    /// The longest wait after ``week``.
    ///
    /// The few payments that live so long are debits, whose banks answer once a day.
    package static let slowest = Duration.seconds(6 * 3600)
    /// The age after which ``slowest`` is the longest wait of every policy.
    static let week = Duration.seconds(7 * 86_400)

    /// The time that a customer is likely to stay after paying, returning or another action.
    static let presence = Duration.seconds(600)
    /// The unchanged polls of ``presence`` at the speed of `interactive`: seven until its cap, in half a minute, and 38
    /// at the cap.
    static let presenceSteps = 45

    /// The default policy, for every kind of payment.
    package static let auto = PollPolicy(
        name: "auto",
        first: .seconds(1),
        factor: 1.5,
        cap: .seconds(300),
        span: .seconds(86_400)
    )
    /// A customer waits at a page.
    package static let interactive = PollPolicy(
        name: "interactive",
        first: .seconds(1),
        factor: 1.5,
        cap: .seconds(15),
        span: .seconds(600)
    )
    /// Redirect methods after the customer has left.
    package static let standard = PollPolicy(
        name: "standard",
        first: .milliseconds(1500),
        factor: 2,
        cap: .seconds(300),
        span: .seconds(86_400)
    )
    /// Bank transfers and receiver sources, which take days.
    package static let patient = PollPolicy(
        name: "patient",
        first: .seconds(30),
        factor: 2,
        cap: .seconds(3600),
        span: .seconds(30 * 86_400)
    )
    /// The policies with one speed, in the order of the documents, the fastest first.
    package static let all = [interactive, standard, patient]
    /// The policies that a request may name.
    package static let named = [auto] + all

    /// Finds a policy by its name.
    package init(named name: String) throws(InvalidInput) {
        guard let policy = Self.named.first(where: { $0.name == name }) else {
            throw InvalidInput(
                field: "policy",
                message: "must be one of \(Self.named.map(\.name).joined(separator: ", "))"
            )
        }
        self = policy
    }

    private init(name: String, first: Duration, factor: Double, cap: Duration, span: Duration) {
        self.name = name
        self.first = first
        self.factor = factor
        self.cap = cap
        self.span = span
    }

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
