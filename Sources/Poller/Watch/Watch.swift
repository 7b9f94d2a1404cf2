package import PollerIdentity
package import PollerQueue
import SafeNumbers

/// One upstream source that is followed until its status is final or its deadline passes.
///
/// *Limits*: counts are kept from 0 to `SafeInteger.max`, so that counting on cannot overflow.
package struct Watch: Hashable, Sendable, HasWatchOptions {
    package let key: WatchKey
    package var options: WatchOptions
    package let createdAt: Timestamp
    /// The instant of the last look, unless a charge is pending (``end``).
    package let deadline: Timestamp
    /// How often this source has been watched anew after a close; starts at 1.
    package let run: Int
    /// Events recorded before a hint opened the closed watch again for a look; nil when none did,
    /// or somebody has asked for it since.
    package let reopenedSeq: Int?
    /// How it had ended when a hint opened it again, where that was with an answer.
    package let endedAs: ClosedReason?
    /// What hints have told of it since it was opened, the gravest, until a look has seen it.
    package let news: HintNews?
    /// Events recorded so far over all runs: gapless, the next one is `seq + 1`.
    package let seq: Int
    /// The last hint, which makes polling eager for a while.
    package let hintedAt: Timestamp?
    /// The source's own `client_secret`, for polls with a publishable key and for the customer to show:
    /// as it was handed in, or as a poll with a secret key has seen it.
    package let clientSecret: ClientSecret?
    /// What to charge once the source is chargeable; nil: what the account says, or nothing.
    package var charge: ChargeOrder?
    /// What is paid by it, where somebody has said so.
    package let order: OrderID?
    package let state: WatchState
    /// What is remembered of its payment; nil before anybody has looked at that.
    package let payment: PaymentMemory?

    /// Puts a watch together, as a store does.
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
        news: HintNews? = nil,
        hintedAt: Timestamp? = nil,
        clientSecret: ClientSecret? = nil,
        charge: ChargeOrder? = nil,
        acts: DeadlineActs = .unsaid,
        order: OrderID? = nil,
        trace: TraceContext? = nil,
        state: WatchState = WatchState(),
        payment: PaymentMemory? = nil
    ) {
        self.key = key
        options = WatchOptions(policy: policy, goal: goal, acts: acts, trace: trace)
        self.createdAt = createdAt
        self.deadline = deadline
        self.run = SafeInteger.count(run)
        self.seq = SafeInteger.count(seq)
        self.reopenedSeq = reopenedSeq
        self.endedAs = endedAs
        self.news = news
        self.hintedAt = hintedAt
        self.clientSecret = clientSecret
        self.charge = charge
        self.order = order
        self.state = state
        self.payment = payment
    }
}

extension Watch {
    /// The instant of the last look.
    ///
    /// | what is waited for | the end |
    /// |---|---|
    /// | the bank's answer to a charge of ours | the deadline, or when its method must have answered |
    /// | a hold that we are to act on | the deadline, or when the hold has ended |
    /// | the payer, who has a voucher or a code with an end of its own | the deadline, or that end and what the bank may take to report the money, where the watch ``followsObject`` |
    /// | anything else | the deadline |
    ///
    /// The ends are ``PaymentLife/newsUntil``, by the day. A deadline is how long the payer is waited for;
    /// in the first two cases the payer has then done everything. What a
    /// hint has opened again is looked at for as long as a hint makes eager, however short its span.
    package var end: Timestamp {
        let isCharged = if case .pending = state.charge { true } else { false }
        let isHeld = state.status == .requiresCapture && awaitsActOnHold
        var end = deadline
        if isCharged || isHeld {
            end = max(end, payment?.newsUntil ?? deadline + PaymentLife.most)
        } else if followsObject, payment?.isPayable == true, state.status?.awaitsPayer == true {
            end = max(end, payment?.newsUntil ?? deadline)
        }
        guard isOnlyLooking, let hintedAt else { return end }
        return max(end, hintedAt + PollDecider.eagerness)
    }

    /// Whether the watch goes on for as long as its object can be paid, beyond its own deadline: because
    /// no one has chosen a shorter span than the longest there is by default, or because the object is to be
    /// cancelled at the end, and a payer may hold a voucher for it.
    package var followsObject: Bool {
        deadline - createdAt >= PaymentLife.most || acts.ofAbandoned != nil
    }

    /// Whether a hint has opened it again and nothing new was seen since: it ends as it had ended,
    /// and no event is recorded twice.
    package var isOnlyLooking: Bool { reopenedSeq == seq }

