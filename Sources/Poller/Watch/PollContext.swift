import JSONText
package import PollerIdentity
import PollerPayments
package import PollerWatches
import SafeNumbers

/// The watch of a poll and the times of the poll: every input of a decision except the ``PollOutcome``.
///
/// All instants are in the store's time.
package struct PollContext: Sendable {
    /// The watch as it was claimed.
    package var watch: Watch
    /// The due time of the poll.
    package let due: Timestamp
    package let polledAt: Timestamp
    /// The time at which the outcome was known.
    package var now: Timestamp
    /// Whether the lane's circuit was open at the claim: the upstream gives no other watch a useful answer either.
    package let isLaneDown: Bool
    /// The result of refunding a duplicate payment in this poll; `nil` when no refund was requested, or when it must be
    /// requested again.
    package var duplicateRefund: RefundResult?
    /// The charge of the source, read in the same poll; `nil` when it was not read.
    package var observedCharge: Observation?
    /// Reads payments from answers; `nil` when payments are not reported.
    private let payments: (any PaymentReader)?

    package init(
        _ watch: Watch,
        due: Timestamp,
        polledAt: Timestamp,
        now: Timestamp,
        isLaneDown: Bool = false,
        payments: (any PaymentReader)? = nil
    ) {
        self.watch = watch
        self.due = due
        self.polledAt = polledAt
        self.now = now
        self.isLaneDown = isLaneDown
        self.payments = payments
    }

    /// The state of the watch with this poll counted.
    var polledState: WatchState {
        var state = watch.state
        state.attempts += 1
        state.lastPolledAt = polledAt
        return state
    }

    /// Returns the streak that an answer belongs to; `nil` when it ends every streak.
    ///
    /// A run that has started since has a streak of its own.
    func streak(with result: PollResult) -> AnswerStreak? {
        guard let kind = AnswerStreak.Kind(result) else { return nil }
        if let known = watch.state.streak, known.kind == kind, known.since >= watch.createdAt {
            return known
        }
        return AnswerStreak(kind, since: polledAt)
    }

    /// Returns the payment facts of an answer; `nil` when they are unknown.
    func facts(_ key: WatchKey, _ seen: Observation, charge: RawJSON? = nil) -> PaymentFacts? {
        guard let object = seen.object, let payments else { return nil }
        var facts = payments.facts(
            of: key,
            in: object,
            charge: seen.charge ?? charge,
            lists: seen.lists == .unread ? observedCharge?.lists ?? .unread : seen.lists,
            seenAt: polledAt
        )
        if seen.hasLapsed || observedCharge?.hasLapsed ?? false {
            let ended = facts?.charge?.endingHold(byLapse: true)
            facts?.charge = ended
        }
        guard let intent = seen.intent ?? observedCharge?.intent else { return facts }
        let held = payments.facts(
            of: WatchKey(account: key.account, source: key.source, kind: .paymentIntent),
            in: intent,
            charge: nil,
            lists: .unread,
            seenAt: polledAt
        )
        if let held, held.status?.description == "canceled" {
            let byLapse = ChargeFacts.lapses.contains(held.cancellation ?? "")
            let ended = facts?.charge?.endingHold(byLapse: byLapse)
            facts?.charge = ended
        }
        return facts
    }

    /// The delay of the poll.
    var lag: Duration { max(polledAt - due, .zero) }

    /// Whether the next poll, after `wait`, is urgent: a customer is at the page or has just returned, or the deadline
    /// is reached.
    func isUrgent(after wait: Duration, deadline: Timestamp) -> Bool {
        watch.isEager(at: now) || watch.isWaitedFor(at: now) || now + wait >= deadline
    }
}

/// The limits on the waits of a watch after an answer: its deadline, and the expiry of the object at the upstream.
///
/// A watch polls at the instant of the expiry and again ``expiryGrace`` later. Then it is closed as expired, even if
/// its own deadline is later. A watch with the default deadline continues until then, even after its deadline.
///
/// If an object expired before the watch began but keeps its status, its expiry is unknown: the clocks differ, or its
/// method lives longer than documented. Its watch continues to the deadline.
struct PollLimits: Hashable, Sendable {
    /// The time that the upstream may take to act on an expiry.
    ///
    /// An earlier last poll would miss the final status by seconds.
    static let expiryGrace = Duration.seconds(60)

    /// The time of the last poll.
    let deadline: Timestamp
    private let expiresAt: Timestamp?
    private let warnings: [Timestamp]
    private let stretch: Double
    private let watch: Watch

    /// Creates the limits for a watch after an observation.
    ///
    /// `warnings` are instants at which an event is due although nothing changes.
    init(_ watch: Watch, _ observation: Observation, warnings: [Timestamp] = []) {
        self.watch = watch
        self.warnings = warnings
        // When the upstream expires a source, an existing charge continues. And a hint may arrive after every known
        // expiry.
        let isCharged = if case .pending = watch.state.charge { true } else { false }
        let expiry = observation.expiresAt.flatMap { $0 > watch.createdAt ? $0 : nil }
        expiresAt = isCharged || watch.isUnchangedSinceReopen ? nil : expiry
        let last = expiresAt.map { $0 + Self.expiryGrace }
        deadline = last.map { watch.followsObject ? $0 : min(watch.end, $0) } ?? watch.end
        stretch = max(1, observation.stretch)
    }

    /// Whether an answer without a change closes the watch.
    ///
    /// A watch that a hint has reopened waits only for the change behind the hint.
    func isOver(at now: Timestamp) -> Bool {
        now >= deadline || (watch.isUnchangedSinceReopen && !watch.isEager(at: now))
    }

    /// Returns the policy's wait, longer while another source, such as the event sweep, reports changes.
    ///
    /// It is not extended while a customer waits at a page.
    func stretched(_ wait: Duration, at now: Timestamp) -> Duration {
        guard stretch > 1, !watch.isWaitedFor(at: now) else { return wait }
        return .milliseconds(Int64(saturating: wait.inSeconds * stretch * 1000))
    }

    /// Returns a wait that ends no later than the next warning, the expiry and the deadline.
    func bounded(_ wait: Duration, from now: Timestamp) -> Duration {
        var wait = min(wait, deadline - now)
        if let expiresAt, now < expiresAt { wait = min(wait, expiresAt - now) }
        for warning in warnings where now < warning { wait = min(wait, warning - now) }
        return max(.zero, wait)
    }
}

extension AnswerStreak.Kind {
    /// Returns the kind of an answer; `nil` for an answer that ends every streak.
    init?(_ result: PollResult) {
        switch result {
        case .malformed: self = .malformed
        case .gone: self = .absent
        case .observed, .rateLimited, .objectLimited, .lockTimeout, .unavailable, .unauthorized,
            .revoked, .unserved, .unaskable:
            return nil
        }
    }
}
