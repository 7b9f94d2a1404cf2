package import PollerIdentity
package import PollerOperations
package import PollerPayments
package import PollerQueue
import SafeNumbers

/// An upstream source that is polled until its status is final or its deadline passes.
///
/// *To add a value*: if a request chooses it, see ``WatchOptions``. Otherwise add a property of `Fields`, and its
/// conversion in `WatchRecord` of `PollerRedis`.
///
/// *Limits*: counts are kept from 0 to `SafeInteger.max`, so that increments cannot overflow.
package struct Watch: Hashable, Sendable {
    /// The values of a watch: up to 900 bytes with about 30 references.
    private struct Fields: Hashable, Sendable {
        let key: WatchKey
        var options: WatchOptions
        let createdAt: Timestamp
        let deadline: Timestamp
        let run: Int
        let reopenedSeq: Int?
        let endedAs: ClosedReason?
        let pendingHint: HintTopic?
        let seq: Int
        let hintedAt: Timestamp?
        let clientSecret: ClientSecret?
        var charge: ChargeInstruction?
        let order: OrderID?
        let state: WatchState
        let payment: PaymentMemory?
    }

    /// A class, because a poll passes its watch to about ten functions.
    ///
    /// Each of them copied all values and retained all references, and needed memory for the copy while the request was
    /// in progress.
    private final class Box: Sendable {
        let fields: Fields

        init(_ fields: Fields) { self.fields = fields }
    }

    private var box: Box

    package var key: WatchKey { box.fields.key }
    package var options: WatchOptions {
        get { box.fields.options }
        set {
            // A poll prepares each watch, and most stay as they are.
            if newValue != box.fields.options { change { $0.options = newValue } }
        }
    }
    package var createdAt: Timestamp { box.fields.createdAt }
    /// The instant of the last poll, unless a charge is pending (``end``).
    package var deadline: Timestamp { box.fields.deadline }
    /// The number of runs: 1, plus one for each restart after a close.
    package var run: Int { box.fields.run }
    /// The `seq` when a hint reopened this watch; `nil` if no hint did, or if a request has restarted it since.
    package var reopenedSeq: Int? { box.fields.reopenedSeq }
    /// The close reason before the reopen, if it was conclusive.
    package var endedAs: ClosedReason? { box.fields.endedAs }
    /// The most important hint not yet covered by a poll.
    package var pendingHint: HintTopic? { box.fields.pendingHint }
    /// The number of recorded events over all runs.
    ///
    /// There are no gaps: the next event is `seq + 1`.
    package var seq: Int { box.fields.seq }
    /// The time of the last hint, which makes polling eager for a while.
    package var hintedAt: Timestamp? { box.fields.hintedAt }
    /// The source's `client_secret`, for polls with a publishable key and for the customer's page.
    ///
    /// It was part of the request, or a poll with a secret key read it.
    package var clientSecret: ClientSecret? { box.fields.clientSecret }
    /// The charge to make when the source is chargeable; `nil` for the default of the account, or no charge.
    package var charge: ChargeInstruction? {
        get { box.fields.charge }
        set {
            if newValue != box.fields.charge { change { $0.charge = newValue } }
        }
    }
    /// The shop's order ID, if given.
    package var order: OrderID? { box.fields.order }
    package var state: WatchState { box.fields.state }
    /// The stored facts of the payment; `nil` before they were read.
    package var payment: PaymentMemory? { box.fields.payment }

    /// Creates a watch from the fields of a store.
    package init(
        key: WatchKey,
        policy: PollPolicy,
        goal: WatchGoal = .settled,
        createdAt: Timestamp,
        deadline: Timestamp,
        run: Int,
        seq: Int,
        reopenedSeq: Int? = nil,
        endedAs: ClosedReason? = nil,
        pendingHint: HintTopic? = nil,
        hintedAt: Timestamp? = nil,
        clientSecret: ClientSecret? = nil,
        charge: ChargeInstruction? = nil,
        acts: DeadlineActs = .unset,
        order: OrderID? = nil,
        trace: TraceContext? = nil,
        state: WatchState = WatchState(),
        payment: PaymentMemory? = nil
    ) {
        box = Box(
            Fields(
                key: key,
                options: WatchOptions(policy: policy, goal: goal, acts: acts, trace: trace),
                createdAt: createdAt,
                deadline: deadline,
                run: SafeInteger.count(run),
                reopenedSeq: reopenedSeq,
                endedAs: endedAs,
                pendingHint: pendingHint,
                seq: SafeInteger.count(seq),
                hintedAt: hintedAt,
                clientSecret: clientSecret,
                charge: charge,
                order: order,
                state: state,
                payment: payment
            )
        )
    }

    private mutating func change(_ body: (inout Fields) -> Void) {
        var fields = box.fields
        body(&fields)
        box = Box(fields)
    }

    package static func == (one: Watch, other: Watch) -> Bool {
        one.box === other.box || one.box.fields == other.box.fields
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(box.fields) }
}

