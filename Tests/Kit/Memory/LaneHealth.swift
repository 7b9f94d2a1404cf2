import PollerIdentity
import PollerQueue

/// The results of a lane's attempts: its hold, its rate factor, its circuit.
struct LaneHealth: Sendable {
    /// The worst of the failures of a batch.
    private enum Failed: Int, Comparable, Sendable {
        /// Only items that had failed before.
        case again
        /// Our credentials were rejected for another item, or its response made no sense.
        case denied
        case silent

        static func < (lhs: Failed, rhs: Failed) -> Bool { lhs.rawValue < rhs.rawValue }
    }

    private let flaws: Set<QueueFlaw>
    private let circuit: CircuitHold
    /// The time before which no item starts.
    private(set) var heldUntil = Timestamp(ms: 0)
    /// The number of attempts in a row without a usable response.
    private(set) var failures = 0
    /// The kind of the last failure.
    private(set) var lastFailure: LaneFailure?
    /// For an endpoint: the first failed attempt since the last success.
    private(set) var failingSince: Timestamp?
    /// How often the circuit has opened since it was last closed.
    private var opens = 0
    /// How many denials have held it since.
    private var denials = 0
    /// The factor at the last `slow`, and when its hold ends.
    private var slowed: (factor: Double, until: Timestamp)?
    /// The failures of the current batch since its last response; `nil` without failures.
    private var failed: Failed?

    init(circuit: CircuitHold = .upstream, flaws: Set<QueueFlaw> = []) {
        self.circuit = circuit
        self.flaws = flaws
    }

    /// Returns the failures that a claim reports; time without claims does not count against the lane.
    func outage(_ gap: ClockGap) -> LaneOutage? {
        if failingSince == nil, isProbed, !flaws.contains(.hidesOpenCircuits) {
            return LaneOutage(failures: failures, since: Timestamp(ms: 0))
        }
        return failingSince.map { since in
            let counted = since < gap.end ? min(since + gap.span, gap.end) : since
            return LaneOutage(failures: failures, since: counted)
        }
    }

    /// Follows a clock that was set back.
    mutating func shift(by span: Duration) {
        heldUntil = heldUntil + span
        slowed = slowed.map { ($0.factor, $0.until + span) }
    }

    /// Allows attempts at once, regardless of any hold.
    mutating func endHold() {
        heldUntil = Timestamp(ms: 0)
    }

    /// Returns the share of the limit at a time, 1/32–1.
    func factor(_ now: Timestamp) -> Double {
        guard let slowed else { return 1 }
        if flaws.contains(.neverRecoversFactor) { return slowed.factor }
        let recovered = max(now - slowed.until, .zero) / .seconds(1) * LaneSignal.recoveryPerSecond
        return min(1, slowed.factor + recovered)
    }

    /// Whether one item at a time probes the other side.
    var isProbed: Bool { failures >= LaneSignal.failuresMax }

    /// Applies the signal of one attempt.
    mutating func apply(_ signal: LaneSignal, now: Timestamp) {
        if circuit == .endpoint, failingSince == nil, signal.isTrouble { failingSince = now }
        lastFailure = signal.failure ?? lastFailure
        switch signal {
        case .fine:
            if !flaws.contains(.neverResetsFailures) { failingSince = nil }
            failures = 0
            lastFailure = nil
            opens = 0
            denials = 0
            failed = nil
        case .hold(let span): hold(span, now)
        case .slow(let span):
            let half = max(LaneSignal.factorMin, factor(now) / 2)
            let until = now + max(span, .zero)
            if let slowed, now < slowed.until, !flaws.contains(.halvesForEveryResponse) {
                // A burst of responses halves the factor once.
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
        case .stillFailing where flaws.contains(.opensCircuitForOneItem),
            .stillGarbled where flaws.contains(.opensCircuitForOneItem):
            apply(.failing, now: now)
        case .stillFailing, .stillGarbled:
            failed = failed ?? .again
        case .refused(let span):
            failures = max(failures, LaneSignal.failuresMax)
            hold(span, now)
        }
    }

    /// Opens the circuit after a batch of signals, unless the lane is already held.
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
    /// The kind of failure that the signal reports; `nil` for none.
    var failure: LaneFailure? {
        switch self {
        case .fine, .hold, .slow: nil
        case .failing: .silent
        case .erring, .garbled, .stillGarbled, .refused: .erring
        case .denied, .stillFailing: .denied
        case .revoked: .revoked
        }
    }

    /// Whether the signal reports an unsuccessful attempt; a hold of zero changes nothing.
    fileprivate var isTrouble: Bool {
        switch self {
        case .fine: false
        case .failing, .erring, .denied, .stillFailing, .revoked, .garbled, .stillGarbled: true
        case .hold(let span), .slow(let span), .refused(let span): span > .zero
        }
    }
}