    /// Whether it had ended with an answer, and is looked at once because its money may have moved.
    package var isReview: Bool { isOnlyLooking && endedAs != nil }

    /// Whether a customer is in front of a page that waits for it.
    package func isWaitedFor(at now: Timestamp) -> Bool {
        policy == .interactive && now < createdAt + policy.span
    }

    /// Whether a hint came a moment ago.
    ///
    /// One from far ahead is old: the store's clock was set back.
    package func isEager(at now: Timestamp) -> Bool {
        let span = PollDecider.eagerness
        return hintedAt.map { now < $0 + span && $0 < now + span } ?? false
    }
}

extension WatchKey {
    /// The watch's short key in the queue.
    package var id: ItemID {
        ItemID(of: account.description, kind.rawValue, source.description)
    }

    /// The limit it shares.
    package var lane: LaneID { LaneID(account: account, kind: kind) }
}

/// What a watch has learnt so far; the only part of it that a poll changes.
///
/// *Limits*: counts are kept from 0 to `SafeInteger.max`, as those of a ``Watch`` are.
package struct WatchState: Hashable, Sendable {
    /// The last status seen, nil before the first answer.
    package var status: SourceStatus?
    /// ``Observation/detail`` as it was told last.
    package var detail: String
    /// Polls since the watch began, answered or not.
    package var attempts: Int
    /// Unchanged looks since the last change: the position in the policy's schedule.
    package var step: Int
    /// Failed polls in a row; a rate limit is not a failure.
    package var failures: Int
    /// Answers in a row that nobody understood.
    package var malformed: Int
    /// What the last answers have in common, when they say nothing of the payment.
    package var streak: AnswerStreak?
    /// When the upstream was last asked.
    package var lastPolledAt: Timestamp?
    /// How far the charge has come, when there is to be one.
    package var charge: ChargeProgress

    /// A state; by default that of a watch nobody has looked at.
    package init(
        status: SourceStatus? = nil,
        detail: String = "",
        attempts: Int = 0,
        step: Int = 0,
        failures: Int = 0,
        malformed: Int = 0,
        streak: AnswerStreak? = nil,
        lastPolledAt: Timestamp? = nil,
        charge: ChargeProgress = .none
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
    }

    /// Notes that the upstream has answered something that was understood.
    mutating func understood() {
        malformed = 0
        streak = nil
    }
}

/// How far a watch follows its source before it ends.
///
/// | goal | single-use source | reusable source | intent |
/// |---|---|---|---|
/// | `left_pending` | any status but `pending` | the same | `requires_capture` or an end |
/// | `settled` | `consumed`, `canceled`, `failed` | also `chargeable`, where it stays | `succeeded`, `canceled` |
/// | `final` | the same | the same; `chargeable` goes on to the deadline | the same |
///
/// An order to charge comes first: such a watch does not end before the bank has answered.
package enum WatchGoal: String, Hashable, Sendable, CaseIterable {
    /// The customer has done what had to be done: what the SDKs' poller of sources waits for.
    case leftPending = "left_pending"
    /// Nothing more is to be expected: a final status, or the one in which a reusable source stays.
    case settled
    /// A status that can never change any more.
    case final

    /// The farther of two goals: a request that joins a watch never shortens what an earlier one
    /// asked for.
    package func farther(_ other: WatchGoal) -> WatchGoal {
        distance < other.distance ? other : self
    }

    /// Whether a status of this rank is what the watch was there for.
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
            throw InvalidInput(field: "until", message: "must be one of \(all)")
        }
        self = goal
    }
}

/// The secret that lets a publishable key read one source; never printed.
///
/// One that is sealed in the store is opened when it is asked for: hardly any poll needs it.
package struct ClientSecret: Hashable, Sendable, CustomStringConvertible {
    private enum Text: Sendable {
        case known(String)
        case sealed(@Sendable () -> String?)
    }

    private let text: Text

    /// The secret itself, for the request to the upstream alone; nil when this process cannot open it.
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

    /// Wraps a secret read back from a store.
    package init(unchecked text: String) {
        self.text = .known(text)
    }

    /// A secret that `open` reads, each time it is asked for.
    package init(opening open: @escaping @Sendable () -> String?) {
        text = .sealed(open)
    }

    package static func == (one: ClientSecret, other: ClientSecret) -> Bool {
        one.reveal == other.reveal
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(reveal) }

    package var description: String { "(redacted)" }
}