extension Watch {
    /// The span of eager polling after a hint: a customer has just returned.
    package static let eagerness = Duration.seconds(60)

    /// The instant of the last poll.
    ///
    /// | waiting for | the end |
    /// |---|---|
    /// | the bank's answer to a charge of this system | the deadline, or when its method must have answered |
    /// | the end of a hold that this system acts on | the deadline, or when the hold has ended |
    /// | the payer, who has a voucher or a code with an expiry | the deadline, or that expiry plus the bank's time |
    /// | the bank's answer to an intent | the deadline, or when its method must have answered, 30 days later at most |
    /// | anything else | the deadline |
    ///
    /// The last two extensions apply if the watch ``followsObject``; the bank's time is the time that it may take to
    /// report the money. The ends are `PaymentLifetime.changesUntil`, by the day. A deadline limits the wait for the payer;
    /// while a bank answers or a hold lasts, the payer has no more to do. A watch that a hint reopened is polled for
    /// the whole eager span of a hint, even if its own span is shorter.
    package var end: Timestamp {
        let isCharged = if case .pending = state.charge { true } else { false }
        let isHeld = state.status == .requiresCapture && awaitsActOnHold
        var end = deadline
        if isCharged || isHeld {
            end = max(end, payment?.changesUntil ?? deadline + PaymentLifetime.most)
        } else if followsObject, payment?.isPayable == true, state.status?.awaitsPayer == true {
            end = max(end, payment?.changesUntil ?? deadline)
        } else if followsObject, key.kind == .paymentIntent, state.status == .processing {
            // Without a charge, each poll counts the bank's time from itself.
            end = max(end, min(payment?.changesUntil ?? deadline, deadline + PaymentLifetime.most))
        }
        guard isUnchangedSinceReopen, let hintedAt else { return end }
        return max(end, hintedAt + Self.eagerness)
    }

    /// Whether the watch continues after its own deadline, for as long as its object can be paid.
    ///
    /// It does if its span is at least the longest default span. It also does if the object is to be cancelled at the
    /// end, because a payer may hold a voucher for it.
    package var followsObject: Bool {
        deadline - createdAt >= PaymentLifetime.most || acts.ofAbandoned != nil
    }

    /// Whether a hint reopened the watch and nothing has changed since.
    ///
    /// Such a watch closes with its earlier reason, and no event is recorded twice.
    package var isUnchangedSinceReopen: Bool { reopenedSeq == seq }

    /// Whether a conclusively closed watch was reopened to read its payment once.
    package var isReview: Bool { isUnchangedSinceReopen && endedAs != nil }

    /// Whether a customer is waiting at a page.
    package func isWaitedFor(at now: Timestamp) -> Bool {
        policy == .interactive && now < createdAt + policy.span
    }

    /// Whether a hint arrived recently.
    ///
    /// A hint from the far future is old: the store's clock was set back.
    package func isEager(at now: Timestamp) -> Bool {
        let span = Self.eagerness
        return hintedAt.map { now < $0 + span && $0 < now + span } ?? false
    }
}

extension WatchKey {
    /// The ID of the watch in the queue.
    package var id: ItemID {
        ItemID(of: account.description, kind.rawValue, source.description)
    }

    package var lane: LaneID { LaneID(account: account, kind: kind) }
}

