import JSONText
package import PollerIdentity
import SafeNumbers

/// The watch that a poll is about, and when the poll happened: everything that a decision depends on except the
/// ``PollOutcome``.
///
/// All instants are the store's.
package struct PollContext: Sendable {
    /// The watch as it was claimed.
    package var watch: Watch
    /// When it was to be polled.
    package let due: Timestamp
    package let polledAt: Timestamp
    /// When the outcome was known.
    package var now: Timestamp
    /// The circuit of the lane was open when the watch was claimed: its upstream gives no other watch an
    /// answer of use either.
    package let isLaneDown: Bool
    /// The result of refunding a duplicate payment in this poll; `nil` when no refund was requested, or it must be
    /// requested again.
    package var duplicateRefund: RefundResult?
    /// The charge of the source as it was read in the same poll; `nil` when it was not read.
    package var chargeSeen: Observation?
    /// Reads payments from answers; nil where nobody asks for them.
    private let payments: (any PaymentReader)?

    /// Describes a poll.
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

    /// What the watch remembers, with this poll counted.
    var polledState: WatchState {
        var state = watch.state
        state.attempts += 1
        state.lastPolledAt = polledAt
        return state
    }

    /// The streak that an answer belongs to; `nil` when it ends every streak.
    ///
    /// A run that has begun since has a streak of its own.
    func streak(with result: PollResult) -> AnswerStreak? {
        guard let kind = AnswerStreak.Kind(result) else { return nil }
        if let known = watch.state.streak, known.kind == kind, known.since >= watch.createdAt {
            return known
        }
        return AnswerStreak(kind, since: polledAt)
    }

    /// What an answer says of the payment; nil when nobody can tell.
    func facts(_ key: WatchKey, _ seen: Observation, charge: RawJSON? = nil) -> PaymentFacts? {
        guard let object = seen.object, let payments else { return nil }
        var facts = payments.facts(
            of: key,
            in: object,
            charge: seen.charge ?? charge,
            lists: seen.lists == .unread ? chargeSeen?.lists ?? .unread : seen.lists,
            seenAt: polledAt
        )
        if seen.hasLapsed || chargeSeen?.hasLapsed ?? false {
            let ended = facts?.charge?.endingHold(byLapse: true)
            facts?.charge = ended
        }
        guard let intent = seen.intent ?? chargeSeen?.intent else { return facts }
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

    /// How late the poll was.
    var lag: Duration { max(polledAt - due, .zero) }

    /// Whether somebody waits for the next look, which comes after `wait`: a customer in front of a
    /// page, one who has just come back, or the deadline.
    func isUrgent(after wait: Duration, deadline: Timestamp) -> Bool {
        watch.isEager(at: now) || watch.isWaitedFor(at: now) || now + wait >= deadline
    }
}

/// What bounds the waits of a watch after an answer: its deadline, and the end that the upstream
/// itself sets to an object that keeps its status.
///
/// A watch looks at the very instant of that expiry, and once more ``expiryGrace`` later; then it
/// is as far as it can ever get and is closed as expired, however far its own deadline is. One whose
/// deadline is the default goes on until then, also beyond it.
///
/// An object that keeps its status although its end was over before the watch began has no end that we
/// know: the clocks differ, or its method lives longer than documented. Its watch goes on to the deadline.
struct PollOutlook: Hashable, Sendable {
    /// What the upstream may take to act on an expiry; a last look before it would miss the
    /// final status by seconds.
    static let expiryGrace = Duration.seconds(60)

    /// The instant of the last look.
    let deadline: Timestamp
    private let expiresAt: Timestamp?
    private let warnings: [Timestamp]
    private let stretch: Double
    private let watch: Watch

    /// What an observation leaves of a watch.
    ///
    /// `warnings` are instants at which there is something to tell though nothing changes.
    init(_ watch: Watch, _ observation: Observation, warnings: [Timestamp] = []) {
        self.watch = watch
        self.warnings = warnings
        // When the upstream ends a source, a charge that was made already goes on; and a hint may
        // come after everything that was known.
        let isCharged = if case .pending = watch.state.charge { true } else { false }
        let told = observation.expiresAt.flatMap { $0 > watch.createdAt ? $0 : nil }
        expiresAt = isCharged || watch.isOnlyLooking ? nil : told
        let last = expiresAt.map { $0 + Self.expiryGrace }
        deadline = last.map { watch.followsObject ? $0 : min(watch.end, $0) } ?? watch.end
        stretch = max(1, observation.stretch)
    }

    /// Whether an answer without news is the last that is wanted.
    ///
    /// A watch that a hint has opened again is there for the hint's news alone.
    func isOver(at now: Timestamp) -> Bool {
        now >= deadline || (watch.isOnlyLooking && !watch.isEager(at: now))
    }

    /// The policy's wait, longer while somebody else would tell of a change.
    ///
    /// A customer in front of a page is not kept waiting to save reads.
    func stretched(_ wait: Duration, at now: Timestamp) -> Duration {
        guard stretch > 1, !watch.isWaitedFor(at: now) else { return wait }
        return .milliseconds(Int64(saturating: wait.inSeconds * stretch * 1000))
    }

    /// A wait that misses neither a warning nor the expiry nor the deadline.
    func bounded(_ wait: Duration, from now: Timestamp) -> Duration {
        var wait = min(wait, deadline - now)
        if let expiresAt, now < expiresAt { wait = min(wait, expiresAt - now) }
        for warning in warnings where now < warning { wait = min(wait, warning - now) }
        return max(.zero, wait)
    }
}
