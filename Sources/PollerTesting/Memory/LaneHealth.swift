import Poller

/// What a lane's attempts have told: its hold, its rate factor, its circuit.
struct LaneHealth: Sendable {
    private let flaws: Set<QueueFlaw>
    private let circuit: CircuitHold
    /// Nothing starts before this instant.
    private(set) var heldUntil = Timestamp(ms: 0)
    /// Attempts in a row without an answer.
    private(set) var failures = 0
    /// Of an endpoint: the first attempt that failed since one succeeded.
    private(set) var failingSince: Timestamp?
    /// How often the circuit has opened since it was closed last.
    private var opens = 0
    /// The factor at the last `slow`, and when its hold ends.
    private var slowed: (factor: Double, until: Timestamp)?
    /// The last word of the batch that is being committed is a failure, not an answer.
    private var isShaken = false

    /// A lane about which nothing is known.
    init(circuit: CircuitHold = .upstream, flaws: Set<QueueFlaw> = []) {
        self.circuit = circuit
        self.flaws = flaws
    }

    /// What a claim tells about it.
    var trouble: LaneTrouble? {
        failingSince.map { LaneTrouble(failures: failures, since: $0) }
    }

    /// Lets attempts go out at once, whatever holds them.
    mutating func endHold() {
        heldUntil = Timestamp(ms: 0)
    }

    /// The share of the limit that holds at an instant, 1/32–1.
    func factor(_ now: Timestamp) -> Double {
        guard let slowed else { return 1 }
        if flaws.contains(.neverRecoversFactor) { return slowed.factor }
        let recovered = max(now - slowed.until, .zero) / .seconds(1) * LaneSignal.recoveryPerSecond
        return min(1, slowed.factor + recovered)
    }

    /// Whether one item at a time finds out if the other side is back.
    var isProbed: Bool { failures >= LaneSignal.failuresMax }

    /// Takes in what one attempt says.
    mutating func apply(_ signal: LaneSignal, now: Timestamp) {
        if circuit == .endpoint, failingSince == nil, signal.isTrouble { failingSince = now }
        switch signal {
        case .fine:
            if !flaws.contains(.neverForgivesTrouble) { failingSince = nil }
            failures = 0
            opens = 0
            isShaken = false
        case .hold(let span): hold(span, now)
        case .slow(let span):
            let half = max(LaneSignal.factorMin, factor(now) / 2)
            let until = now + max(span, .zero)
            if let slowed, now < slowed.until, !flaws.contains(.halvesForEveryAnswer) {
                // One burst of answers, one halving.
                self.slowed = (slowed.factor, max(slowed.until, until))
            } else {
                slowed = (half, max(slowed?.until ?? until, until))
            }
            hold(span, now)
        case .failing:
            failures += 1
            isShaken = true
        case .refused(let span):
            failures = max(failures, LaneSignal.failuresMax)
            hold(span, now)
        }
    }

    /// Opens the circuit after a batch of signals, unless something holds the lane already.
    mutating func endBatch(now: Timestamp) {
        defer { isShaken = false }
        guard isShaken, isProbed, now >= heldUntil, !flaws.contains(.neverOpens) else { return }
        hold(flaws.contains(.neverDoublesHolds) ? circuit.first : circuit.span(opens: opens), now)
        opens += 1
    }

    private mutating func hold(_ span: Duration, _ now: Timestamp) {
        heldUntil = max(heldUntil, now + max(span, .zero))
    }
}

extension LaneSignal {
    /// Whether it says that an attempt did not succeed; a hold of nothing says nothing.
    fileprivate var isTrouble: Bool {
        switch self {
        case .fine: false
        case .failing: true
        case .hold(let span), .slow(let span), .refused(let span): span > .zero
        }
    }
}
