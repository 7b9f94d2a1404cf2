/// One upstream source that is followed until its status is final or its deadline passes.
package struct Watch: Hashable, Sendable {
    package let key: WatchKey
    package let policy: PollPolicy
    /// How far the source is followed.
    package let goal: WatchGoal
    package let createdAt: Timestamp
    /// The instant of the last look, unless a charge is pending (``end``).
    package let deadline: Timestamp
    /// How often this source has been watched anew after a close; starts at 1.
    package let run: Int
    /// Events recorded before a hint opened the closed watch again for a look; nil when none did,
    /// or somebody has asked for it since.
    package let reopenedSeq: Int?
    /// Events recorded so far over all runs: gapless, the next one is `seq + 1`.
    package let seq: Int
    /// The last hint, which makes polling eager for a while.
    package let hintedAt: Timestamp?
    /// The source's own `client_secret`, for polls with a publishable key.
    package let clientSecret: ClientSecret?
    /// What to charge once the source is chargeable; nil: what the account says, or nothing.
    package var charge: ChargeOrder?
    package let state: WatchState

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
        hintedAt: Timestamp? = nil,
        clientSecret: ClientSecret? = nil,
        charge: ChargeOrder? = nil,
        state: WatchState = WatchState()
    ) {
        self.key = key
        self.policy = policy
        self.goal = goal
        self.createdAt = createdAt
        self.deadline = deadline
        self.run = run
        self.seq = seq
        self.reopenedSeq = reopenedSeq
        self.hintedAt = hintedAt
        self.clientSecret = clientSecret
        self.charge = charge
        self.state = state
    }
}

extension Watch {
    /// How long a bank may take to answer a charge, at most.
    ///
    /// SEPA debits: 14 business days, which are 20 days and holidays; sofort: 14 days.
    /// *Source*: <https://docs.stripe.com/sources/sepa-debit>, <https://docs.stripe.com/sources/sofort>.
    package static let bankWait = Duration.seconds(30 * 86_400)

    /// The instant of the last look: the deadline, or as long after it as a bank may take while it
    /// has not answered a charge of ours.
    ///
    /// A deadline is how long the payer is waited for; the payer has then done everything. What a
    /// hint has opened again is looked at for as long as a hint makes eager, however short its span.
    package var end: Timestamp {
        let isCharged = if case .pending = state.charge { true } else { false }
        let end = isCharged ? deadline + Self.bankWait : deadline
        guard isOnlyLooking, let hintedAt else { return end }
        return max(end, hintedAt + PollDecider.eagerness)
    }

    /// Whether a hint has opened it again and nothing new was seen since: it ends as it was, and
    /// nobody is told twice.
    package var isOnlyLooking: Bool { reopenedSeq == seq }

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
