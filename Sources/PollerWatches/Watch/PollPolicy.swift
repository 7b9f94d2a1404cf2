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
                "policy",
                "must be one of \(Self.named.map(\.name).joined(separator: ", "))"
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
}
