/// One upstream source that is followed until its status is final or its deadline passes.
package struct Watch: Hashable, Sendable {
    package let key: WatchKey
    package let policy: PollPolicy
    /// How far the source is followed.
    package let goal: WatchGoal
    package let createdAt: Timestamp
    /// The instant of the last look.
    package let deadline: Timestamp
    /// How often this source has been watched anew after a close; starts at 1.
    package let run: Int
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
        self.hintedAt = hintedAt
        self.clientSecret = clientSecret
        self.charge = charge
        self.state = state
    }
}
