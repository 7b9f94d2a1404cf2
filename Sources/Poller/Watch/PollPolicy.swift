package import PollerIdentity
import SafeNumbers

/// How often a source is looked at: a geometric schedule with a cap, and a slower cap with age.
///
/// | policy | first | factor | cap | span | GETs of an hour, a day, 7 days, 30 days |
/// |---|---|---|---|---|---|
/// | `auto` | 1 s | 1.5 | 15 s, then 5 min | 24 h | 58, 334, 478, 570 |
/// | `interactive` | 1 s | 1.5 | 15 s | 10 min | 55, 331, 475, 567 |
/// | `standard` | 1.5 s | 2 | 5 min | 24 h | 19, 295, 439, 531 |
/// | `patient` | 30 s | 2 | 1 h | 30 d | 7, 30, 174, 266 |
///
/// A policy decides the speed and not the end. Beyond its span, that of whom it was made for, a
/// watch goes on at the cap of the next slower one, and after a week any at ``slowest``. The numbers
/// are those of an object that keeps its status; a change or a hint makes it fast again for a while.
///
/// `auto` is for whoever does not choose: as fast as `interactive` while the customer is likely to be
/// there, for ``presence`` after the watch has begun, a hint has come or something has changed; then ever
/// slower, with the caps of `standard` and with age of `patient`.
/// Stripe allows 500 GETs for each transaction of a month, on average:
/// <https://docs.stripe.com/rate-limits>.
package struct PollPolicy: Hashable, Sendable {
    /// The name users write.
    package let name: String
    /// The wait after the first look and after every change.
    package let first: Duration
    /// What each unchanged look multiplies the wait by.
    package let factor: Double
    /// The longest wait within the span.
    package let cap: Duration
    /// How long after its beginning a watch is looked at so often; for what is not Stripe's also how
    /// long it is watched when the user names no timeout.
    package let span: Duration

    /// The longest wait after ``week``: few payments live so long, and those that do are debits,
    /// whose banks answer once a day.
    package static let slowest = Duration.seconds(6 * 3600)
    /// The age from which on ``slowest`` is the longest wait of every policy.
    static let week = Duration.seconds(7 * 86_400)

    /// How long a customer is likely to be there who has just paid, come back or done something else.
    static let presence = Duration.seconds(600)
    /// The unchanged looks of ``presence`` at the speed of `interactive`: seven until its cap, in half a
    /// minute, and 38 at it.
    static let presenceSteps = 45

    /// Whatever is to come of it; the default.
    package static let auto = PollPolicy(
        name: "auto",
        first: .seconds(1),
        factor: 1.5,
        cap: .seconds(300),
        span: .seconds(86_400)
    )
    /// A customer waits in front of a page.
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
    /// Bank transfers and receivers, which take days.
    package static let patient = PollPolicy(
        name: "patient",
        first: .seconds(30),
        factor: 2,
        cap: .seconds(3600),
        span: .seconds(30 * 86_400)
    )
    /// Every policy with one speed, in the order documents list them, the fastest first.
    package static let all = [interactive, standard, patient]
    /// Whatever somebody may name.
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

    /// The wait after the `step`-th unchanged look (0 = just enqueued or just changed) of a watch
    /// that began `age` ago and was hinted `hinted` ago, ±10 % so that watches enqueued together drift
    /// apart.
    package func wait(
        step: Int,
        age: Duration,
        hinted: Duration? = nil,
        using chance: inout some RandomNumberGenerator
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
        wait *= Double.random(in: 0.9...1.1, using: &chance)
        return .milliseconds(Int64(saturating: wait * 1000))
    }

    private static func grown(
        _ first: Duration,
        by factor: Double,
        _ steps: Int,
        to cap: Duration
    ) -> Double {
        var wait = first.inSeconds
        for _ in 0..<min(max(steps, 0), 64) where wait < cap.inSeconds { wait *= factor }
        return min(wait, cap.inSeconds)
    }

    /// Whether the customer is likely to be there.
    ///
    /// A hint from far ahead is old: the store's clock was set back.
    private static func isPresent(step: Int, age: Duration, hinted: Duration?) -> Bool {
        if step < presenceSteps || age < presence { return true }
        return hinted.map { $0 < presence && $0 > .zero - presence } ?? false
    }

    /// The longest wait at an age.
    private func cap(at age: Duration) -> Duration {
        if age >= Self.week { return Self.slowest }
        if age < span { return cap }
        return Self.all.first { $0.span > age }?.cap ?? Self.patient.cap
    }
}