/// The state of a watch: the part that a poll changes.
///
/// *Limits*: counts are kept from 0 to `SafeInteger.max`, like those of a ``Watch``.
package struct WatchState: Hashable, Sendable {
    /// The last observed status; `nil` before the first answer.
    package var status: SourceStatus?
    /// The last reported `Observation.detail`.
    package var detail: String
    /// The number of polls in this run, answered or not.
    package var attempts: Int
    /// The number of unchanged polls since the last change: the position in the policy's schedule.
    package var step: Int
    /// The number of consecutive failed polls; a rate limit is not a failure.
    package var failures: Int
    /// The number of consecutive unreadable answers.
    package var malformed: Int
    /// The streak of the last answers, if they contained no payment status.
    package var streak: AnswerStreak?
    /// The time of the last poll.
    package var lastPolledAt: Timestamp?
    /// The progress of the charge, if one is to be made.
    package var charge: ChargeProgress {
        didSet {
            if charge != .doubtful { chargeAttempt = "" }
        }
    }
    /// The end of the idempotency key of the last doubtful attempt to charge; empty without one, or if it is unknown.
    package var chargeAttempt: String

    /// Creates a state.
    ///
    /// The defaults are those of a watch that was never polled.
    package init(
        status: SourceStatus? = nil,
        detail: String = "",
        attempts: Int = 0,
        step: Int = 0,
        failures: Int = 0,
        malformed: Int = 0,
        streak: AnswerStreak? = nil,
        lastPolledAt: Timestamp? = nil,
        charge: ChargeProgress = .none,
        chargeAttempt: String = ""
    ) {
        self.status = status
        self.detail = detail
        self.attempts = SafeInteger.count(attempts)
        self.step = SafeInteger.count(step)
        self.failures = SafeInteger.count(failures)
        self.malformed = SafeInteger.count(malformed)
        self.streak = streak
        self.lastPolledAt = lastPolledAt
        self.charge = charge
        self.chargeAttempt = charge == .doubtful ? chargeAttempt : ""
    }

    /// Records that the upstream's answer was readable.
    package mutating func understood() {
        malformed = 0
        streak = nil
    }
}

/// The status up to which a watch follows its source.
///
/// | goal | single-use source | reusable source | intent |
/// |---|---|---|---|
/// | `left_pending` | any status but `pending` | the same | `requires_capture` or an end |
/// | `settled` | `consumed`, `canceled`, `failed` | also `chargeable`, where it stays | `succeeded`, `canceled` |
/// | `final` | the same | the same; `chargeable` continues to the deadline | the same |
///
/// A charge instruction has priority: such a watch does not end before the bank has answered.
package enum WatchGoal: String, Hashable, Sendable, CaseIterable {
    /// The customer has acted.
    ///
    /// The source poller of the SDKs waits for this.
    case leftPending = "left_pending"
    /// No further change is expected: a final status, or the lasting status of a reusable source.
    case settled
    /// A status that can never change.
    case final

    /// Returns the farther of two goals.
    ///
    /// A request that joins a watch never shortens an earlier request.
    package func farther(_ other: WatchGoal) -> WatchGoal {
        distance < other.distance ? other : self
    }

    /// Whether a status of this rank meets the goal.
    package func isMet(by rank: StatusRank) -> Bool { rank >= needed }

    private var needed: StatusRank {
        switch self {
        case .leftPending: .leftPending
        case .settled: .steady
        case .final: .final
        }
    }

    private var distance: Int { needed.rawValue }

    /// Finds a goal by its name.
    package init(named name: String) throws(InvalidInput) {
        guard let goal = WatchGoal(rawValue: name) else {
            let all = Self.allCases.map(\.rawValue).joined(separator: ", ")
            throw InvalidInput("until", "must be one of \(all)")
        }
        self = goal
    }
}

/// The secret with which a publishable key can read one source.
///
/// It is never printed.
///
/// A sealed secret is decrypted on each access, because few polls need it.
package struct ClientSecret: Hashable, Sendable, CustomStringConvertible {
    private enum Text: Sendable {
        case known(String)
        case sealed(@Sendable () -> String?)
    }

    private let text: Text

    /// The plain secret, only for the request to the upstream; `nil` if this process cannot decrypt it.
    package var reveal: String? {
        switch text {
        case .known(let text): text
        case .sealed(let open): open()
        }
    }

    /// Checks and wraps a secret from outside.
    package init(_ text: String) throws(InvalidInput) {
        self.text = .known(
            try IdentifierSyntax.check(text, field: "client_secret", lengthMax: 512, as: .word)
        )
    }

    /// Wraps a secret from a store.
    package init(unchecked text: String) {
        self.text = .known(text)
    }

    /// Creates a secret that `open` decrypts on each access.
    package init(opening open: @escaping @Sendable () -> String?) {
        text = .sealed(open)
    }

    package static func == (one: ClientSecret, other: ClientSecret) -> Bool {
        one.reveal == other.reveal
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(reveal) }

    package var description: String { "(redacted)" }
}
