import Poller
import PollerIdentity
import PollerQueue

/// What a lane's attempts have told: its hold, its rate factor, its circuit.
struct LaneHealth: Sendable {
    /// The worst of the failures of a batch.
    private enum Failed: Int, Comparable, Sendable {
        /// Only items that had failed before.
        case again
        /// Our credentials were refused for another item, or the answer about it made no sense.
        case denied
        case silent

        static func < (lhs: Failed, rhs: Failed) -> Bool { lhs.rawValue < rhs.rawValue }
    }

    private let flaws: Set<QueueFlaw>
    private let circuit: CircuitHold
    /// Nothing starts before this instant.
    private(set) var heldUntil = Timestamp(ms: 0)
    /// Attempts in a row without a usable answer.
    private(set) var failures = 0
    /// What the last of them met.
    private(set) var lastFailure: LaneFailure?
    /// Of an endpoint: the first attempt that failed since one succeeded.
    private(set) var failingSince: Timestamp?
    /// How often the circuit has opened since it was closed last.
    private var opens = 0
    /// How many denials have held it since.
    private var denials = 0
    /// The factor at the last `slow`, and when its hold ends.
    private var slowed: (factor: Double, until: Timestamp)?
    /// What the batch that is being committed has told since its last answer; nil without failures.
    private var failed: Failed?

    /// A lane about which nothing is known.
    init(circuit: CircuitHold = .upstream, flaws: Set<QueueFlaw> = []) {
        self.circuit = circuit
        self.flaws = flaws
    }

    /// What a claim tells about it; what nobody has seen pass does not count against it.
    func trouble(_ gap: ClockGap) -> LaneTrouble? {
        if failingSince == nil, isProbed, !flaws.contains(.hidesOpenCircuits) {
            return LaneTrouble(failures: failures, since: Timestamp(ms: 0))
        }
        return failingSince.map { since in
            let counted = since < gap.end ? min(since + gap.span, gap.end) : since
            return LaneTrouble(failures: failures, since: counted)
        }
    }

    /// Follows a clock that was set back.
    mutating func shift(by span: Duration) {
        heldUntil = heldUntil + span
        slowed = slowed.map { ($0.factor, $0.until + span) }
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
        lastFailure = signal.failure ?? lastFailure
        switch signal {
        case .fine:
            if !flaws.contains(.neverForgivesTrouble) { failingSince = nil }
            failures = 0
            lastFailure = nil
            opens = 0
            denials = 0
            failed = nil
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
        case .failing, .erring:
            failures += 1
            failed = .silent
        case .denied, .garbled, .revoked:
            failures += 1
            failed = max(failed ?? .again, .denied)
        case .stillFailing where flaws.contains(.blamesTheLaneForOneItem),
            .stillGarbled where flaws.contains(.blamesTheLaneForOneItem):
            apply(.failing, now: now)
        case .stillFailing, .stillGarbled:
            failed = failed ?? .again
        case .refused(let span):
            failures = max(failures, LaneSignal.failuresMax)
            hold(span, now)
        }
    }

    /// Opens the circuit after a batch of signals, unless something holds the lane already.
    mutating func endBatch(now: Timestamp) {
        defer { failed = nil }
        guard let failed, isProbed, now >= heldUntil, !flaws.contains(.neverOpens) else { return }
        let span: Duration
        if failed == .silent {
            span = circuit.span(opens: opens)
            opens += 1
        } else {
            if failed == .denied { denials += 1 }
            span = circuit.span(denials: denials)
            opens = 0
        }
        hold(flaws.contains(.neverDoublesHolds) ? circuit.first : span, now)
    }

    private mutating func hold(_ span: Duration, _ now: Timestamp) {
        heldUntil = max(heldUntil, now + max(span, .zero))
    }
}

extension LaneSignal {
    /// What sort of failure it tells of; nil for none.
    var failure: LaneFailure? {
        switch self {
        case .fine, .hold, .slow: nil
        case .failing: .silent
        case .erring, .garbled, .stillGarbled, .refused: .erring
        case .denied, .stillFailing: .denied
        case .revoked: .revoked
        }
    }

    /// Whether it says that an attempt did not succeed; a hold of zero changes nothing.
    fileprivate var isTrouble: Bool {
        switch self {
        case .fine: false
        case .failing, .erring, .denied, .stillFailing, .revoked, .garbled, .stillGarbled: true
        case .hold(let span), .slow(let span), .refused(let span): span > .zero
        }
    }
}
