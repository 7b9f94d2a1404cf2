/// How often a source is looked at and for how long: a geometric schedule with a cap.
///
/// | policy | first | factor | cap | timeout |
/// |---|---|---|---|---|
/// | `interactive` | 1 s | 1.5 | 15 s | 10 min |
/// | `standard` | 1.5 s | 2 | 5 min | 24 h |
/// | `patient` | 30 s | 2 | 1 h | 30 d |
///
/// Stripe allows 500 GETs per transaction: an hour of `standard` costs 19 (FACTS §3.1).
package struct PollPolicy: Hashable, Sendable {
    /// The name users write.
    package let name: String
    /// The wait after the first look and after every change.
    package let first: Duration
    /// What each unchanged look multiplies the wait by.
    package let factor: Double
    /// The longest wait.
    package let cap: Duration
    /// The span from enqueue to deadline when the user names none.
    package let timeout: Duration

    /// A customer waits in front of a page.
    package static let interactive = PollPolicy(
        name: "interactive",
        first: .seconds(1),
        factor: 1.5,
        cap: .seconds(15),
        timeout: .seconds(600)
    )
    /// Redirect methods after the customer has left; the default.
    package static let standard = PollPolicy(
        name: "standard",
        first: .milliseconds(1500),
        factor: 2,
        cap: .seconds(300),
        timeout: .seconds(86_400)
    )
    /// Bank transfers and receivers, which take days.
    package static let patient = PollPolicy(
        name: "patient",
        first: .seconds(30),
        factor: 2,
        cap: .seconds(3600),
        timeout: .seconds(30 * 86_400)
    )
    /// Every policy, in the order documents list them.
    package static let all = [interactive, standard, patient]

    /// Finds a policy by its name.
    package init(named name: String) throws(InvalidInput) {
        guard let policy = Self.all.first(where: { $0.name == name }) else {
            throw InvalidInput(
                field: "policy",
                message: "must be one of \(Self.all.map(\.name).joined(separator: ", "))"
            )
        }
        self = policy
    }

    private init(name: String, first: Duration, factor: Double, cap: Duration, timeout: Duration) {
        self.name = name
        self.first = first
        self.factor = factor
        self.cap = cap
        self.timeout = timeout
    }

    /// The wait after the `step`-th unchanged look (0 = just enqueued or just changed), ±10 %
    /// so that watches enqueued together drift apart.
    package func wait(step: Int, using chance: inout some RandomNumberGenerator) -> Duration {
        var wait = first.inSeconds
        for _ in 0..<min(step, 64) where wait < cap.inSeconds { wait *= factor }
        wait = min(wait, cap.inSeconds) * Double.random(in: 0.9...1.1, using: &chance)
        return .milliseconds(Int64(wait * 1000))
    }
}
